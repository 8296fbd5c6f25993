//! What lies in wait for a candidate that has won and does not believe it yet: the first one is held there until a fault has hit
//! its host, all others go on at once.

use std::cell::RefCell;

use tokio::sync::oneshot;

/// A cell's sync point, laid or not.
#[derive(Default)]
pub(super) struct SyncPoint(RefCell<SyncPointState>);

#[derive(Default)]
struct SyncPointState {
    /// On which hosts it is laid.
    hosts: Vec<u16>,
    /// Who waits for it to spring.
    tell: Option<oneshot::Sender<u16>>,
    /// Who is held: host, generation of its process, and candidate.
    held: Option<(u16, u32, u32)>,
}

impl SyncPoint {
    /// A candidate has won. True: it is held.
    pub(super) fn springs(&self, host: u16, generation: u32, cand: u32) -> bool {
        let mut state = self.0.borrow_mut();
        if !state.hosts.contains(&host) {
            return false;
        }
        let Some(tell) = state.tell.take() else { return false };
        let held = tell.send(host).is_ok();
        state.held = held.then_some((host, generation, cand));
        held
    }

    /// Lays it on these hosts. What comes tells on which of them it has sprung.
    pub(super) fn lay(&self, hosts: &[u16]) -> oneshot::Receiver<u16> {
        let (tell, sprung) = oneshot::channel();
        *self.0.borrow_mut() = SyncPointState { hosts: hosts.to_vec(), tell: Some(tell), held: None };
        sprung
    }

    /// Takes it away. Gives the hosts on which it was laid, and who is held: host, generation of its process, and candidate.
    pub(super) fn lift(&self) -> (Vec<u16>, Option<(u16, u32, u32)>) {
        let SyncPointState { hosts, held, .. } = self.0.take();
        (hosts, held)
    }
}
