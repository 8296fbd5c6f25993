//! The driver's backend in virtual time.

use std::collections::BTreeMap;
use std::rc::Rc;

use futures::channel::oneshot;
use hustings_record::numbers::{millis, to_u16};
use hustings_record::{Event, Holdings, Nanos, ServerLine, ServerMetrics, ServerState};

use super::event_sink::Writer;
use super::floor;
use super::run::ADMIN_TIMEOUT_MS;
use super::scheduled::{arm_sync_points, follow};
use super::session::SimSession;
use super::sim_cell::{SimCell, SyncPoint};
use super::world::{COORDINATOR, ClientId, ClientOwner, ScheduledEvent, SimWorld, micros};
use crate::driver::{
    Backend, Effect, EnrolmentProgress, FloorPair, FloorPart, FloorStamps, InjectedFault, Remedy, State, Verification,
    as_planned, lay_out, run_until_cancelled,
};
use crate::plan::{PlannedFault, ResolvedTarget};
use crate::write_gaps::TIMEOUT;

/// How long to wait for consequences after the last step of a schedule, in session timeouts.
const AFTERMATH_T: u64 = 3;

impl Backend for SimCell {
    type Error = String;
    type Session = SimSession;

    fn state(&self) -> &State {
        &self.state
    }

    fn now(&self) -> Nanos {
        self.world.clock.nanos()
    }

    async fn sleep_until(&self, at: Nanos) {
        self.world.clock.sleep_until(COORDINATOR, micros(at)).await;
    }

    fn record(&self, event: Event) {
        self.world.record(Writer::Coordinator, event);
    }

    async fn set_up(self: &Rc<Self>) -> Result<(), String> {
        let world = &self.world;
        (0..self.state.cell.servers as usize).for_each(|server| world.start_server(server));
        world.clock.plan(world.tick_us / 2, ScheduledEvent::HandOver);
        let admin = SimSession::connect(world, ClientOwner::NOBODY, ADMIN_TIMEOUT_MS).await;
        let admin = admin.ok_or("the servers gave no session")?;
        let laid_out = lay_out(&admin, self.chroot(), &self.state.cell.group_names).await;
        self.admin.replace(Some(admin));
        laid_out.map_err(|error| format!("the elections could not be created: {error}"))
    }

    async fn cut_short(&self) -> String {
        std::future::pending().await
    }

    /// Does not stop the candidates: a simulated world leaves nothing to clean up. Enrolled and leading candidates stay
    /// so at the end of the record.
    async fn tear_down(self: &Rc<Self>) -> Result<(), String> {
        self.running().into_iter().for_each(|host| self.host_ended(host, false));
        Ok(())
    }

    /// Under a schedule, candidates join one after the other.
    async fn start_hosts(self: &Rc<Self>) -> Result<(), String> {
        let cell = self.state.cell.clone();
        if let Some(steps) = &self.schedule {
            arm_sync_points(self, steps, false);
        }
        let until = self.now() + cell.phases.enrol_max_ms * 1_000_000;
        (0..cell.hosts).for_each(|host| self.start_host(host));
        for cand in 0..u32::try_from(cell.candidates()).unwrap_or(u32::MAX) {
            self.enrol(cand);
            while self.schedule.is_some() && self.standing.get() <= u64::from(cand) && self.now() < until {
                self.changed(until).await;
            }
        }
        Ok(())
    }

    fn standing(&self) -> EnrolmentProgress {
        let (candidates, standing) = (self.living.get(), self.standing.get());
        EnrolmentProgress { candidates, connected: standing, standing }
    }

    async fn changed(&self, until: Nanos) {
        if self.alarm.replace(until) != until {
            let changes = self.changes.clone();
            self.world.clock.later(micros(until), move || changes.tell());
        }
        self.changes.told().await;
    }

    fn servers(&self) -> u32 {
        self.state.cell.servers
    }

    async fn connect_to(&self, server: u32) -> Option<SimSession> {
        let client = self.world.open_at(ClientOwner::NOBODY, millis(TIMEOUT), &[server as usize - 1]);
        // On drop before the session exists, the client stops dialling.
        let mut dialling = UnconnectedClient { world: &self.world, client, done: false };
        let session = SimSession::of(&self.world, client).await;
        dialling.done = true;
        session
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.world.spawn(task);
    }

    fn running(&self) -> Vec<u16> {
        let hosts = self.world.network.hosts.borrow();
        (0..to_u16(hosts.len())).filter(|host| hosts[usize::from(*host)].alive).collect()
    }

    async fn look(&self, server: u32) -> (ServerState, Option<i64>) {
        let (world, server) = (&self.world, server as usize - 1);
        let state = world.servers.says(server);
        (state, state.serves().then(|| world.servers.ensemble.borrow().last_zxid(server)))
    }

    async fn server_log(&self, server: u32) -> Result<Vec<(Nanos, ServerLine)>, String> {
        Ok(self.world.servers.watch.borrow().log(server as usize - 1))
    }

    async fn counters(&self) -> Result<BTreeMap<u32, ServerMetrics>, String> {
        Ok(self.world.servers.metrics())
    }

    async fn holdings(&self) -> Result<BTreeMap<u32, Holdings>, String> {
        Ok(self.world.servers.holdings())
    }

    /// Under a schedule, any host may have been felled by now.
    fn has_floor(&self) -> bool {
        self.schedule.is_none()
    }

    async fn take_floor(&self, one: FloorPair, watches: u16, deletes: u16) -> (FloorStamps, FloorStamps) {
        let deleted = floor::take(self, deletes, FloorPart::Delete, one);
        futures::future::join(deleted, floor::take(self, watches, FloorPart::Watch, one)).await
    }

    fn background_task(self: &Rc<Self>, task: impl Future<Output = ()> + 'static) {
        self.world.spawn(task);
    }

    async fn goes_on_until(&self, at: Nanos) -> bool {
        self.sleep_until(at).await;
        true
    }

    async fn injection(self: &Rc<Self>) -> Nanos {
        match &self.schedule {
            None => as_planned(self).await,
            Some(steps) => {
                let lasts_us = follow(self, steps) + AFTERMATH_T * self.state.cell.timeout_granted_ms() * 1_000;
                self.now() + lasts_us * 1_000
            }
        }
    }

    async fn winner(&self, hosts: &[u16], until: Nanos) -> Option<u16> {
        let (tell, triggered) = oneshot::channel();
        self.sync_point.replace(Some(SyncPoint { hosts: hosts.to_vec(), triggered: Some(tell), held: None }));
        run_until_cancelled(self.sleep_until(until), triggered).await.and_then(Result::ok)
    }

    fn let_win(&self) {
        drop(self.sync_point.take());
    }

    async fn inject(
        self: &Rc<Self>,
        _: u32,
        planned: &PlannedFault,
        hit: &ResolvedTarget,
        _: &Effect,
    ) -> InjectedFault {
        self.injure(planned, hit).await
    }

    async fn heal(self: &Rc<Self>, remedy: &Remedy) -> Verification {
        self.mend(remedy).await
    }
}

/// A client without a session so far.
struct UnconnectedClient<'a> {
    world: &'a Rc<SimWorld>,
    client: ClientId,
    done: bool,
}

impl Drop for UnconnectedClient<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.world.die(self.client);
        }
    }
}
