//! An external candidate program: start, messages both ways, and end.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use hustings_record::Nanos;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::{AsyncRead, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::task::spawn_local;

use super::lines::{StreamLines, UnendedLine};
use super::message::{FromProgram, ToProgram};
use crate::process::child::SECRET_VARIABLE;
use crate::process::clock;
use crate::process::http_proxy;
use crate::process::limits::explained;
use crate::process::pause::all_stopped;
use crate::process::procfs::ProcessId;

/// Characters of an invalid line that are reported.
const GARBAGE_CHARS: usize = 120;
/// Number of its last log lines that are kept.
const LAST_LINES: usize = 12;
const LAST_LINE_CHARS: usize = 400;
/// Queue size for orders that the program has not read.
const ORDERS_MAX: usize = 1 << 12;
/// Queue size for received lines: within this and its pipe, a program never waits for the harness.
const INPUT_QUEUE_MAX: usize = 1 << 14;
/// Messages per second without information on leadership; further ones are dropped.
const CHATTER_A_SECOND: u32 = 1_000;
const SECOND_NS: Nanos = 1_000_000_000;

/// Input from a program.
#[derive(Clone, Debug, PartialEq)]
pub enum ProgramInput {
    /// A message; `t` is when the line was received.
    Said { t: Nanos, message: FromProgram },
    /// A line that is no message: why, and its beginning.
    Garbage { t: Nanos, why: String, line: String },
    /// It exceeded the messages per second without information on leadership; reported once for that second.
    TooMuch { t: Nanos },
    /// No more input will follow.
    Over { t: Nanos },
}

impl ProgramInput {
    /// Whether it has no information on leadership.
    fn is_chatter(&self) -> bool {
        match self {
            Self::Said { message, .. } => match message {
                FromProgram::Grant { .. } | FromProgram::Revoke { .. } | FromProgram::Resigned { .. } => false,
                FromProgram::Hello { .. }
                | FromProgram::Sync { .. }
                | FromProgram::Standing { .. }
                | FromProgram::Note { .. }
                | FromProgram::Bye
                | FromProgram::Other => true,
            },
            Self::Garbage { .. } => true,
            Self::TooMuch { .. } | Self::Over { .. } => false,
        }
    }
}

/// A running program.
pub struct Program {
    pid: u32,
    id: Option<ProcessId>,
    own_group: bool,
    child: Child,
    orders: Option<mpsc::Sender<ToProgram>>,
    last_words: Rc<RefCell<VecDeque<String>>>,
    unended: UnendedLine,
}

impl Program {
    /// Starts a command as given, without a shell. It dies with this process; `exe` (this program) guards that. It is
    /// in this process's group, or in its own with `own_group`. It reaches this machine without the environment's
    /// proxies.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(
        exe: &Path,
        command: &[String],
        environment: &BTreeMap<String, String>,
        own_group: bool,
    ) -> anyhow::Result<(Self, mpsc::Receiver<ProgramInput>)> {
        let name = command.first().context("no command is given")?;
        let mut guarded = Command::new(exe);
        guarded
            .args(["guard", "--parent", &std::process::id().to_string(), "--"])
            .args(command)
            .env_remove(SECRET_VARIABLE)
            .envs(http_proxy::direct_to_loopback())
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if own_group {
            guarded.process_group(0);
        }
        let mut child = guarded.spawn().map_err(explained).with_context(|| format!("{name} cannot be started"))?;
        let pid = child.id().context("it ended at once")?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else { anyhow::bail!("{name} has no pipes") };
        let (orders, queue) = mpsc::channel(ORDERS_MAX);
        let (tell, heard) = mpsc::channel(INPUT_QUEUE_MAX);
        let last_words: Rc<RefCell<VecDeque<String>>> = Rc::default();
        let lines = StreamLines::of(stdout);
        let unended = lines.unended();
        spawn_local(speak(stdin, queue));
        spawn_local(listen(lines, tell));
        spawn_local(keep_last_words(stderr, last_words.clone()));
        Ok((Self { pid, id: ProcessId::of(pid), own_group, child, orders: Some(orders), last_words, unended }, heard))
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends it an order. False: it has stopped reading, or the queue is full.
    pub fn tell(&self, order: ToProgram) -> bool {
        self.orders.as_ref().is_some_and(|orders| orders.try_send(order).is_ok())
    }

    /// Closes its input, which is the order to release everything and end.
    pub fn hang_up(&mut self) {
        self.orders = None;
    }

    /// The last lines of its log.
    #[must_use]
    pub fn last_words(&self) -> Vec<String> {
        self.last_words.borrow().iter().cloned().collect()
    }

    /// That it has written the beginning of a line and no newline since, for its author. None: it has not.
    #[must_use]
    pub fn unended_line(&self) -> Option<String> {
        let begun = begin_of(&self.unended.borrow(), GARBAGE_CHARS);
        (!begun.trim().is_empty()).then(|| format!("it wrote {begun:?} without the newline that ends a message"))
    }

    /// Signals its process group, if it has one of its own: what it has started belongs to it.
    ///
    /// # Errors
    /// The process no longer exists.
    pub fn signal(&self, signal: Signal) -> std::io::Result<()> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| std::io::Error::other("no such process"))?;
        Ok(if self.own_group { kill_process_group(pid, signal) } else { kill_process(pid, signal) }?)
    }

    /// Waits until it is stopped with all that it has started, as a pause in a run has to be.
    ///
    /// # Errors
    /// A sentence that names a process that runs on.
    pub(crate) async fn all_stopped(&self) -> Result<(), String> {
        let program = self.id.ok_or("it has ended")?;
        all_stopped(program, || ()).await
    }

    /// Kills all its remaining descendants, in its own group or in another one.
    pub fn kill_descendants(&self) {
        let group = i32::try_from(self.pid).ok().and_then(Pid::from_raw).filter(|_| self.own_group);
        // An empty group is the desired state.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        self.id.inspect(|id| id.kill_descendants());
    }

    /// Its exit status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for its end; kills it after `at_most`. True: it was killed.
    ///
    /// # Errors
    /// The kernel does not report the end.
    pub async fn wait(&mut self, at_most: Duration) -> std::io::Result<(ExitStatus, bool)> {
        let in_time = self.ends_within(at_most).await?;
        if !in_time {
            self.child.start_kill()?;
        }
        Ok((self.child.wait().await?, !in_time))
    }

    /// Waits for its end for so long. True: it has ended.
    ///
    /// # Errors
    /// The kernel does not report the end.
    pub async fn ends_within(&mut self, at_most: Duration) -> std::io::Result<bool> {
        match tokio::time::timeout(at_most, self.child.wait()).await {
            Ok(status) => status.map(|_| true),
            Err(_) => Ok(false),
        }
    }
}

impl Drop for Program {
    /// The handle kills the process itself; this kills its descendants.
    fn drop(&mut self) {
        self.kill_descendants();
    }
}

async fn speak(mut stdin: ChildStdin, mut orders: mpsc::Receiver<ToProgram>) {
    while let Some(order) = orders.recv().await {
        let Ok(mut line) = serde_json::to_string(&order) else { continue };
        line.push('\n');
        // The end of a program that does not read any more is reported elsewhere.
        if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

/// Counts messages without information on leadership, second by second.
#[derive(Default)]
struct MessageRateLimit {
    second: Nanos,
    count: u32,
}

impl MessageRateLimit {
    /// Filters the input: drops messages above the limit per second, and reports that once.
    fn taken(&mut self, t: Nanos, heard: ProgramInput) -> Option<ProgramInput> {
        if !heard.is_chatter() {
            return Some(heard);
        }
        if self.second != t / SECOND_NS {
            *self = Self { second: t / SECOND_NS, count: 0 };
        }
        self.count = self.count.saturating_add(1);
        match self.count.checked_sub(CHATTER_A_SECOND) {
            None | Some(0) => Some(heard),
            Some(1) => Some(ProgramInput::TooMuch { t }),
            Some(_) => None,
        }
    }
}

async fn listen(mut lines: StreamLines<impl AsyncRead + Unpin>, tell: mpsc::Sender<ProgramInput>) {
    let mut chatter = MessageRateLimit::default();
    let unended = lines.unended();
    while let Some(line) = lines.next().await {
        let t = clock::now();
        let heard = match line {
            Ok(line) if line.trim().is_empty() => continue,
            Ok(line) => match serde_json::from_str(&line) {
                Ok(message) => ProgramInput::Said { t, message },
                Err(error) => ProgramInput::Garbage { t, why: error.to_string(), line: begin_of(&line, GARBAGE_CHARS) },
            },
            Err(why) => ProgramInput::Garbage { t, why, line: begin_of(&unended.borrow(), GARBAGE_CHARS) },
        };
        let Some(heard) = chatter.taken(t, heard) else { continue };
        if tell.send(heard).await.is_err() {
            return;
        }
    }
    // The receiver may be dropped.
    let _ = tell.send(ProgramInput::Over { t: clock::now() }).await;
}

async fn keep_last_words(stderr: impl AsyncRead + Unpin, last_words: Rc<RefCell<VecDeque<String>>>) {
    let mut lines = StreamLines::of(stderr);
    while let Some(line) = lines.next().await {
        let line = line.map_or_else(|why| format!("({why})"), |line| begin_of(&line, LAST_LINE_CHARS));
        let mut kept = last_words.borrow_mut();
        if kept.len() == LAST_LINES {
            kept.pop_front();
        }
        kept.push_back(line);
    }
}

fn begin_of(line: &str, chars: usize) -> String {
    line.chars().take(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_a_program_that_talks_without_end_a_bounded_part_is_taken_and_every_grant() {
        let note = r#"{"m":"note","text":"x"}"#;
        let grant = r#"{"m":"grant","slot":1,"term":1,"t0":1,"t1":2}"#;
        let text = format!("{}{grant}\n{}", format!("{note}\n").repeat(30_000), "garbage\n".repeat(30_000));
        let (tell, mut heard) = mpsc::channel(1 << 16);
        let began = clock::now();
        listen(StreamLines::of(text.as_bytes()), tell).await;
        let seconds = (clock::now() - began) / SECOND_NS + 2;
        let (mut chatter, mut told, mut grants) = (0, 0, 0);
        while let Some(heard) = heard.recv().await {
            match heard {
                ProgramInput::TooMuch { .. } => told += 1,
                ProgramInput::Said { message: FromProgram::Grant { .. }, .. } => grants += 1,
                ProgramInput::Said { .. } | ProgramInput::Garbage { .. } => chatter += 1,
                ProgramInput::Over { .. } => {}
            }
        }
        assert!((1_000..=1_000 * seconds).contains(&chatter) && (1..=seconds).contains(&told), "{chatter} {told}");
        assert_eq!(grants, 1);
    }
}
