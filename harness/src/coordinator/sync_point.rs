//! A sync point for candidates that have won and do not believe it yet. It holds the first one until a fault has hit
//! its host; all others continue at once.

use std::cell::RefCell;

use tokio::sync::oneshot;

/// A cell's sync point, armed or not.
#[derive(Default)]
pub(super) struct SyncPoint(RefCell<SyncPointState>);

#[derive(Default)]
struct SyncPointState {
    /// The hosts on which it is armed.
    hosts: Vec<u16>,
    /// The receiver to notify when it triggers.
    tell: Option<oneshot::Sender<u16>>,
    /// The held candidate: host, generation of its process, and candidate.
    held: Option<(u16, u32, u32)>,
}

impl SyncPoint {
    /// A candidate has won. True: it is held.
    pub(super) fn triggers(&self, host: u16, generation: u32, cand: u32) -> bool {
        let mut state = self.0.borrow_mut();
        if !state.hosts.contains(&host) {
            return false;
        }
        let Some(tell) = state.tell.take() else { return false };
        let held = tell.send(host).is_ok();
        state.held = held.then_some((host, generation, cand));
        held
    }

    /// Arms it on these hosts. The receiver yields the host on which it triggered.
    pub(super) fn arm(&self, hosts: &[u16]) -> oneshot::Receiver<u16> {
        let (tell, triggered) = oneshot::channel();
        *self.0.borrow_mut() = SyncPointState { hosts: hosts.to_vec(), tell: Some(tell), held: None };
        triggered
    }

    /// Disarms it. Returns the hosts on which it was armed, and the held candidate: host, generation of its process,
    /// and candidate.
    pub(super) fn lift(&self) -> (Vec<u16>, Option<(u16, u32, u32)>) {
        let SyncPointState { hosts, held, .. } = self.0.take();
        (hosts, held)
    }
}
