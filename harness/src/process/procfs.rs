//! Process data from /proc. It identifies processes so that a reused pid is never mistaken for the earlier process.

use std::fs;
use std::io;

use hustings_record::ProcessFate;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Environment variable of a started program and its descendants. It identifies the program.
pub(crate) const PROGRAM_VARIABLE: &str = "HUSTINGS_PROGRAM";
/// Environment variable of the processes that run a run's candidates, and of their descendants. It identifies the run.
pub(crate) const RUN_VARIABLE: &str = "HUSTINGS_RUN";

/// Maximum number of searches for the processes of a program or a run, each followed by a kill.
pub(crate) const SWEEPS_MAX: usize = 5;

/// A process: its pid, and its start time in clock ticks since boot (field 22 of `/proc/<pid>/stat`). Pids are reused;
/// a pid with its start time is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessId {
    pub pid: u32,
    pub started: u64,
}

impl ProcessId {
    /// The live process that has this pid now. A zombie counts as ended once its last thread has ended.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        parse_stat(&stat).filter(|(lives, _)| *lives).map(|(_, started)| Self { pid, started })
    }

    /// Whether exactly this process is alive.
    #[must_use]
    pub fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Its command-line arguments, joined by spaces. Empty when it has ended.
    #[must_use]
    pub fn command_line(self) -> String {
        let bytes = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    }

    /// Kills this process if it is alive and `ours` accepts its command line. Returns whether it was killed.
    ///
    /// A pidfd pins the process before the checks, so the signal cannot reach a later owner of the pid.
    ///
    /// # Errors
    /// The kernel refuses the signal, for example for another user's process.
    pub fn kill_if(self, ours: impl FnOnce(&str) -> bool) -> io::Result<bool> {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return Ok(false) };
        let pinned = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(fd) => fd,
            Err(rustix::io::Errno::SRCH) => return Ok(false),
            Err(e) => return Err(e.into()),
        };
        if !self.is_alive() || !ours(&self.command_line()) {
            return Ok(false);
        }
        match pidfd_send_signal(&pinned, Signal::KILL) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::SRCH) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// The value of [`PROGRAM_VARIABLE`] for this program.
    #[must_use]
    pub fn mark(self) -> String {
        format!("{}.{}", self.pid, self.started)
    }

    /// Whether this variable has this value in its environment, as it was at its start.
    #[must_use]
    pub(crate) fn has_variable(self, name: &str, value: &str) -> bool {
        has_entry(self.pid, &format!("{name}={value}"))
    }

    /// The live processes with this variable in their environments, in any session and process group. It does not find
    /// processes with a changed environment, or of another user.
    pub(crate) fn all_with_variable(name: &str, value: &str) -> Vec<Self> {
        let entry = format!("{name}={value}");
        let pids = fs::read_dir("/proc").into_iter().flatten();
        let pids = pids.filter_map(|process| process.ok()?.file_name().to_str()?.parse().ok());
        pids.filter(|pid| has_entry(*pid, &entry)).filter_map(Self::of).collect()
    }

    /// The live processes of this program: itself and all descendants.
    #[must_use]
    pub fn with_descendants(self) -> Vec<Self> {
        Self::all_with_variable(PROGRAM_VARIABLE, &self.mark())
    }

    /// Kills all live processes of this program.
    pub fn kill_descendants(self) {
        // A killed process may have started another one in the meantime.
        for _ in 0..SWEEPS_MAX {
            let found = self.with_descendants();
            if found.is_empty() {
                return;
            }
            let is_marked = |process: Self| process.has_variable(PROGRAM_VARIABLE, &self.mark());
            // A process that has ended in the meantime is no error.
            found.into_iter().for_each(|process| _ = process.kill_if(|_| is_marked(process)));
        }
    }
}

/// Whether the environment of the process with this pid contains this entry. False if it cannot be read.
fn has_entry(pid: u32, entry: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|own| own == entry.as_bytes())
}

/// State letter of a process according to the kernel (`T`: stopped).
#[must_use]
pub fn process_state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// Whether this process ignores a signal, by inheritance or by its own choice.
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(signal - 1).is_ok_and(|bit| mask.checked_shr(bit).unwrap_or(0) & 1 == 1)
}

/// The fate of a process, according to the kernel. None: there is no process.
#[must_use]
pub fn fate_of(pid: Option<u32>) -> ProcessFate {
    match pid.and_then(process_state) {
        None | Some('Z' | 'X') => ProcessFate::Ended,
        Some('T') => ProcessFate::Stopped,
        Some(_) => ProcessFate::Kept,
    }
}

/// Whether it is alive, by its state (field 3) and number of threads (20), and its start time (22). The name in field 2
/// may contain spaces and parentheses, so fields count from the last parenthesis.
fn parse_stat(stat: &str) -> Option<(bool, u64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // A killed process with many threads, such as a JVM, appears as a zombie while its other threads still end.
    let ended = ["Z", "X", "x"].contains(fields.first()?) && fields.get(17)?.parse::<u64>().ok()? <= 1;
    Some((!ended, fields.get(19)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{ProcessId, parse_stat};

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "7 (a) b) (c) S 1 7 7 0 -1 4194560 2746 77597 0 66 1 1 71 29 20 0 1 0 122923 5124096 963";
        assert_eq!(parse_stat(stat), Some((true, 122_923)));
        assert_eq!(parse_stat("7 (a"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn a_zombie_is_gone_once_its_last_thread_is() {
        let zombie = |threads| format!("7 (java) Z 1 7 7 0 -1 4 2 7 0 66 1 1 71 29 20 0 {threads} 0 5 0 0");
        assert_eq!(parse_stat(&zombie(1)), Some((false, 5)));
        assert_eq!(parse_stat(&zombie(30)), Some((true, 5)));
    }

    #[test]
    fn this_process_lives_and_one_with_another_start_time_does_not() {
        let me = ProcessId::of(std::process::id()).expect("this process lives");
        assert!(me.is_alive());
        assert!(!ProcessId { started: me.started + 1, ..me }.is_alive());
    }

    #[test]
    fn a_process_that_is_not_ours_is_not_killed() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let id = ProcessId::of(child.id()).expect("it lives");
        // A process that has only just been started has no command line yet.
        for _ in 0..1_000 {
            if !id.command_line().is_empty() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(!id.kill_if(|line| line.contains("something else")).expect("looked at"));
        assert!(!ProcessId { started: id.started + 1, ..id }.kill_if(|_| true).expect("looked at"));
        assert!(id.is_alive());
        assert!(id.kill_if(|line| line.contains("sleep 60")).expect("killed"));
        child.wait().expect("reaped");
        assert!(!id.is_alive());
    }
}
