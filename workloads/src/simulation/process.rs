//! A host's process in the simulated world, as the code inside it sees it.

use std::rc::Rc;
use std::time::Duration;

use hustings_record::numbers::nanos;
use hustings_record::{Event, Nanos};

use super::event_sink::Writer;
use super::session::SimSession;
use super::world::{ClientOwner, SimWorld, micros};
use crate::driver::Process;

pub(super) struct SimProcess {
    pub(super) world: Rc<SimWorld>,
    pub(super) host: u16,
    pub(super) timeout_ms: u64,
}

impl Process for SimProcess {
    type Session = SimSession;

    fn now(&self) -> Nanos {
        self.world.clock.nanos()
    }

    async fn sleep_until(&self, at: Nanos) {
        self.world.clock.sleep_until(self.host, micros(at)).await;
    }

    /// There is no orderly stop: everything in a process ends with the process, or with its world.
    async fn stopped(&self) {
        std::future::pending().await
    }

    fn record(&self, event: Event) {
        self.world.record(Writer::Host(self.host), event);
    }

    async fn connect(&self, cand: Option<u32>) -> Result<SimSession, String> {
        let owner = ClientOwner { host: self.host, cand, told: true };
        let session = SimSession::connect(&self.world, owner, self.timeout_ms).await;
        session.ok_or_else(|| "no server gave one in time".to_owned())
    }

    fn share(&self, session: &SimSession) -> SimSession {
        session.share()
    }

    async fn close(&self, session: SimSession, at_most: Duration) -> bool {
        session.close(nanos(at_most) / 1_000).await
    }
}
