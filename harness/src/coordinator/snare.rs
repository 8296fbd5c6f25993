//! What lies in wait for a candidate that has won and does not believe it yet: the first one is held there until a fault has hit
//! its host, all others go on at once.

use std::cell::RefCell;

use hustings_record::Nanos;
use tokio::sync::oneshot;

use crate::clock;
use crate::coordinator::live_cell::LiveCell;
use crate::protocol::ToHost;

/// A cell's snare, laid or not.
#[derive(Default)]
pub(super) struct Snare(RefCell<State>);

#[derive(Default)]
struct State {
    /// On which hosts it is laid.
    hosts: Vec<u16>,
    /// Who waits for it to spring.
    tell: Option<oneshot::Sender<u16>>,
    /// Who is held: host, generation of its process, and candidate.
    held: Option<(u16, u32, u32)>,
}

impl Snare {
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
}

impl LiveCell {
    /// Lays the snare on these hosts, and waits for it to spring.
    pub(super) async fn first_winner(&self, hosts: &[u16], until: Nanos) -> Option<u16> {
        let (tell, sprung) = oneshot::channel();
        *self.snare.0.borrow_mut() = State { hosts: hosts.to_vec(), tell: Some(tell), held: None };
        self.tell_all(hosts, true);
        let mut changed = self.changed.subscribe();
        tokio::select! {
            biased;
            host = sprung => host.ok(),
            _ = changed.wait_for(|_| self.stopping()) => None,
            () = clock::sleep_until(until) => None,
        }
    }

    /// Takes the snare away, and lets go whoever is held.
    pub(super) fn let_winner_go(&self) {
        let State { hosts, held, .. } = self.snare.0.take();
        self.tell_all(&hosts, false);
        if let Some((host, generation, cand)) = held {
            self.tell(host, generation, ToHost::GoOn { cand });
        }
    }

    fn tell_all(&self, hosts: &[u16], laid: bool) {
        for &host in hosts {
            // A dead host holds nobody.
            self.process(host, |process| process.tell(ToHost::Snare { laid }));
        }
    }
}
