//! The shipped adapters as files on disk: written out for a run, and built once before its hosts start.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use hustings_workloads::adapters::{Adapter, FILES};
use hustings_workloads::scenario::{ResolvedProgram, placeholder};
use tokio::process::Command;

use crate::files::write_error::WriteError;

/// The folder for the results of an adapter's build script.
pub const BUILD_VARIABLE: &str = "HUSTINGS_ADAPTERS_BUILD";
const FOLDER: &str = "adapters";
const BUILD_FOLDER: &str = "build";
/// Compiling one takes some seconds.
const BUILD_AT_MOST: Duration = Duration::from_secs(180);
/// Characters of a compiler's output that are reported.
const SAID_CHARS: usize = 2_000;

/// Writes all of them into a subfolder of this folder; returns its path.
///
/// # Errors
/// It cannot be written.
pub fn write_out(below: &Path) -> anyhow::Result<PathBuf> {
    let folder = below.join(FOLDER);
    fs::create_dir_all(folder.join(BUILD_FOLDER)).map_err(WriteError::temporary(&folder))?;
    for file in FILES {
        let path = folder.join(file.name);
        fs::write(&path, file.text).map_err(WriteError::temporary(&path))?;
        if file.text.starts_with("#!") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
                .with_context(|| path.display().to_string())?;
        }
    }
    Ok(folder)
}

/// The folder of their build results.
#[must_use]
pub fn build_folder(adapters: &Path) -> PathBuf {
    adapters.join(BUILD_FOLDER)
}

/// Runs the build script of each of these programs that is an adapter, so that hosts find the results.
///
/// # Errors
/// The build fails: what is missing, and which packages have it.
pub async fn build<'a>(adapters: &Path, programs: impl Iterator<Item = &'a ResolvedProgram>) -> anyhow::Result<()> {
    for program in programs {
        let Some(adapter) = Adapter::of(&program.command) else { continue };
        let words =
            adapter.command.iter().map(|word| word.replace(placeholder::ADAPTERS, &adapters.display().to_string()));
        let mut words = words.collect::<Vec<_>>().into_iter();
        let script = words.next().unwrap_or_default();
        if !script.ends_with(".sh") {
            continue;
        }
        let mut command = Command::new(&script);
        command.arg("--build").args(words).env(BUILD_VARIABLE, build_folder(adapters));
        run(command, &script, &format!("the adapter {} needs {}", adapter.name, adapter.packages.join(", "))).await?;
    }
    Ok(())
}

/// Runs a compilation; `needs` names its prerequisites.
async fn run(mut command: Command, name: &str, needs: &str) -> anyhow::Result<()> {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let built = tokio::time::timeout(BUILD_AT_MOST, command.output()).await;
    let output = built.with_context(|| format!("{name} was not done in time"))?.with_context(|| needs.to_owned())?;
    if !output.status.success() {
        let said: String = String::from_utf8_lossy(&output.stderr).chars().take(SAID_CHARS).collect();
        bail!("{needs}, and it could not be built: {}", said.trim());
    }
    Ok(())
}

/// Builds the library that precedes libfaketime in programs whose wall clock will jump.
///
/// # Errors
/// It cannot be built.
pub async fn build_plain_sleep(adapters: &Path) -> anyhow::Result<()> {
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-O2", "-o"]).arg(plain_sleep(adapters)).arg(adapters.join("plain_sleep.c"));
    run(command, "cc", "clock-step on a program needs a C compiler: install gcc and libc6-dev").await
}

/// The path of that library.
#[must_use]
pub fn plain_sleep(adapters: &Path) -> PathBuf {
    build_folder(adapters).join("plain_sleep.so")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_an_adapter_runs_is_written_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let adapters = write_out(folder.path()).expect("written");
        for adapter in hustings_workloads::adapters::ADAPTERS {
            let shipped = adapter.command.iter().filter_map(|word| word.strip_prefix("{adapters}/"));
            for name in shipped {
                let path = adapters.join(name);
                assert!(path.is_file(), "{}: {name}", adapter.name);
                let mode = fs::metadata(&path).expect("there").permissions().mode();
                assert_eq!(mode & 0o111 != 0, name.ends_with(".sh"), "{name}");
            }
        }
    }
}
