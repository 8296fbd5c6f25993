//! Holds a candidate of a live cell between winning and believing, and releases it.

use hustings_record::Nanos;

use crate::coordinator::live_cell::LiveCell;
use crate::process::clock;
use crate::protocol::ToHost;

impl LiveCell {
    /// Arms the sync point on these hosts, and waits until it triggers.
    pub(super) async fn first_winner(&self, hosts: &[u16], until: Nanos) -> Option<u16> {
        let triggered = self.sync_point.arm(hosts);
        self.tell_all(hosts, true);
        tokio::select! {
            biased;
            host = triggered => host.ok(),
            _ = self.status.before_tear_down(clock::sleep_until(until)) => None,
        }
    }

    /// Disarms the sync point, and releases the held candidate.
    pub(super) fn let_winner_go(&self) {
        let (hosts, held) = self.sync_point.lift();
        self.tell_all(&hosts, false);
        if let Some((host, generation, cand)) = held {
            self.hosts.tell(host, generation, ToHost::GoOn { cand });
        }
    }

    fn tell_all(&self, hosts: &[u16], laid: bool) {
        for &host in hosts {
            // An ended host holds no candidate.
            self.hosts.process(host, |process| process.tell(ToHost::SyncPoint { laid }));
        }
    }
}
