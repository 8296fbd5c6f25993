//! The driver's backend over real processes, links and servers.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use hustings_record::numbers::to_u32;
use hustings_record::{Event, Holdings, Nanos, ServerLine, ServerLoad, ServerMetrics, ServerState};
use hustings_workloads::driver::{
    Backend, Effect, EnrolmentProgress, FloorPair, FloorStamps, InjectedFault, Remedy, State, Verification, as_planned,
};
use hustings_workloads::plan::{PlannedFault, ResolvedTarget};
use hustings_workloads::write_gaps::TIMEOUT;

use super::faults;
use crate::client::session::ZkSession;
use crate::coordinator::hosts::{ResourceUsage, process_weight};
use crate::coordinator::interruption::CellInterruption;
use crate::coordinator::live_cell::LiveCell;
use crate::coordinator::{floor, set_up, tear_down};
use crate::ensemble::four_letter::parse_mntr;
use crate::ensemble::log;
use crate::ensemble::look::look;
use crate::process::{clock, utc};

/// How long reading one server's log may take.
const LOG_AT_MOST: Duration = Duration::from_secs(20);
/// An answer takes a server about a millisecond of work.
const LOAD_EVERY: Duration = Duration::from_secs(1);
/// A change that was missed costs no more than this.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

impl Backend for LiveCell {
    type Error = CellInterruption;
    type Session = ZkSession;

    fn state(&self) -> &State {
        &self.state
    }

    fn now(&self) -> Nanos {
        clock::now()
    }

    async fn sleep_until(&self, at: Nanos) {
        clock::sleep_until(at).await;
    }

    fn record(&self, event: Event) {
        self.journal.push(&event);
    }

    fn progress(&self, what: impl FnOnce() -> String) {
        self.environment.progress.now(&what());
    }

    fn warn(&self, what: &str) {
        self.environment.progress.line(&format!("  {what}"));
    }

    async fn set_up(self: &Rc<Self>) -> Result<(), CellInterruption> {
        set_up::set_up(self).await
    }

    async fn cut_short(&self) -> CellInterruption {
        let mut trouble = self.status.trouble.subscribe();
        let observed = self.watching.borrow().as_ref().map(|watching| watching.journal.clone());
        let unobserved = async {
            match observed {
                Some(journal) => journal.failed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Ok(what) = trouble.wait_for(Option::is_some) => CellInterruption::Aborted(what.clone().unwrap_or_default()),
            what = self.journal.failed() => CellInterruption::Aborted(what),
            what = unobserved => CellInterruption::Aborted(what),
            () = self.environment.interrupt.first() => CellInterruption::Interrupted,
        }
    }

    async fn tear_down(self: &Rc<Self>) -> Result<(), CellInterruption> {
        Ok(tear_down::tear_down(self).await?)
    }

    async fn start_hosts(self: &Rc<Self>) -> Result<(), CellInterruption> {
        Ok(self.hosts.start().await?)
    }

    /// Writes down what memory every host takes.
    fn enrolled(&self) {
        for (&number, host) in self.hosts.by_number.borrow().iter() {
            let weight = host.process.as_ref().and_then(|process| process_weight(process.victim()));
            if let Some(ResourceUsage { rss_kb, threads, .. }) = weight {
                let (t, candidates, threads) = (clock::now(), to_u32(host.set_up.candidates.len()), Some(threads));
                self.journal.push(&Event::HostMemory { t, host: number, rss_kb, candidates, threads });
            }
        }
    }

    fn standing(&self) -> EnrolmentProgress {
        let mut all = EnrolmentProgress::default();
        for host in self.hosts.by_number.borrow().values().filter(|host| host.process.is_some()) {
            let (connected, standing) = host.progress;
            all.candidates += host.set_up.candidates.len() as u64;
            all.connected += u64::from(connected);
            all.standing += u64::from(standing);
        }
        all
    }

    async fn changed(&self, _until: Nanos) {
        let mut changed = self.status.changed.subscribe();
        // Either way it is looked at again.
        let _ = tokio::time::timeout(LOOK_AGAIN, changed.changed()).await;
    }

    fn servers(&self) -> u32 {
        to_u32(self.environment.ensemble.servers().len())
    }

    fn chroot(&self) -> &str {
        &self.environment.chroot
    }

    async fn connect_to(&self, server: u32) -> Option<ZkSession> {
        let address = self.environment.ensemble.servers().get(server as usize - 1).copied()?;
        let access = &self.environment.access;
        ZkSession::connect_as(access, &access.connect_string(&[address], ""), TIMEOUT).await.ok()
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        tokio::task::spawn_local(task);
    }

    fn running(&self) -> Vec<u16> {
        let hosts = self.hosts.by_number.borrow();
        hosts.iter().filter(|(_, host)| host.process.is_some()).map(|(&number, _)| number).collect()
    }

    async fn look(&self, server: u32) -> (ServerState, Option<i64>) {
        look(&*self.environment.ensemble, server).await
    }

    fn log_clock(&self) -> (i64, Nanos) {
        utc::Clocks::now().ahead()
    }

    async fn server_log(&self, server: u32) -> Result<Vec<(Nanos, ServerLine)>, String> {
        let text = match tokio::time::timeout(LOG_AT_MOST, self.environment.ensemble.log(server)).await {
            Ok(Ok(text)) => text.unwrap_or_default(),
            Ok(Err(error)) => return Err(format!("the log of server {server} could not be read: {error}")),
            Err(_) => return Err(format!("the log of server {server} could not be read in time")),
        };
        let clocks = utc::Clocks::now();
        Ok(log::lines_that_matter(&text).into_iter().map(|line| (clocks.common(line.at), line.line)).collect())
    }

    fn load_every(&self) -> Option<Duration> {
        Some(LOAD_EVERY)
    }

    async fn load(&self, server: u32) -> Option<ServerLoad> {
        // One that cannot be asked, or does not serve, has nothing to tell.
        let text = self.environment.ensemble.ask(server, "mntr").await.ok()?;
        Some(ServerLoad::of(&parse_mntr(&text))).filter(|load| load.figures().next().is_some())
    }

    async fn counters(&self) -> Result<BTreeMap<u32, ServerMetrics>, String> {
        self.environment.ensemble.metrics().await.map_err(|error| format!("{error:#}"))
    }

    /// Nobody asks servers of others: the lists take time, and are of all their clients.
    async fn holdings(&self) -> Result<BTreeMap<u32, Holdings>, String> {
        let ensemble = &self.environment.ensemble;
        if ensemble.control().is_none() {
            return Ok(BTreeMap::new());
        }
        let said = ensemble.holdings().await.map_err(|error| format!("{error:#}"))?;
        Ok(said.into_iter().map(|(server, holdings)| (server, holdings.below(self.chroot()))).collect())
    }

    async fn take_floor(&self, one: FloorPair, watches: u16, deletes: u16) -> (FloorStamps, FloorStamps) {
        floor::take(self, one, watches, deletes).await
    }

    fn background_task(self: &Rc<Self>, task: impl Future<Output = ()> + 'static) {
        self.background_tasks.send(task);
    }

    async fn goes_on_until(&self, at: Nanos) -> bool {
        self.status.before_tear_down(clock::sleep_until(at)).await.is_some()
    }

    async fn injection(self: &Rc<Self>) -> Nanos {
        as_planned(self).await
    }

    async fn winner(&self, hosts: &[u16], until: Nanos) -> Option<u16> {
        self.first_winner(hosts, until).await
    }

    fn let_win(&self) {
        self.let_winner_go();
    }

    async fn inject(
        self: &Rc<Self>,
        id: u32,
        planned: &PlannedFault,
        hit: &ResolvedTarget,
        effect: &Effect,
    ) -> InjectedFault {
        faults::inject(self, id, planned, hit, effect).await
    }

    async fn heal(self: &Rc<Self>, remedy: &Remedy) -> Verification {
        faults::heal(self, remedy).await
    }
}
