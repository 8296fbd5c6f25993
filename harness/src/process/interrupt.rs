//! Stop requests: Ctrl-C and other termination signals. One thread counts them for the whole program, from its first
//! moment on. The first one ends the program, unless the command has asked for something else by then.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, mpsc};

use futures::future::join_all;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::console::exit::Exit;
use crate::process::limits::explained;
use crate::process::lock::lock;
use crate::process::procfs::is_ignored;

/// What stop requests do.
struct StopReaction {
    /// The first one does this.
    first: Option<Box<dyn FnOnce() + Send>>,
    /// The request of this number ends the program. None: the command ends itself.
    ends_at: Option<u32>,
    /// The program ends with exit code 130, now.
    is_ending: bool,
}

static REACTION: Mutex<StopReaction> = Mutex::new(StopReaction { first: None, ends_at: Some(1), is_ending: false });
/// Number of stop requests.
static REQUESTS: LazyLock<watch::Sender<u32>> = LazyLock::new(|| watch::channel(0).0);

/// Listens from now on for SIGINT, SIGTERM, SIGQUIT, and SIGHUP (a closed terminal) unless it is ignored, as under
/// `nohup`. Call it first of all: a signal before that kills the process.
///
/// # Errors
/// The signal handlers cannot be installed.
pub fn listen() -> io::Result<()> {
    let (ready, listening) = mpsc::channel();
    let work = move || match Builder::new_current_thread().enable_io().build() {
        Ok(runtime) => runtime.block_on(heed_all(ready)),
        // The caller waits for it.
        Err(error) => _ = ready.send(Err(error)),
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(work).map_err(explained)?;
    listening.recv().map_err(io::Error::other).flatten()
}

async fn heed_all(ready: mpsc::Sender<io::Result<()>>) {
    let (signals, installed) = match handlers() {
        Ok(signals) => (signals, Ok(())),
        Err(error) => (Vec::new(), Err(error)),
    };
    // The caller waits for it.
    let _ = ready.send(installed);
    join_all(signals.into_iter().map(heed)).await;
}

/// From now on a write beyond the limit on the size of files is an ordinary error. Without a handler, SIGXFSZ kills this
/// process. Call it within a runtime.
///
/// # Errors
/// The signal handler cannot be installed.
pub fn survive_file_size_limit() -> io::Result<()> {
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
}

fn handlers() -> io::Result<Vec<Signal>> {
    survive_file_size_limit()?;
    let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate(), SignalKind::quit()];
    kinds.extend(Some(SignalKind::hangup()).filter(|kind| !is_ignored(kind.as_raw_value())));
    kinds.into_iter().map(signal).collect()
}

async fn heed(mut signal: Signal) {
    while signal.recv().await.is_some() {
        take_request();
    }
}

/// Counts a request, and does what the command wants then.
fn take_request() {
    let mut reaction = lock(&REACTION);
    let mut count = 0;
    REQUESTS.send_modify(|requests| {
        *requests += 1;
        count = *requests;
    });
    reaction.is_ending = reaction.ends_at.is_some_and(|last| count >= last);
    let (first, is_ending) = (reaction.first.take(), reaction.is_ending);
    // What follows may take long.
    drop(reaction);
    if let Some(first) = first {
        first();
    }
    if is_ending {
        end_at_once();
    }
}

#[expect(clippy::exit, reason = "no thread is waited for, and what was to be put in order is")]
fn end_at_once() -> ! {
    std::process::exit(Exit::Interrupted as i32)
}

/// The reaction, to be changed. Blocks forever if the program is ending.
fn reaction() -> MutexGuard<'static, StopReaction> {
    loop {
        let reaction = lock(&REACTION);
        if !reaction.is_ending {
            return reaction;
        }
        drop(reaction);
        std::thread::park();
    }
}

/// Blocks forever if the program is ending, so that the result of the work cannot end it differently.
pub fn unless_ending() {
    drop(reaction());
}

/// A flag that the first stop request sets. The second ends the program. For work on threads, without a runtime.
#[must_use]
pub fn flag() -> Arc<AtomicBool> {
    let asked = Arc::new(AtomicBool::new(false));
    let told = asked.clone();
    let mut reaction = reaction();
    reaction.first = Some(Box::new(move || told.store(true, Ordering::Relaxed)));
    reaction.ends_at = Some(2);
    asked
}

/// Makes something that a stop request removes before it ends the program. One that comes meanwhile waits for that.
///
/// # Errors
/// As for `make`.
pub fn removed_at_request<T, E, R>(make: impl FnOnce() -> Result<T, E>, removal: impl FnOnce(&T) -> R) -> Result<T, E>
where
    R: FnOnce() + Send + 'static,
{
    let mut reaction = reaction();
    let made = make()?;
    reaction.first = Some(Box::new(removal(&made)));
    Ok(made)
}

/// Number of times that the user has requested a stop.
#[derive(Clone)]
pub struct Interrupt(watch::Receiver<u32>);

impl Interrupt {
    /// From now on stop requests are counted only: the command reacts to them itself.
    #[must_use]
    pub fn take_over() -> Self {
        let mut reaction = reaction();
        (reaction.first, reaction.ends_at) = (None, None);
        Self(REQUESTS.subscribe())
    }

    #[must_use]
    pub fn asked(&self) -> bool {
        *self.0.borrow() > 0
    }

    /// Waits for the first stop request. Ready at once if it was made earlier.
    pub async fn first(&self) {
        self.at_least(1).await;
    }

    /// Waits for the second stop request.
    pub async fn second(&self) {
        self.at_least(2).await;
    }

    async fn at_least(&self, times: u32) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|&asked| asked >= times).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
