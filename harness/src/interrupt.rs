//! Ctrl-C: the first asks for an orderly end, the second for an end at once.

use std::rc::Rc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// How often the user has asked to stop.
#[derive(Clone)]
pub struct Interrupt(Rc<watch::Receiver<u32>>);

impl Interrupt {
    /// Listens for SIGINT and SIGTERM from now on. Must be called within a local task set.
    pub fn listen() -> std::io::Result<Self> {
        let (sender, receiver) = watch::channel(0);
        let mut interrupts = signal(SignalKind::interrupt())?;
        let mut terminations = signal(SignalKind::terminate())?;
        tokio::task::spawn_local(async move {
            loop {
                tokio::select! {
                    _ = interrupts.recv() => {}
                    _ = terminations.recv() => {}
                }
                sender.send_modify(|times| *times += 1);
            }
        });
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
