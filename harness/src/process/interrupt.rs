//! Ctrl-C, and whatever else asks a program to end: the first asks for an orderly end, the second for an end at once.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::console::exit::Exit;
use crate::process::procfs::is_ignored;

/// Set once somebody asks to stop; who asks twice ends the program at once. For work on threads, without a runtime.
///
/// # Errors
/// Signals cannot be listened to.
pub fn flag() -> std::io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    let told = asked.clone();
    on_thread(move || told.store(true, Ordering::Relaxed))?;
    Ok(asked)
}

/// Ends the program once somebody asks it to stop, after this was done. For work that leaves nothing behind but what this removes.
///
/// # Errors
/// Signals cannot be listened to.
pub fn ends(after: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    on_thread(|| {
        ENDING.store(true, Ordering::SeqCst);
        after();
        end_at_once()
    })
}

/// Set once the program is being ended, with 130.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Whatever comes of the work meanwhile, it ends the program no more: that is under way, and this never returns then.
pub fn unless_ending() {
    while ENDING.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

/// Does this at the first request, on a thread of its own, and ends the program at the second.
fn on_thread(first: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let (ready, listening) = std::sync::mpsc::channel();
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
        // Where there is no runtime the other end learns of it by the end of this one.
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
            tokio::task::LocalSet::new().block_on(&runtime, listen);
        }
    })?;
    listening.recv().map_err(std::io::Error::other).flatten()
}

#[expect(clippy::exit, reason = "no thread is waited for, and what was to be put in order is")]
fn end_at_once() -> ! {
    std::process::exit(Exit::Interrupted as i32)
}

/// How often the user has asked to stop.
#[derive(Clone)]
pub struct Interrupt(Rc<watch::Receiver<u32>>);

impl Interrupt {
    /// Listens for SIGINT, SIGTERM and SIGQUIT from now on, and for SIGHUP (a terminal that was closed) unless it is ignored,
    /// as under `nohup`. Must be called within a local task set.
    pub fn listen() -> std::io::Result<Self> {
        // To listen is what keeps it from killing: a write that goes beyond a limit of size is an error then, like others.
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

    /// Waits for the first request to stop; ready at once when it was made.
    pub async fn first(&self) {
        self.at_least(1).await;
    }

    /// Waits for the second.
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
