//! How long threads of a process were ready to run and were given no processor: what the machine kept from it is no doing of its
//! own.
//!
//! The kernel adds up for each thread for how long it ran and for how long it waited for that, in nanoseconds
//! (`/proc/PID/task/TID/schedstat`). It counts a wait when that has ended. A thread that sleeps, or that a signal has stopped, does
//! not wait. Kernels that take a sleeping thread off its queue late (Linux 6.12 and later) now and then count its whole sleep as a
//! wait, so a thread that was seen asleep has not waited since before.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;

use hustings_record::Nanos;

use crate::process::procfs::process_state;
use crate::recording::stall::STALL_NS_MIN;

/// Threads are looked at so often: a wait is known to have ended since the last look.
const LOOK_NS: Nanos = 20_000_000;
/// Threads that have not run are asked so often whether they sleep.
const SLEEP_NS: Nanos = 100_000_000;
/// New threads are looked for so often.
const LIST_NS: Nanos = 500_000_000;
/// How far back it is known how long the process ran.
const KEPT_NS: Nanos = 30_000_000_000;

/// The threads of a process.
pub(crate) struct ThreadWaits {
    pid: u32,
    /// How the names of threads begin that are left out.
    except: &'static [&'static str],
    looked: Nanos,
    listed: Nanos,
    /// When it was last asked which threads sleep.
    asked: Nanos,
    threads: BTreeMap<u32, Thread>,
    /// For how long all threads together had run by when.
    ran: VecDeque<(Nanos, Nanos)>,
    /// The end of the last wait that was told.
    reported_until: Nanos,
}

struct Thread {
    file: File,
    seen: ThreadTimes,
    /// It did not wait at some time since then: it ran or slept.
    idle_since: Nanos,
}

/// For how long a thread has run and has waited so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ThreadTimes {
    ran: Nanos,
    waited: Nanos,
}

impl ThreadWaits {
    pub(crate) fn of(pid: u32) -> Self {
        Self::except(pid, &[])
    }

    /// Of the threads whose names do not begin with one of these.
    pub(crate) fn except(pid: u32, names: &'static [&'static str]) -> Self {
        let (threads, ran) = (BTreeMap::new(), VecDeque::new());
        Self { pid, except: names, looked: 0, listed: 0, asked: 0, threads, ran, reported_until: 0 }
    }

    /// Looks again if it is time to: from when to when the longest wait lasted that a thread has had since, without what the process
    /// itself ran meanwhile. A process whose threads keep each other waiting has nobody else to blame.
    pub(crate) fn look(&mut self, now: Nanos) -> Option<(Nanos, Nanos)> {
        if now < self.looked + LOOK_NS {
            return None;
        }
        let before = std::mem::replace(&mut self.looked, now);
        if now >= self.listed + LIST_NS {
            self.listed = now;
            self.list();
        }
        let asks = now >= self.asked + SLEEP_NS;
        if asks {
            self.asked = now;
        }
        let (mut longest, mut ran) = (0, self.ran.back().map_or(0, |last| last.1));
        self.threads.retain(|tid, thread| {
            let Some(sums) = read(&thread.file) else { return false };
            longest = longest.max(wait(thread.seen, sums, (thread.idle_since, now)));
            ran += sums.ran.saturating_sub(thread.seen.ran);
            if sums.ran > thread.seen.ran {
                thread.idle_since = before;
            } else if asks && process_state(*tid).is_some_and(|state| state != 'R') {
                thread.idle_since = now;
            }
            thread.seen = sums;
            true
        });
        self.ran.push_back((now, ran));
        while self.ran.front().is_some_and(|first| first.0 + KEPT_NS < now) {
            self.ran.pop_front();
        }
        let began = now.saturating_sub(longest);
        let meanwhile = ran.saturating_sub(self.ran_by(began));
        let from = (began + meanwhile).max(self.reported_until);
        (longest >= STALL_NS_MIN && now.saturating_sub(from) >= STALL_NS_MIN).then(|| {
            self.reported_until = now;
            (from, now)
        })
    }

    /// For how long all threads together had run by the last look before `at`.
    fn ran_by(&self, at: Nanos) -> Nanos {
        let before = self.ran.partition_point(|look| look.0 <= at).saturating_sub(1);
        self.ran.get(before).map_or(0, |look| look.1)
    }

    /// Finds new threads. What they have waited for until now is nobody's: it may have been many times a little.
    fn list(&mut self) {
        let Ok(tasks) = fs::read_dir(format!("/proc/{}/task", self.pid)) else { return };
        for task in tasks.flatten() {
            let Some(tid) = task.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            if self.threads.contains_key(&tid) {
                continue;
            }
            let name = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            if self.except.iter().any(|except| name.starts_with(except)) {
                continue;
            }
            let Ok(file) = File::open(task.path().join("schedstat")) else { continue };
            let Some(seen) = read(&file) else { continue };
            let idle_since = self.looked;
            self.threads.insert(tid, Thread { file, seen, idle_since });
        }
    }
}

/// For how long a thread waited at most between two looks.
fn wait(before: ThreadTimes, after: ThreadTimes, (idle_since, now): (Nanos, Nanos)) -> Nanos {
    after.waited.saturating_sub(before.waited).min(now.saturating_sub(idle_since))
}

/// None: the thread has gone, or the kernel does not count.
fn read(file: &File) -> Option<ThreadTimes> {
    let mut bytes = [0; 80];
    let length = file.read_at(&mut bytes, 0).ok()?;
    let mut words = std::str::from_utf8(bytes.get(..length)?).ok()?.split_ascii_whitespace().map(str::parse);
    let (Some(Ok(ran)), Some(Ok(waited))) = (words.next(), words.next()) else { return None };
    Some(ThreadTimes { ran, waited })
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::Duration;

    use super::*;
    use crate::process::clock;

    const BUSY: &str = "while :; do :; done";

    /// A process that is ended with this.
    struct EndedProcess(Child);

    impl Drop for EndedProcess {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn started(command: &str, arguments: &[&str]) -> EndedProcess {
        EndedProcess(Command::new(command).args(arguments).spawn().expect("started"))
    }

    /// What is told of a process within a second: how often, and how much of that second in all.
    fn reported_waits(process: &EndedProcess) -> (usize, Nanos) {
        let (mut waits, until) = (ThreadWaits::of(process.0.id()), clock::now() + 1_000_000_000);
        let (mut count, mut sum) = (0, 0);
        while clock::now() < until {
            if let Some((from, to)) = waits.look(clock::now()) {
                assert!(from < to && to <= clock::now());
                (count, sum) = (count + 1, sum + to - from);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        (count, sum)
    }

    #[test]
    fn what_others_keep_from_a_program_is_told_and_what_it_keeps_from_itself_is_not() {
        // Two for each processor, and one that is to let everybody else go first.
        let processors = std::thread::available_parallelism().expect("known").get();
        let crowd: Vec<EndedProcess> = (0..2 * processors).map(|_| started("sh", &["-c", BUSY])).collect();
        let polite = started("nice", &["-n", "19", "sh", "-c", BUSY]);
        let (count, sum) = reported_waits(&polite);
        assert!(count > 0 && sum > 300_000_000, "{count} waits of {sum} ns in all");
        assert!(sum < 1_100_000_000, "no moment counts twice: {sum}");
        drop((crowd, polite));
        let sleeping = started("sleep", &["5"]);
        assert_eq!(reported_waits(&sleeping), (0, 0), "whoever sleeps does not wait");
    }

    /// As a kernel counted it: a thread slept for 11 s, and woke.
    #[test]
    fn a_sleep_that_the_kernel_counts_as_a_wait_is_none() {
        let times = |waited| ThreadTimes { ran: 5, waited };
        assert_eq!(wait(times(0), times(11_237_000_000), (20_000_000_000, 20_080_000_000)), 80_000_000);
        assert_eq!(wait(times(0), times(50_000_000), (10_000_000_000, 20_080_000_000)), 50_000_000);
    }

    #[test]
    fn of_a_process_that_has_gone_nothing_is_told() {
        let mut gone = Command::new("true").spawn().expect("started");
        gone.wait().expect("it ends");
        let mut waits = ThreadWaits::of(gone.id());
        assert_eq!((waits.look(LOOK_NS), waits.look(2 * LOOK_NS)), (None, None));
    }
}
