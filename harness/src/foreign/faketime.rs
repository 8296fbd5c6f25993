//! libfaketime: a program sees another wall clock, while waits by its other clocks last as usual.

use std::path::{Path, PathBuf};

/// The library in Debian's location.
#[must_use]
pub(crate) fn library() -> Option<PathBuf> {
    let architectures = std::fs::read_dir("/usr/lib").ok()?;
    let mut found = architectures.filter_map(|entry| {
        let path = entry.ok()?.path().join("faketime/libfaketimeMT.so.1");
        path.is_file().then_some(path)
    });
    found.next()
}

/// Environment variables of a program that reads its wall clock from `file`. `plain_sleep` precedes the library.
pub(crate) fn environment(plain_sleep: &Path, library: &Path, file: &Path) -> [(String, String); 6] {
    let preloaded = format!("{}:{}", plain_sleep.display(), library.display());
    let variables = [
        ("LD_PRELOAD", preloaded),
        ("FAKETIME_TIMESTAMP_FILE", file.display().to_string()),
        ("FAKETIME_CACHE_DURATION", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("DONT_FAKE_MONOTONIC", "1".to_owned()),
        // With the default, waits for a condition by the monotonic clock end at once: a JVM spins.
        ("FAKETIME_FORCE_MONOTONIC_FIX", "0".to_owned()),
    ];
    variables.map(|(name, value)| (name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::foreign::adapters;

    /// Waits for a condition that never comes, by the monotonic clock as the JVM does. Prints how many waits ended too
    /// early, and by how many minutes its wall clock is ahead of the kernel's.
    const WAITS: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int main(void) {
    pthread_condattr_t by;
    pthread_cond_t cond;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_condattr_init(&by);
    pthread_condattr_setclock(&by, CLOCK_MONOTONIC);
    pthread_cond_init(&cond, &by);
    pthread_mutex_lock(&lock);
    int early = 0;
    for (int wait = 0; wait < 20; wait += 1) {
        struct timespec until, now;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 20000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&cond, &lock, &until);
        clock_gettime(CLOCK_MONOTONIC, &now);
        early += now.tv_sec < until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec < until.tv_nsec);
    }
    struct timespec shown, kernels;
    clock_gettime(CLOCK_REALTIME, &shown);
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &kernels);
    printf("%d early, %ld minutes ahead", early, (long)(shown.tv_sec - kernels.tv_sec + 30) / 60);
    return 0;
}
"#;

    #[tokio::test]
    async fn waits_by_the_monotonic_clock_last_as_long_as_they_do_without_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let adapters = adapters::write_out(folder.path()).expect("written");
        adapters::build_plain_sleep(&adapters).await.expect("built");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("waits.c"), WAITS).expect("written");
        let built = Command::new("cc").arg("-pthread").arg("-o").arg(at("waits")).arg(at("waits.c")).status();
        assert!(built.expect("a C compiler").success());
        let library = library().expect("libfaketime");
        for (says, minutes) in [("+0\n", 0), ("+3600.000\n", 60)] {
            std::fs::write(at("clock"), says).expect("written");
            let told = environment(&adapters::plain_sleep(&adapters), &library, &at("clock"));
            let output = Command::new(at("waits")).envs(told).output().expect("run");
            let said = String::from_utf8(output.stdout).expect("text");
            assert_eq!(said, format!("0 early, {minutes} minutes ahead"));
        }
    }
}
