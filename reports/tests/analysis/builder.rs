//! Builds records in memory: a correct cell, to which a test adds errors. Times are milliseconds.

use std::collections::BTreeMap;

use hustings_reports::summary::CheckResult;

use crate::parameters::info;
use crate::proofs::seen;
use crate::*;

pub(crate) const T: u64 = 4_000;
pub(crate) const TICK: u64 = 1_000;
pub(crate) const MEASURE: u64 = 10_000;
pub(crate) const TEAR_DOWN: u64 = 100_000;
pub(crate) const END: u64 = 101_000;

pub(crate) fn ms(ms: u64) -> Nanos {
    ms * 1_000_000
}

/// A candidate's present incarnation.
#[derive(Clone)]
struct CurrentIncarnation {
    session: i64,
    node: String,
    czxid: i64,
    term: u32,
}

pub(crate) struct Cell {
    pub(crate) info: CellInfo,
    pub(crate) complete: bool,
    hosts: Vec<Vec<Event>>,
    dead: Vec<bool>,
    pub(crate) coordinator: Vec<Event>,
    pub(crate) observer: Vec<Event>,
    standing: BTreeMap<u32, CurrentIncarnation>,
    leaders: BTreeMap<u32, u32>,
    fresh: i64,
    faults: u32,
    /// Added to the servers' counters.
    pub(crate) servers_differ: i64,
    /// The same for watches with other events, by the word in the counter's name; the delivered ones are not included.
    pub(crate) differs_of: BTreeMap<&'static str, i64>,
    pub(crate) servers_silent: bool,
    /// Ephemeral znodes at every server, and watches at one of them; `None`: the servers do not report them.
    pub(crate) held: Option<(u32, u32)>,
    /// The increase of each server's own counter of unavailable time: milliseconds, and the number of times.
    pub(crate) unavailable: BTreeMap<u32, (f64, f64)>,
    /// Omit the `End` of segments.
    pub(crate) endless: bool,
}

impl Cell {
    /// Every group has a candidate on each host, and host 0 leads them all.
    pub(crate) fn new(recipe: &str, groups: u32, hosts: u16, kind: FaultKind) -> Self {
        let mut cell = Self {
            info: info(recipe, groups, hosts, kind),
            complete: true,
            hosts: vec![Vec::new(); usize::from(hosts)],
            dead: vec![false; usize::from(hosts)],
            coordinator: Vec::new(),
            observer: Vec::new(),
            standing: BTreeMap::new(),
            leaders: BTreeMap::new(),
            fresh: 100,
            faults: 0,
            servers_differ: 0,
            differs_of: BTreeMap::new(),
            servers_silent: false,
            held: None,
            unavailable: BTreeMap::new(),
            endless: false,
        };
        for group in 0..groups {
            for host in 0..hosts {
                let cand = cell.cand(group, host);
                cell.host(host).push(Event::Candidate { t: ms(1_000), cand, group });
                cell.join(group, host, 2_000);
            }
            cell.lead(group, 0, 3_000);
        }
        cell
    }

    pub(crate) fn cand(&self, group: u32, host: u16) -> u32 {
        group * self.hosts.len() as u32 + u32::from(host)
    }

    pub(crate) fn host(&mut self, host: u16) -> &mut Vec<Event> {
        &mut self.hosts[usize::from(host)]
    }

    pub(crate) fn events_of(&self, host: u16) -> &[Event] {
        &self.hosts[usize::from(host)]
    }

    pub(crate) fn session(&self, group: u32, host: u16) -> i64 {
        self.standing[&self.cand(group, host)].session
    }

    pub(crate) fn node(&self, group: u32, host: u16) -> String {
        self.standing[&self.cand(group, host)].node.clone()
    }

    pub(crate) fn czxid(&self, group: u32, host: u16) -> i64 {
        self.standing[&self.cand(group, host)].czxid
    }

    /// A new session and a new znode.
    pub(crate) fn join(&mut self, group: u32, host: u16, at: u64) {
        self.fresh += 1;
        let (cand, session, czxid) = (self.cand(group, host), 10_000 + self.fresh, self.fresh);
        let lock = self.info.recipe.starts_with("lock");
        let node = if lock { "lock".to_owned() } else { format!("n_{czxid:010}") };
        let named = (!lock).then(|| node.clone());
        let state = SessionState::Connected;
        self.host(host).extend([
            Event::Session { t: ms(at), session, timeout_ms: T, asked_ms: T, connect_ns: ms(5) },
            Event::State { t: ms(at), session, state },
            Event::Incarnation { t: ms(at), cand, session },
            Event::Joined { t: ms(at), cand, session, czxid: named.is_some().then_some(czxid), node: named },
            Event::Settled { t: ms(at), cand, session, requests: 2 },
        ]);
        self.standing.insert(cand, CurrentIncarnation { session, node, czxid, term: 0 });
    }

    /// From now on the candidate has another znode, under the same session.
    pub(crate) fn renew(&mut self, group: u32, host: u16) {
        self.fresh += 1;
        let (cand, czxid) = (self.cand(group, host), self.fresh);
        let standing = self.standing.get_mut(&cand).unwrap();
        standing.czxid = czxid;
        if standing.node != "lock" {
            standing.node = format!("n_{czxid:010}");
        }
    }

    /// Grants the lead, makes ZooKeeper agree, and writes once.
    pub(crate) fn lead(&mut self, group: u32, host: u16, at: u64) {
        self.believe(group, host, at);
        self.own(group, host, at);
        self.write(group, host, at + 2);
    }

    /// Adds only the belief.
    pub(crate) fn believe(&mut self, group: u32, host: u16, at: u64) {
        let cand = self.cand(group, host);
        if self.info.recipe.starts_with("lock") {
            self.fresh += 1;
            let czxid = self.fresh;
            self.standing.get_mut(&cand).unwrap().czxid = czxid;
        }
        let standing = self.standing.get_mut(&cand).unwrap();
        standing.term += 1;
        let CurrentIncarnation { session, node, czxid, term } = standing.clone();
        self.host(host).extend([
            Event::Grant { t: ms(at), cand, session, term, czxid, node },
            Event::Granted { t: ms(at) + 10_000, cand, session, term },
        ]);
        self.leaders.insert(group, cand);
    }

    /// Adds only the observer's report of this owner.
    pub(crate) fn own(&mut self, group: u32, host: u16, at: u64) {
        let CurrentIncarnation { session, node, czxid, .. } = self.standing[&self.cand(group, host)].clone();
        let (session, node, czxid) = (Some(session), Some(node), Some(czxid));
        self.observer.push(Event::Owner(Box::new(LeadOwner {
            from: ms(at) - 1_000,
            to: ms(at),
            group,
            session,
            node,
            czxid,
        })));
    }

    /// `at` is r⁻; r⁺ is 10 µs later.
    pub(crate) fn revoke(&mut self, group: u32, host: u16, at: u64, reason: RevokeReason) {
        let cand = self.cand(group, host);
        let CurrentIncarnation { session, term, .. } = self.standing[&cand].clone();
        let (from, to) = (ms(at), ms(at) + 10_000);
        self.host(host).push(Event::Revoke { from, to, cand, session, term, reason });
        if self.leaders.get(&group) == Some(&cand) {
            self.leaders.remove(&group);
        }
    }

    /// The client of a session loses its connection, and has one again.
    pub(crate) fn reconnects(&mut self, host: u16, session: i64, (lost, back): (u64, u64)) {
        for (at, state) in [(lost, SessionState::Disconnected), (back, SessionState::Connected)] {
            self.host(host).push(Event::State { t: ms(at), session, state });
        }
    }

    pub(crate) fn notify(&mut self, group: u32, host: u16, node: &str, at: u64) {
        self.tell(group, host, node, at, WatchEvent::Deleted, 2);
    }

    /// Notifies the candidate of this event about a znode; it then sends this many requests.
    pub(crate) fn tell(&mut self, group: u32, host: u16, node: &str, at: u64, kind: WatchEvent, requests: u32) {
        let (cand, session) = (self.cand(group, host), self.session(group, host));
        let node = node.to_owned();
        self.host(host).push(Event::Notified { t: ms(at), cand, session, node, kind });
        self.host(host).push(Event::Settled { t: ms(at) + 500_000, cand, session, requests });
    }

    pub(crate) fn left(&mut self, group: u32, host: u16, at: u64, how: Departure) {
        let (cand, session) = (self.cand(group, host), self.session(group, host));
        self.host(host).push(Event::Left { t: ms(at), cand, session, how });
    }

    pub(crate) fn write(&mut self, group: u32, host: u16, at: u64) {
        let cand = self.cand(group, host);
        let CurrentIncarnation { session, czxid, .. } = self.standing[&cand].clone();
        self.coordinator.push(Event::Write {
            t: ms(at),
            sent: Some(ms(at) - 100_000),
            seq: 0,
            group,
            cand,
            host,
            czxid,
            session,
            unfenced_stale: false,
            fenced_rejected: false,
            fenced_stale: false,
        });
    }

    /// Injects a fault into the candidates of these groups on one host.
    pub(crate) fn fault(&mut self, kind: FaultKind, host: u16, groups: &[u32], at: u64, for_ms: Option<u64>) -> u32 {
        let cands = groups.iter().map(|&g| self.cand(g, host)).collect();
        let (t, id) = (ms(at), self.faults);
        self.faults += 1;
        let (intended, groups, hosts, detail) = (t, groups.to_vec(), vec![host], String::new());
        self.coordinator.push(Event::Fault(Box::new(FaultOrder {
            id,
            planned: None,
            kind,
            t,
            intended,
            for_ms,
            hosts,
            cands,
            groups,
            servers: vec![],
            detail,
        })));
        id
    }

    pub(crate) fn verification(
        &mut self,
        id: u32,
        stage: VerificationStage,
        at: u64,
        verified: bool,
        touches: Vec<Touch>,
    ) {
        let evidence = if verified { "seen" } else { "not seen" }.to_owned();
        let (from, to) = (ms(at), ms(at) + 100_000);
        let of = |e: &&Event| matches!(e, Event::Fault(fault) if fault.id == id);
        let fault = self.coordinator.iter().find(of).filter(|_| verified);
        let seen = fault.and_then(|fault| seen(fault, stage, self.info.servers, (from, to))).map(Box::new);
        self.coordinator.push(Event::Verification(Box::new(VerificationEvent {
            id,
            stage,
            from,
            to,
            verified,
            evidence,
            touches,
            seen,
        })));
    }

    pub(crate) fn injected(&mut self, id: u32, at: u64) {
        self.verification(id, VerificationStage::Injected, at, true, Vec::new());
    }

    pub(crate) fn healed(&mut self, id: u32, at: u64) {
        self.verification(id, VerificationStage::Healed, at, true, Vec::new());
    }

    /// A fault whose injection is verified at once.
    pub(crate) fn inject(&mut self, kind: FaultKind, host: u16, groups: &[u32], at: u64, for_ms: Option<u64>) -> u32 {
        let id = self.fault(kind, host, groups, at, for_ms);
        self.injected(id, at);
        id
    }

    /// A fault that is verified and healed, with its start and end.
    pub(crate) fn lasting(&mut self, kind: FaultKind, host: u16, groups: &[u32], (from, to): (u64, u64)) {
        let id = self.inject(kind, host, groups, from, Some(to - from));
        self.healed(id, to);
    }

    /// Kills a host: its beliefs end with it.
    pub(crate) fn kill(&mut self, host: u16, at: u64) {
        self.dead[usize::from(host)] = true;
        let status = "signal: 9".to_owned();
        let (t, killed, rss_max_kb) = (ms(at) + 50_000, true, 1);
        self.coordinator.push(Event::HostEnded { t, host, generation: 0, killed, status, rss_max_kb });
        self.leaders.retain(|_, cand| *cand % self.hosts.len() as u32 != u32::from(host));
    }

    /// The leader on host 0 resigns, host 1 follows within 5 ms: a whole planned handover.
    pub(crate) fn resign(&mut self, group: u32, at: u64) {
        self.inject(FaultKind::Resign, 0, &[group], at, None);
        let node = self.node(group, 0);
        self.revoke(group, 0, at + 1, RevokeReason::Resigned);
        self.left(group, 0, at + 4, Departure::Resigned { delete: Some((ms(at + 2), ms(at + 3))) });
        self.wake(group, &node, at + 3);
        self.lead(group, 1, at + 5);
        self.join(group, 0, at + 20);
    }

    /// Notifies the candidates that the recipe would wake, except host 0.
    pub(crate) fn wake(&mut self, group: u32, node: &str, at: u64) {
        let hosts = self.hosts.len() as u16;
        let woken = match self.info.recipe.as_str() {
            "naive" | "lock-race" => 1..hosts,
            "poll-race" => 1..1,
            _ => 1..2,
        };
        woken.for_each(|host| self.notify(group, host, node, at));
    }

    /// Host 0 is killed and leads no more; host 1 follows after the session's expiry. Detected `T − 500 + over` after
    /// the kill.
    pub(crate) fn crash(&mut self, at: u64, over: u64) {
        let groups: Vec<u32> = (0..self.info.groups.len() as u32).collect();
        let id = self.fault(FaultKind::Crash, 0, &groups, at, None);
        let touch = |g: &u32| Touch { session: self.session(*g, 0), last_up: ms(at - 500) };
        let touches = groups.iter().map(touch).collect();
        self.verification(id, VerificationStage::Injected, at, true, touches);
        let nodes: Vec<String> = groups.iter().map(|&g| self.node(g, 0)).collect();
        self.kill(0, at);
        for (group, node) in groups.into_iter().zip(nodes) {
            let detected = at - 500 + T + over;
            self.wake(group, &node, detected);
            self.lead(group, 1, detected + 2);
        }
    }

    pub(crate) fn record(mut self) -> Record {
        for (group, cand) in std::mem::take(&mut self.leaders) {
            let host = (cand % self.hosts.len() as u32) as u16;
            self.revoke(group, host, TEAR_DOWN + 100, RevokeReason::Resigned);
        }
        number_writes(&mut self.coordinator);
        self.ask_servers();
        let cell = Event::Cell { t: ms(500), info: Box::new(self.info.clone()) };
        let phases = [
            (Phase::Enrol, 900),
            (Phase::WarmUp, 5_000),
            (Phase::Measure, MEASURE),
            (Phase::Heal, 70_000),
            (Phase::Drain, 75_000),
            (Phase::TearDown, TEAR_DOWN),
            (Phase::End, END),
        ];
        let mut coordinator = vec![cell];
        coordinator.extend(phases.map(|(phase, t)| Event::Phase { t: ms(t), phase }));
        coordinator.append(&mut self.coordinator);
        let mut segments = vec![segment("coordinator", None, coordinator, !self.endless)];
        segments.push(segment("observer", None, std::mem::take(&mut self.observer), !self.endless));
        for (host, events) in self.hosts.into_iter().enumerate() {
            let alive = !self.dead[host] && !self.endless;
            segments.push(segment(&format!("host-{host}"), Some(host as u16), events, alive));
        }
        let cell = CellRecord { info: self.info, complete: self.complete, segments };
        Record { manifest: manifest(&cell), cells: vec![cell], notes: Vec::new(), changed: Vec::new() }
    }

    fn ask_servers(&mut self) {
        if self.servers_silent {
            return;
        }
        let told = |told: WatchEvent| {
            let of_kind = |e: &&Event| matches!(e, Event::Notified { kind, .. } if *kind == told);
            self.hosts.iter().flatten().filter(of_kind).count() as i64
        };
        let others = [
            ("changed", told(WatchEvent::DataChanged)),
            ("children", told(WatchEvent::ChildrenChanged)),
            ("created", told(WatchEvent::Created)),
        ];
        let fired = told(WatchEvent::Deleted);
        for (at, t, count) in
            [(WindowEdge::Begin, MEASURE, 7), (WindowEdge::End, TEAR_DOWN - 1, 7 + fired + self.servers_differ)]
        {
            let metric = |v: i64| BTreeMap::from([("sum_node_deleted_watch_count".to_owned(), v as f64)]);
            let mut metrics = BTreeMap::from([(1, metric(count)), (2, metric(3)), (3, metric(0))]);
            for of_server in metrics.values_mut() {
                of_server.extend(others.map(|(word, _)| (format!("sum_node_{word}_watch_count"), 5.0)));
            }
            if at == WindowEdge::End {
                let gained =
                    |(word, told): (&'static str, i64)| 5.0 + (told + self.differs_of.get(word).unwrap_or(&0)) as f64;
                let first = metrics.entry(1).or_default();
                first.extend(others.map(|of| (format!("sum_node_{}_watch_count", of.0), gained(of))));
            }
            for (server, (sum, n)) in &self.unavailable {
                let gained = |v: f64| if at == WindowEdge::End { 500.0 + v } else { 500.0 };
                let names = [("sum_unavailable_time", gained(*sum)), ("cnt_unavailable_time", gained(*n))];
                let of_server = metrics.entry(*server).or_default();
                of_server.extend(names.map(|(name, value)| (name.to_owned(), value)));
            }
            if let Some((ephemerals, watches)) = self.held {
                for (server, of_server) in &mut metrics {
                    let watches = if *server == 1 { watches } else { 0 };
                    let names = [("ephemerals_count", ephemerals), ("watch_count", watches)];
                    of_server.extend(names.map(|(name, value)| (name.to_owned(), value.into())));
                }
            }
            self.coordinator.push(Event::Servers { t: ms(t), at, metrics });
        }
    }

    pub(crate) fn summary(self) -> CellSummary {
        summarise(&self.record()).cells.remove(0)
    }

    /// The verdict of the named check on this cell.
    pub(crate) fn verdict(self, checker: &str) -> Verdict {
        check(&self.summary(), checker).verdict
    }
}

pub(crate) fn check<'a>(summary: &'a CellSummary, checker: &str) -> &'a CheckResult {
    summary.checks.iter().find(|c| c.name == checker).expect("a checker of this name")
}

fn segment(writer: &str, host: Option<u16>, mut events: Vec<Event>, ended: bool) -> SegmentRecord {
    let (writer, generation) = (writer.to_owned(), 0);
    let first = Event::Segment {
        schema: SCHEMA,
        t: ms(400),
        cell: 0,
        writer: writer.clone(),
        host,
        generation,
        pid: 1,
        clock_uncertainty_ns: 1_000,
    };
    events.insert(0, first);
    if ended {
        events.push(Event::End { t: ms(END) });
    }
    SegmentRecord { file: format!("events/{writer}"), writer, host, generation, events, torn: None }
}

/// Numbers the writes in order of time and judges them one by one by the definition.
fn number_writes(events: &mut Vec<Event>) {
    let time = |e: &Event| match e {
        Event::Write { t, .. } | Event::Fence { t, .. } => *t,
        _ => 0,
    };
    events.sort_by_key(time);
    // Of each earlier write: group, token, candidate, accepted by the fence.
    let mut earlier: Vec<(u32, (i64, i64), u32, bool)> = Vec::new();
    let mut fences: Vec<(u32, i64)> = Vec::new();
    for event in events {
        match event {
            Event::Fence { group, old_czxid, done: true, .. } => fences.push((*group, *old_czxid)),
            Event::Write {
                seq, group, cand, czxid, session, unfenced_stale, fenced_rejected, fenced_stale, ..
            } => {
                let token = (*czxid, *session);
                let is_known = Token { czxid: *czxid, session: *session }.is_ordered();
                let of_group = || earlier.iter().filter(|e| e.0 == *group);
                let stale_after = |e: &&(u32, (i64, i64), u32, bool)| {
                    e.1 > token || e.1.0 == token.0 && (e.1.1, e.2) != (token.1, *cand)
                };
                let fenced = fences.iter().any(|f| f.0 == *group && token.0 <= f.1);
                *unfenced_stale |= is_known && of_group().any(|e| stale_after(&e));
                *fenced_rejected |= is_known && (fenced || of_group().any(|e| e.1 > token));
                *fenced_stale |= is_known && !*fenced_rejected && of_group().filter(|e| e.3).any(|e| stale_after(&e));
                *seq += 50 + earlier.len() as u64;
                earlier.push((*group, token, *cand, !*fenced_rejected));
            }
            _ => {}
        }
    }
}

fn manifest(cell: &CellRecord) -> Manifest {
    let segment = |s: &SegmentRecord| SegmentEntry { file: s.writer.clone(), sealed: None, plain: None };
    let mut manifest = plain::manifest(cell.segments.iter().map(segment).collect());
    manifest.cells[0].complete = cell.complete;
    manifest
}
