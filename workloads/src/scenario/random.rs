//! Random scenarios: a few small cells under faults of any kind, drawn from the cells of a scenario and a seed.

use std::collections::BTreeMap;

use hustings_record::{DurationRule, FaultKind, SessionUse, TargetClass};
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use toml::{Table, Value};

use super::axis::{Axis, Coordinates};
use super::cell::Cell;
use super::expect::ExpectSpec;
use super::fault::FaultSpec;
use super::schema::{ElectionSpec, EnsembleSpec, Links, PhasesSpec, Scenario};
use super::validate::{self, STEP_MIN_MS};
use crate::faults::Moment;
use crate::seed;

/// Cells of a random scenario.
const CELLS: usize = 2;
/// At least one in this many draws is a scenario that can be run.
const DRAWS_MAX: u32 = 1_000;
/// A server that is cut off from the others goes on answering its clients for `syncLimit`. If that is longer than T, no
/// recipe is safe; here it is at most T divided by this.
const SYNC_LIMIT_PER_T: u64 = 2;
/// Links are slowed by less than T divided by this, so that an action of five requests does not fail by the link.
const SLOWEST_PER_T: u64 = 45;
/// Clocks jump by less than a day.
const STEP_DRAWN_MAX_MS: u64 = 86_400_000;
/// A shorter cut ends before it can be verified: that takes listening on a link through which nothing comes.
const CUT_MIN_MS: u64 = 250;

/// The capabilities of the place where random scenarios are run.
#[derive(Clone, Copy, Debug)]
pub struct RunCapabilities {
    /// The servers belong to the run: their number is free, and they can be hit.
    pub own_servers: bool,
    /// The links decode the traffic.
    pub reading_links: bool,
}

/// The scenario of a round of this seed. Recipe, step-down policy, timeout and tick come from one of the cells;
/// everything else is drawn. The same arguments give the same scenario, which is valid. A cell expected to be safe may
/// show violations that no recipe can exclude, and no others. An unsafe one need not show its violations each time.
/// `None` where no cell has candidates.
#[must_use]
pub fn random(base: &Scenario, cells: &[Cell], seed: u64, round: u64, possible: RunCapabilities) -> Option<Scenario> {
    let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.groups > 0 && !cell.self_test).collect();
    let mut rng = seed::rng(seed, &round.to_string(), "random scenario");
    let cell = *cells.choose(&mut rng)?;
    let mut draw = || scenario(base, cell, format!("chaos-{seed}-{round}"), possible, &mut rng);
    (0..DRAWS_MAX).find_map(|_| draw().filter(|drawn| validate::problems(drawn).is_empty()))
}

fn scenario(
    base: &Scenario,
    cell: &Cell,
    name: String,
    possible: RunCapabilities,
    rng: &mut ChaCha8Rng,
) -> Option<Scenario> {
    let servers = if possible.own_servers { [1, 3, 3, 3, 5].choose(rng).copied()? } else { cell.servers };
    let t_ms = cell.timeout_granted_ms();
    let sync_limit = u32::try_from((t_ms / SYNC_LIMIT_PER_T / cell.tick_ms.max(1)).max(1)).ok()?;
    let ensemble = EnsembleSpec {
        servers,
        tick_ms: cell.tick_ms,
        sync_limit: Some(sync_limit),
        warm_up_ms: 1_000,
        ..base.ensemble.clone()
    };
    let election = ElectionSpec {
        recipe: cell.recipe.clone(),
        step_down: cell.step_down,
        groups: rng.random_range(1..=8),
        hosts: rng.random_range(2..=5),
        candidates_per_group: rng.random_range(1..=7),
        session_timeout_ms: cell.session_timeout_ms,
        sessions: if rng.random_bool(0.8) { SessionUse::PerCandidate } else { SessionUse::PerHost },
        work_interval_ms: [20, 50, 200].choose(rng).copied()?,
        resource: cell.resource,
        fencing: cell.fencing,
        links: if rng.random_bool(0.5) { Links::Always } else { Links::Auto },
        poll_interval_ms: rng.random_range(50..=300),
        rejoin_after_ms: rng.random_range(0..=500),
        ..ElectionSpec::default()
    };
    let kinds: Vec<FaultKind> = FaultKind::ALL.iter().copied().filter(|kind| can(*kind, servers, possible)).collect();
    let mut faults = BTreeMap::new();
    let mut names = Vec::new();
    for place in 1..=CELLS {
        let kind = *kinds.choose(rng)?;
        let mut spec = fault(kind, &election, servers, t_ms, rng)?;
        let waits = kind.facts().waits_at_sync_point || spec.moment == Moment::Won;
        if waits || rng.random_bool(0.35) {
            let along = format!("{place}-along");
            let other = if waits { goes(&election) } else { fault(*kinds.choose(rng)?, &election, servers, t_ms, rng) };
            faults.insert(along.clone(), other?);
            spec.with = Some(along);
            spec.with_after_ms = Some(rng.random_range(0..if waits { t_ms / 4 } else { 2 * t_ms }));
        }
        let name = format!("{place}-{kind}");
        faults.insert(name.clone(), spec);
        names.push(name);
    }
    let expect = ExpectSpec {
        overlap: Some(cell.expect.overlap.at_random()),
        stale_writes: Some(cell.expect.stale_writes.at_random()),
        unplanned: Some(cell.expect.unplanned.at_random()),
        because: Some("faults that meet by chance; what no recipe can promise is excused".to_owned()),
        ..ExpectSpec::default()
    };
    Some(Scenario {
        name,
        summary: format!("{} {} under faults drawn at random", cell.recipe, cell.step_down),
        analysis: String::new(),
        seed: Some(rng.random_range(0..=u64::from(u32::MAX))),
        repeat: 1,
        further_rounds: 0,
        allow_broken: cell.recipe.is_broken(),
        ensemble,
        election,
        phases: PhasesSpec {
            drain_ms: 2 * t_ms + 2 * cell.tick_ms,
            drain_max_ms: 10_000 + 10 * t_ms,
            ..base.phases.clone()
        },
        foreign: base.foreign.clone(),
        faults,
        matrix: Coordinates { fault: Some(Axis(names)), ..Coordinates::default() },
        also: Vec::new(),
        self_test: None,
        expect: vec![expect],
    })
}

fn is_cut(kind: FaultKind) -> bool {
    kind.facts().cuts.is_some() || kind == FaultKind::ServerPartition
}

/// Whether faults of a kind can be drawn. A control shows nothing in a random scenario.
fn can(kind: FaultKind, servers: u32, possible: RunCapabilities) -> bool {
    let on_servers = possible.own_servers && (servers >= 3 || kind == FaultKind::ServerRestartAll);
    kind != FaultKind::None
        && (!kind.hits_servers() || on_servers)
        && (!kind.needs_reading_links() || possible.reading_links)
}

/// A fault of this kind with everything else drawn. It may be more than a cell allows.
fn fault(kind: FaultKind, election: &ElectionSpec, servers: u32, t_ms: u64, rng: &mut ChaCha8Rng) -> Option<FaultSpec> {
    let mut told = Table::from_iter([("kind".to_owned(), Value::from(kind.name()))]);
    let mut tell = |key: &str, value: Value| _ = told.insert(key.to_owned(), value);
    let facts = kind.facts();
    if facts.lasts != DurationRule::No {
        // From a short interruption to longer than any timeout.
        let ms = rng.random_range(t_ms / 20..t_ms * 5 / 2);
        tell("for_ms", whole(if is_cut(kind) { ms.max(CUT_MIN_MS) } else { ms }));
    }
    if kind == FaultKind::Slow {
        tell("latency_ms", whole(rng.random_range(1..(t_ms / SLOWEST_PER_T).max(2))));
    }
    if kind == FaultKind::ClockStep {
        let (by_ms, back) = (rng.random_range(STEP_MIN_MS..STEP_DRAWN_MAX_MS), rng.random_bool(0.5));
        let by_ms = by_ms.cast_signed();
        tell("step_ms", Value::from(if back { -by_ms } else { by_ms }));
    }
    let restart = kind == FaultKind::ServerRestartAll;
    if restart {
        tell("gap_ms", whole(rng.random_range(0..t_ms / 4)));
    }
    let target = rng.random_range(0..4);
    let mut in_groups = |target: &str, rng: &mut ChaCha8Rng| {
        tell("target", target.into());
        tell("groups", whole(rng.random_range(1..=election.groups).into()));
    };
    match facts.hits {
        TargetClass::Servers if !restart && target == 0 => {
            tell("target", "servers".into());
            tell("servers", Value::Array(vec![whole(rng.random_range(1..=servers).into())]));
        }
        TargetClass::Servers if !restart && target == 1 => tell("target", "ensemble-follower".into()),
        TargetClass::Candidates | TargetClass::Hosts if target == 0 => in_groups("leaders", rng),
        TargetClass::Candidates | TargetClass::Hosts if target == 1 => in_groups("followers", rng),
        TargetClass::Candidates | TargetClass::Hosts if target == 2 => {
            tell("target", "share".into());
            tell("share", (f64::from(rng.random_range(1..=20)) / 20.0).into());
        }
        TargetClass::Nobody | TargetClass::Candidates | TargetClass::Hosts | TargetClass::Servers => {}
    }
    let waits = facts.hits == TargetClass::Hosts && (facts.takes_out || facts.until_healed);
    if waits && rng.random_bool(0.15) {
        tell("moment", "won".into());
    }
    if kind.is_partition() && rng.random_bool(0.2) {
        tell("servers", Value::Array(vec![whole(rng.random_range(1..=servers).into())]));
    }
    tell("repeat", whole(rng.random_range(1..=2)));
    // Chance also allows faults on a majority, but not every time.
    tell("allow_majority", rng.random_bool(0.1).into());
    told.try_into().ok()
}

/// All leaders resign, so that sync points for a candidate that joins or wins are reached.
fn goes(election: &ElectionSpec) -> Option<FaultSpec> {
    let told = Table::from_iter([
        ("kind".to_owned(), Value::from(FaultKind::Resign.name())),
        ("groups".to_owned(), whole(election.groups.into())),
    ]);
    told.try_into().ok()
}

fn whole(number: u64) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}
