//! Writes through every server, again and again, in cells with faults on servers: a client for each of them, which knows no
//! other.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;

use futures::future::{AbortHandle, Abortable, Either, select};

use super::client::Owner;
use super::session::SimSession;
use super::witness::{By, Saw};
use super::world::{NOWHERE, World, sleep_until};
use crate::coordination::{CreateMode, OpError, Refusal, Session as _};
use crate::model::{Micros, Server};
use crate::write_gaps::{EVERY, PATIENCE, TIMEOUT, WriteGaps};

/// The znode that is written to.
const PATH: &str = "/written";

/// All probes of a cell.
#[must_use]
pub(super) struct WriteProbe {
    shared: Rc<Shared>,
    probes: Vec<AbortHandle>,
}

struct Shared {
    world: Rc<World>,
    gaps: Cell<WriteGaps>,
}

impl WriteProbe {
    /// Begins to write through each server.
    pub(super) fn begin(world: &Rc<World>) -> Self {
        world.saw(By::Coordinator, Saw::WriteProbe { every_us: EVERY.as_micros() as u64 });
        let gaps = Cell::new(WriteGaps::begin(world.now() * 1_000));
        let shared = Rc::new(Shared { world: world.clone(), gaps });
        let probe = |server| {
            let (abort, registration) = AbortHandle::new_pair();
            let writes = Abortable::new(shared.clone().write_forever(server), registration);
            // Aborted: the probes have ended.
            world.spawn(async move { _ = writes.await });
            abort
        };
        let probes = (0..world.servers.borrow().len()).map(probe).collect();
        Self { shared, probes }
    }

    /// Ends the probes, and tells what came of them.
    pub(super) fn end(self) {
        self.probes.iter().for_each(AbortHandle::abort);
        let (world, gaps) = (&self.shared.world, self.shared.gaps.get());
        self.shared.tell(gaps.gap(world.now() * 1_000), true);
        world.saw(By::Coordinator, Saw::WriteProbed { acknowledged: gaps.acknowledged() });
    }
}

impl Shared {
    async fn write_forever(self: Rc<Self>, server: Server) {
        let (world, every) = (&self.world, EVERY.as_micros() as u64);
        loop {
            let client = world.open_at(Owner::NOBODY, TIMEOUT.as_millis() as u64, &[server]);
            match in_time(world, PATIENCE.as_micros() as u64, SimSession::of(world, client)).await {
                Some(Some(session)) => {
                    while let Some(Ok(())) = in_time(world, PATIENCE.as_micros() as u64, write(&session)).await {
                        self.acknowledge();
                        sleep_until(world, NOWHERE, world.now() + every).await;
                    }
                }
                Some(None) => {}
                None => world.die(client),
            }
            // Whatever the trouble is: another connection may be free of it.
            sleep_until(world, NOWHERE, world.now() + every).await;
        }
    }

    fn acknowledge(&self) {
        let mut gaps = self.gaps.get();
        self.tell(gaps.acknowledge(self.world.now() * 1_000), false);
        self.gaps.set(gaps);
    }

    fn tell(&self, gap: Option<(u64, u64)>, ended: bool) {
        if let Some((from, to)) = gap {
            self.world.saw(By::Coordinator, Saw::WriteGap { from, to, ended });
        }
    }
}

async fn write(session: &SimSession) -> Result<(), OpError> {
    match session.set(PATH, b"", None).await {
        // It was never there, or the servers were started without their data.
        Err(OpError::Refused(Refusal::NoNode)) => match session.create(PATH, b"", CreateMode::Persistent).await {
            Err(OpError::Refused(Refusal::NodeExists)) => Ok(()),
            created => created.map(drop),
        },
        written => written.map(drop),
    }
}

/// What comes of it, or None if it takes longer.
pub(super) async fn in_time<T>(world: &World, at_most: Micros, what: impl Future<Output = T>) -> Option<T> {
    match select(pin!(what), pin!(sleep_until(world, NOWHERE, world.now() + at_most))).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}
