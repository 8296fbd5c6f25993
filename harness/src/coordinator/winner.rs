//! Holding a candidate of a live cell between winning and believing, and letting it go.

use hustings_record::Nanos;

use crate::coordinator::live_cell::LiveCell;
use crate::process::clock;
use crate::protocol::ToHost;

impl LiveCell {
    /// Lays the sync point on these hosts, and waits for it to spring.
    pub(super) async fn first_winner(&self, hosts: &[u16], until: Nanos) -> Option<u16> {
        let sprung = self.sync_point.lay(hosts);
        self.tell_all(hosts, true);
        let mut changed = self.changed.subscribe();
        tokio::select! {
            biased;
            host = sprung => host.ok(),
            _ = changed.wait_for(|_| self.stopping()) => None,
            () = clock::sleep_until(until) => None,
        }
    }

    /// Takes the sync point away, and lets go whoever is held.
    pub(super) fn let_winner_go(&self) {
        let (hosts, held) = self.sync_point.lift();
        self.tell_all(&hosts, false);
        if let Some((host, generation, cand)) = held {
            self.tell(host, generation, ToHost::GoOn { cand });
        }
    }

    fn tell_all(&self, hosts: &[u16], laid: bool) {
        for &host in hosts {
            // A dead host holds nobody.
            self.process(host, |process| process.tell(ToHost::SyncPoint { laid }));
        }
    }
}
