//! A record of a chosen size on disk, as a run leaves it: sealed segments and a manifest. Leaders resign in turn and
//! write in between; nothing goes wrong.

use std::collections::BTreeMap;
use std::path::Path;

use hustings_record::*;

const MS: Nanos = 1_000_000;
const MEASURE: Nanos = 5_000 * MS;
/// From one resignation of a group to the next.
const ROUND: Nanos = 2_000 * MS;

/// Records of more events than these take memory and minutes that not everybody has.
const EVENTS_MAX_VARIABLE: &str = "HUSTINGS_BENCH_EVENTS_MAX";
const EVENTS_MAX: u64 = 1_000_000;
const HOSTS: u16 = 5;
const WRITES: u32 = 8;
/// Events of one resignation with the writes of the next term; those at the beginning and the end of a group are few
/// beside them.
const EVENTS_PER_ROUND: u64 = 14 + WRITES as u64;

/// How large the record is to be.
pub(crate) struct Size {
    pub(crate) groups: u32,
    pub(crate) hosts: u16,
    /// Resignations of every group's leader.
    pub(crate) rounds: u32,
    /// Writes of every leader in between.
    pub(crate) writes: u32,
}

impl Size {
    /// About so many events: as many groups as resignations in each of them, so that neither what grows with the square
    /// of the one nor of the other hides.
    pub(crate) fn of_events(events: u64) -> Self {
        let side = (events / EVENTS_PER_ROUND).isqrt() as u32;
        Self { groups: side, hosts: HOSTS, rounds: side, writes: WRITES }
    }

    /// A leader writes until the next round.
    fn work_interval(&self) -> Nanos {
        ROUND / Nanos::from(self.writes)
    }

    /// How many there are exactly.
    pub(crate) fn events(&self) -> u64 {
        let (hosts, writes) = (u64::from(self.hosts), u64::from(self.writes));
        let of_group = 6 * hosts + 4 + writes + u64::from(self.rounds) * (14 + writes);
        14 + 2 * hosts + u64::from(self.groups) * of_group
    }
}

/// Numbers of events: 10⁴, 10⁵ … up to the most that is asked for. A build for tests only shows that it can be
/// measured.
pub(crate) fn sizes() -> impl Iterator<Item = u64> {
    let most = events_max();
    (4..).map(|power| 10_u64.pow(power)).take_while(move |events| *events <= most)
}

/// The most events that are asked for.
pub(crate) fn events_max() -> u64 {
    let asked = std::env::var(EVENTS_MAX_VARIABLE).ok().filter(|asked| !asked.is_empty());
    match asked.map(|asked| (asked.parse().ok(), asked)) {
        None if cfg!(debug_assertions) => 10_000,
        None => EVENTS_MAX,
        Some((Some(most), _)) => most,
        Some((None, asked)) => {
            panic!("{EVENTS_MAX_VARIABLE} is {asked:?}: give a number, as 10000000, or leave it out")
        }
    }
}

struct Writers {
    coordinator: SegmentWriter,
    observer: SegmentWriter,
    hosts: Vec<SegmentWriter>,
    events: u64,
    seq: u64,
    fault: u32,
}

#[derive(Clone, Copy)]
struct SyntheticIncarnation {
    session: i64,
    czxid: i64,
    term: u32,
}

/// Writes the record into `folder`.
pub(crate) fn write(folder: &Path, size: &Size) -> std::io::Result<()> {
    let events = folder.join("events/cell");
    std::fs::create_dir_all(&events)?;
    let mut names = vec!["coordinator".to_owned(), "observer".to_owned()];
    names.extend((0..size.hosts).map(|host| format!("host-{host:03}.0")));
    let path = |name: &str| events.join(format!("{name}.{SEGMENT_ENDING}"));
    let create = |name: &String| SegmentWriter::create(&path(name));
    let mut writers = Writers {
        coordinator: create(&names[0])?,
        observer: create(&names[1])?,
        hosts: names[2..].iter().map(create).collect::<Result<_, _>>()?,
        events: 0,
        seq: 0,
        fault: 0,
    };
    fill(&mut writers, size, &names)?;
    assert_eq!(writers.events, size.events(), "the record is as large as it says");
    drop(writers);
    let mut segments = Vec::new();
    for name in &names {
        let SealedSegment { bytes, crc, plain, .. } = seal_segment(&path(name))?;
        segments.push(SegmentEntry {
            file: format!("cell/{name}.{SEALED_ENDING}"),
            sealed: Some((bytes, crc)),
            plain: Some(plain),
        });
    }
    std::fs::write(folder.join(MANIFEST_FILE), serde_json::to_vec(&manifest(segments))?)
}

impl Writers {
    fn of(&mut self, host: u16) -> &mut SegmentWriter {
        self.events += 1;
        &mut self.hosts[usize::from(host)]
    }

    fn coordinator(&mut self) -> &mut SegmentWriter {
        self.events += 1;
        &mut self.coordinator
    }
}

fn fill(w: &mut Writers, size: &Size, names: &[String]) -> std::io::Result<()> {
    let end = MEASURE + ROUND * Nanos::from(size.rounds + 1);
    begin(w, size, names)?;
    let mut czxid = 0;
    let mut stands: Vec<Vec<SyntheticIncarnation>> = Vec::new();
    for group in 0..size.groups {
        let mut of_group = Vec::new();
        for host in 0..size.hosts {
            let cand = group * u32::from(size.hosts) + u32::from(host);
            w.of(host).push(&Event::Candidate { t: 1_000 * MS, cand, group })?;
            of_group.push(join(w, cand, host, &mut czxid, 2_000 * MS)?);
        }
        lead(w, size, group, 0, &mut of_group, 3_000 * MS)?;
        stands.push(of_group);
    }
    for round in 0..size.rounds {
        for group in 0..size.groups {
            let at = MEASURE + ROUND * Nanos::from(round) + Nanos::from(group) * (ROUND / 2) / Nanos::from(size.groups);
            resign(w, size, (group, round), &mut stands[group as usize], &mut czxid, at)?;
        }
    }
    for group in 0..size.groups {
        let host = (size.rounds % u32::from(size.hosts)) as u16;
        let cand = group * u32::from(size.hosts) + u32::from(host);
        // Within the tear-down: until then every group is led.
        revoke(w, cand, host, stands[group as usize][usize::from(host)], end + 45 * MS)?;
    }
    finish(w, size, end)
}

fn begin(w: &mut Writers, size: &Size, names: &[String]) -> std::io::Result<()> {
    for (place, name) in names.iter().enumerate() {
        let host = place.checked_sub(2).map(|host| host as u16);
        let (writer, t) = (name.clone(), 400 * MS);
        let segment = Event::Segment {
            schema: SCHEMA,
            t,
            cell: 0,
            writer,
            host,
            generation: 0,
            pid: 1,
            clock_uncertainty_ns: 1_000,
        };
        match place {
            0 => w.coordinator.push(&segment)?,
            1 => w.observer.push(&segment)?,
            _ => w.hosts[place - 2].push(&segment)?,
        }
    }
    w.events += names.len() as u64 + 1;
    w.coordinator.push(&Event::Cell { t: 500 * MS, info: Box::new(info(size)) })?;
    for (phase, t) in [(Phase::Enrol, 900 * MS), (Phase::WarmUp, 4_000 * MS), (Phase::Measure, MEASURE)] {
        w.coordinator().push(&Event::Phase { t, phase })?;
    }
    servers(w, WindowEdge::Begin, MEASURE, 0.0)
}

fn finish(w: &mut Writers, size: &Size, end: Nanos) -> std::io::Result<()> {
    let phases = [(Phase::Heal, 50), (Phase::Drain, 40), (Phase::TearDown, 10), (Phase::End, 0)];
    for (phase, before) in phases {
        w.coordinator().push(&Event::Phase { t: end + 50 * MS - before * MS, phase })?;
    }
    servers(w, WindowEdge::End, end + 30 * MS, f64::from(size.rounds) * f64::from(size.groups))?;
    let t = end + 60 * MS;
    w.events += 2 + w.hosts.len() as u64;
    for writer in w.hosts.iter_mut().chain([&mut w.coordinator, &mut w.observer]) {
        writer.push(&Event::End { t })?;
        writer.flush()?;
    }
    Ok(())
}

fn servers(w: &mut Writers, at: WindowEdge, t: Nanos, fired: f64) -> std::io::Result<()> {
    let metrics = [(1, BTreeMap::from([("sum_node_deleted_watch_count".to_owned(), fired)]))].into();
    w.coordinator().push(&Event::Servers { t, at, metrics })
}

fn join(w: &mut Writers, cand: u32, host: u16, czxid: &mut i64, t: Nanos) -> std::io::Result<SyntheticIncarnation> {
    *czxid += 1;
    let (session, node) = (1 << 40 | *czxid, Some(format!("n_{czxid:010}")));
    let state = SessionState::Connected;
    w.of(host).push(&Event::Session { t, session, timeout_ms: 4_000, asked_ms: 4_000, connect_ns: 5 * MS })?;
    w.of(host).push(&Event::State { t, session, state })?;
    w.of(host).push(&Event::Incarnation { t, cand, session })?;
    w.of(host).push(&Event::Joined { t, cand, session, node, czxid: Some(*czxid) })?;
    w.of(host).push(&Event::Settled { t: t + MS, cand, session, requests: 2 })?;
    Ok(SyntheticIncarnation { session, czxid: *czxid, term: 0 })
}

fn lead(
    w: &mut Writers,
    size: &Size,
    group: u32,
    host: u16,
    stands: &mut [SyntheticIncarnation],
    t: Nanos,
) -> std::io::Result<()> {
    let cand = group * u32::from(size.hosts) + u32::from(host);
    let me = &mut stands[usize::from(host)];
    me.term += 1;
    let SyntheticIncarnation { session, czxid, term } = *me;
    let node = format!("n_{czxid:010}");
    w.of(host).push(&Event::Grant { t, cand, session, term, czxid, node: node.clone() })?;
    w.of(host).push(&Event::Granted { t: t + 10_000, cand, session, term })?;
    w.events += 1;
    let (session_told, czxid_told) = (Some(session), Some(czxid));
    let owner = Event::Owner(Box::new(LeadOwner {
        from: t - MS,
        to: t,
        group,
        session: session_told,
        node: Some(node),
        czxid: czxid_told,
    }));
    w.observer.push(&owner)?;
    for write in 0..size.writes {
        let (t, seq) = (t + MS + Nanos::from(write) * size.work_interval(), w.seq);
        w.seq += 1;
        let (unfenced_stale, fenced_rejected, fenced_stale) = (false, false, false);
        w.coordinator().push(&Event::Write {
            t,
            sent: Some(t - MS / 2),
            seq,
            group,
            cand,
            host,
            czxid,
            session,
            unfenced_stale,
            fenced_rejected,
            fenced_stale,
        })?;
    }
    Ok(())
}

fn revoke(w: &mut Writers, cand: u32, host: u16, stands: SyntheticIncarnation, t: Nanos) -> std::io::Result<()> {
    let SyntheticIncarnation { session, term, .. } = stands;
    w.of(host).push(&Event::Revoke { from: t, to: t + 10_000, cand, session, term, reason: RevokeReason::Resigned })
}

/// The leader of the round resigns, the next host's candidate follows, and the former one stands again.
fn resign(
    w: &mut Writers,
    size: &Size,
    (group, round): (u32, u32),
    stands: &mut [SyntheticIncarnation],
    czxid: &mut i64,
    at: Nanos,
) -> std::io::Result<()> {
    let hosts = u32::from(size.hosts);
    let (host, next) = ((round % hosts) as u16, ((round + 1) % hosts) as u16);
    let (cand, heir) = (group * hosts + u32::from(host), group * hosts + u32::from(next));
    let (id, old) = (w.fault, stands[usize::from(host)]);
    w.fault += 1;
    w.coordinator().push(&Event::Fault(Box::new(FaultOrder {
        id,
        planned: None,
        kind: FaultKind::Resign,
        t: at,
        intended: at,
        for_ms: None,
        hosts: vec![host],
        cands: vec![cand],
        groups: vec![group],
        servers: Vec::new(),
        detail: String::new(),
    })))?;
    revoke(w, cand, host, old, at + MS)?;
    let how = Departure::Resigned { delete: Some((at + 2 * MS, at + 3 * MS)) };
    w.of(host).push(&Event::Left { t: at + 4 * MS, cand, session: old.session, how })?;
    let (session, node) = (stands[usize::from(next)].session, format!("n_{:010}", old.czxid));
    w.of(next).push(&Event::Notified { t: at + 3 * MS, cand: heir, session, node, kind: WatchEvent::Deleted })?;
    w.of(next).push(&Event::Settled { t: at + 4 * MS, cand: heir, session, requests: 2 })?;
    let (from, to, evidence) = (at + 2 * MS, at + 3 * MS, "the deletion of its znode was answered".to_owned());
    let stage = VerificationStage::Injected;
    w.coordinator().push(&Event::Verification(Box::new(VerificationEvent {
        id,
        stage,
        from,
        to,
        verified: true,
        evidence,
        touches: Vec::new(),
        seen: None,
    })))?;
    lead(w, size, group, next, stands, at + 5 * MS)?;
    stands[usize::from(host)] = join(w, cand, host, czxid, at + 20 * MS)?;
    Ok(())
}

fn info(size: &Size) -> CellInfo {
    CellInfo {
        index: 0,
        name: "cell".into(),
        repetition: None,
        contest: None,
        recipe: "predecessor-watch".into(),
        declared: None,
        step_down: Some(StepDown::OnDisconnect),
        fault: "resign".into(),
        fault_kind: FaultKind::Resign,
        groups: (0..size.groups).map(|group| format!("g{group:05}")).collect(),
        hosts: (0..size.hosts).map(|host| format!("h{host}")).collect(),
        candidates_per_group: size.hosts.into(),
        timeout_asked_ms: 4_000,
        tick_ms: 500,
        servers: 1,
        own_servers: true,
        sessions: SessionUse::PerCandidate,
        links: LinkUse::Direct,
        fencing: Fencing::Fenced,
        work_interval_ms: size.work_interval() / MS,
        expect: Expect::default(),
        self_test: false,
        must_show: Vec::new(),
        fencing_method: FencingMethod::Resource,
        poll_interval_ms: 200,
        rejoin_after_ms: None,
        init_limit: None,
        sync_limit: None,
        parameters: BTreeMap::new(),
    }
}

fn manifest(segments: Vec<SegmentEntry>) -> Manifest {
    Manifest {
        schema: SCHEMA,
        run: "bench".into(),
        state: RunState::Completed,
        scenario: "bench".into(),
        summary: "A record of a chosen size.".into(),
        analysis: String::new(),
        seed: 1,
        started_utc: "2026-01-01T00:00:00Z".into(),
        ended_utc: None,
        folder: String::new(),
        command: "cargo bench".into(),
        ensemble_kind: EnsembleKind::Simulated,
        ensemble: "none".into(),
        ensemble_version: String::new(),
        versions: BTreeMap::new(),
        machine: Machine::default(),
        cells_planned: 1,
        files: BTreeMap::new(),
        cells: vec![CellEntry { index: 0, name: "cell".into(), complete: true, segments }],
        warnings: Vec::new(),
    }
}
