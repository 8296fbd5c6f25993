//! The one thread for all blocking calls. toxiproxy_rust and reqwest's blocking client must not run on the
//! coordinator's thread, may panic, and need a time limit.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use tokio::sync::oneshot;

use super::control::Control;
use super::error::LinkError;

/// Maximum number of calls that wait for the thread.
const QUEUE: usize = 64;

type Job = Box<dyn FnOnce(&mut Vec<Control>) + Send>;

#[derive(Debug)]
pub(super) struct Caller {
    jobs: SyncSender<Job>,
}

impl Caller {
    pub(super) fn start() -> Result<Self, LinkError> {
        let (jobs, queue) = sync_channel(QUEUE);
        Builder::new().name("links".to_owned()).spawn(move || work(&queue)).map_err(LinkError::Thread)?;
        Ok(Self { jobs })
    }

    /// Runs `job` on the thread and waits for at most `limit`. A job whose caller has stopped waiting is not started.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        what: &'static str,
        limit: Duration,
        job: impl FnOnce(&mut Vec<Control>) -> Result<T, LinkError> + Send + 'static,
    ) -> Result<T, LinkError> {
        let (answer, waiting) = oneshot::channel();
        let job: Job = Box::new(move |controls| {
            if answer.is_closed() {
                return;
            }
            let done = catch_unwind(AssertUnwindSafe(|| job(controls))).unwrap_or_else(|panic| {
                // The panic has poisoned the client's lock.
                controls.iter_mut().for_each(Control::renew);
                Err(LinkError::Broken { what, why: message(&*panic) })
            });
            // The caller may have stopped waiting.
            let _ = answer.send(done);
        });
        self.jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => LinkError::TimedOut { what, limit: Duration::ZERO },
            TrySendError::Disconnected(_) => LinkError::Broken { what, why: "its thread has ended".to_owned() },
        })?;
        match tokio::time::timeout(limit, waiting).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) => Err(LinkError::Broken { what, why: "its thread has ended".to_owned() }),
            Err(_) => Err(LinkError::TimedOut { what, limit }),
        }
    }
}

fn work(queue: &Receiver<Job>) {
    let mut controls = Vec::new();
    while let Ok(job) = queue.recv() {
        job(&mut controls);
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no message").to_owned()
}
