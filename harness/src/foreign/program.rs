//! A program that stands for election: started, spoken to, listened to, and ended.

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

use super::lines::Lines;
use super::message::{FromProgram, ToProgram};
use crate::child::SECRET_VARIABLE;
use crate::clock;

/// So much of what is no message is told.
const GARBAGE_CHARS: usize = 120;
/// So much of its last words is kept.
const LAST_LINES: usize = 12;
const LAST_LINE_CHARS: usize = 400;
/// Orders that wait for a program that does not read them.
const ORDERS_MAX: usize = 1 << 12;
/// Lines that wait to be taken: what a program says never waits for the harness, within its pipe and this.
pub(crate) const HEARD_MAX: usize = 1 << 16;

/// What comes of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// It said this; `t` is when the line was there.
    Said { t: Nanos, message: FromProgram },
    /// It said what is no message: why, and how the line begins.
    Garbage { t: Nanos, why: String, line: String },
    /// It will say no more.
    Over { t: Nanos },
}

/// A running program.
pub struct Program {
    pid: u32,
    own_group: bool,
    child: Child,
    orders: Option<mpsc::Sender<ToProgram>>,
    last_words: Rc<RefCell<VecDeque<String>>>,
}

impl Program {
    /// Starts a command as it is given, by no shell. It dies with this process, and `exe` (this program) sees to that; it is in
    /// this process's group unless it is to have its own.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(
        exe: &Path,
        command: &[String],
        environment: &BTreeMap<String, String>,
        own_group: bool,
    ) -> anyhow::Result<(Self, mpsc::Receiver<Heard>)> {
        let name = command.first().context("no command is given")?;
        let mut guarded = Command::new(exe);
        guarded
            .args(["guard", "--parent", &std::process::id().to_string(), "--"])
            .args(command)
            .env_remove(SECRET_VARIABLE)
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if own_group {
            guarded.process_group(0);
        }
        let mut child = guarded.spawn().with_context(|| format!("{name} cannot be started"))?;
        let pid = child.id().context("it ended at once")?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else { anyhow::bail!("{name} has no pipes") };
        let (orders, queue) = mpsc::channel(ORDERS_MAX);
        let (tell, heard) = mpsc::channel(HEARD_MAX);
        let last_words: Rc<RefCell<VecDeque<String>>> = Rc::default();
        spawn_local(speak(stdin, queue));
        spawn_local(listen(stdout, tell));
        spawn_local(keep_last_words(stderr, last_words.clone()));
        Ok((Self { pid, own_group, child, orders: Some(orders), last_words }, heard))
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Tells it something. False: it has stopped reading, or too much waits for it.
    pub fn tell(&self, order: ToProgram) -> bool {
        self.orders.as_ref().is_some_and(|orders| orders.try_send(order).is_ok())
    }

    /// Ends its input, which tells it to give everything up and go.
    pub fn hang_up(&mut self) {
        self.orders = None;
    }

    /// The last lines of its log.
    #[must_use]
    pub fn last_words(&self) -> Vec<String> {
        self.last_words.borrow().iter().cloned().collect()
    }

    /// # Errors
    /// There is no such process any more.
    pub fn signal(&self, signal: Signal) -> std::io::Result<()> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        Ok(kill_process(pid.ok_or_else(|| std::io::Error::other("no such process"))?, signal)?)
    }

    /// Kills whatever it started and left in its own group.
    pub fn kill_group(&self) {
        let group = i32::try_from(self.pid).ok().and_then(Pid::from_raw).filter(|_| self.own_group);
        // One that is empty is what is wanted.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
    }

    /// Waits for its end; kills it when it has not ended by then. True: it was killed.
    ///
    /// # Errors
    /// The kernel does not say that it is gone.
    pub async fn wait(&mut self, at_most: Duration) -> std::io::Result<(ExitStatus, bool)> {
        match tokio::time::timeout(at_most, self.child.wait()).await {
            Ok(status) => Ok((status?, false)),
            Err(_) => {
                self.child.start_kill()?;
                Ok((self.child.wait().await?, true))
            }
        }
    }
}

async fn speak(mut stdin: ChildStdin, mut orders: mpsc::Receiver<ToProgram>) {
    while let Some(order) = orders.recv().await {
        let Ok(mut line) = serde_json::to_string(&order) else { continue };
        line.push('\n');
        // One that does not listen any more has its end told elsewhere.
        if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

async fn listen(stdout: impl AsyncRead + Unpin, tell: mpsc::Sender<Heard>) {
    let mut lines = Lines::of(stdout);
    while let Some(line) = lines.next().await {
        let t = clock::now();
        let heard = match line {
            Ok(line) if line.trim().is_empty() => continue,
            Ok(line) => match serde_json::from_str(&line) {
                Ok(message) => Heard::Said { t, message },
                Err(error) => Heard::Garbage { t, why: error.to_string(), line: begin_of(&line, GARBAGE_CHARS) },
            },
            Err(why) => Heard::Garbage { t, why, line: String::new() },
        };
        if tell.send(heard).await.is_err() {
            return;
        }
    }
    // Nobody may be there to hear it.
    let _ = tell.send(Heard::Over { t: clock::now() }).await;
}

async fn keep_last_words(stderr: impl AsyncRead + Unpin, last_words: Rc<RefCell<VecDeque<String>>>) {
    let mut lines = Lines::of(stderr);
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
