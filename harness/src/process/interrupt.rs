//! Ctrl-C and other termination signals: the first requests an orderly end, the second ends the program at once.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::console::exit::Exit;
use crate::process::procfs::is_ignored;

/// A flag that the first termination signal sets. The second ends the program. For work on threads, without a runtime.
///
/// # Errors
/// The signal handlers cannot be installed.
pub fn flag() -> std::io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    let told = asked.clone();
    on_thread(move || told.store(true, Ordering::Relaxed))?;
    Ok(asked)
}

/// Runs `after` on the first termination signal, then ends the program. For work that leaves only what `after` removes.
///
/// # Errors
/// The signal handlers cannot be installed.
pub fn ends(after: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    on_thread(|| {
        ENDING.store(true, Ordering::SeqCst);
        after();
        end_at_once()
    })
}

/// Set while the program ends with exit code 130.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Blocks forever if the program is ending, so that the result of the work cannot end it differently.
pub fn unless_ending() {
    while ENDING.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

/// Runs `first` at the first request, on its own thread, and ends the program at the second.
fn on_thread(first: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let (ready, listening) = std::sync::mpsc::channel();
    let failed = ready.clone();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let listen = async {
            match Interrupt::listen() {
                Err(error) => _ = ready.send(Err(error)),
                Ok(interrupt) => {
                    let _ = ready.send(Ok(()));
                    interrupt.first().await;
                    first();
                    interrupt.second().await;
                    end_at_once();
                }
            }
        };
        match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => tokio::task::LocalSet::new().block_on(&runtime, listen),
            Err(error) => _ = failed.send(Err(error)),
        }
    })?;
    listening.recv().map_err(std::io::Error::other).flatten()
}

#[expect(clippy::exit, reason = "no thread is waited for, and what was to be put in order is")]
fn end_at_once() -> ! {
    std::process::exit(Exit::Interrupted as i32)
}

/// Number of times that the user has requested a stop.
#[derive(Clone)]
pub struct Interrupt(Rc<watch::Receiver<u32>>);

impl Interrupt {
    /// Listens from now on for SIGINT, SIGTERM, SIGQUIT, and SIGHUP (a closed terminal) unless it is ignored, as under
    /// `nohup`. Call it within a local task set.
    pub fn listen() -> std::io::Result<Self> {
        // A handler for SIGXFSZ prevents the kill, so a write beyond the file size limit is an ordinary error.
        let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?;
        let (sender, receiver) = watch::channel(0);
        let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate(), SignalKind::quit()];
        kinds.extend(Some(SignalKind::hangup()).filter(|kind| !is_ignored(kind.as_raw_value())));
        for kind in kinds {
            let (mut asked, sender) = (signal(kind)?, sender.clone());
            tokio::task::spawn_local(async move {
                while asked.recv().await.is_some() {
                    sender.send_modify(|times| *times += 1);
                }
            });
        }
        Ok(Self(Rc::new(receiver)))
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
        let mut receiver = (*self.0).clone();
        if receiver.wait_for(|&asked| asked >= times).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
