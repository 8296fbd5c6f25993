//! Random schedules from one seed, within what ZooKeeper and a network may do: numbers of candidates and servers,
//! faults on them, lost and late messages, lagging servers, and service times. Also the reduction of a schedule to a
//! smallest one with the same effect.

use hustings_record::Direction;
use hustings_record::numbers::to_u16;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;

use super::patterns::{SLOWEST_PER_T, lasting_ms, pattern, server_fault_action};
use super::run::Simulation;
use super::timing::Timing;
use crate::model::Bugs;
use crate::scenario::Cell;
use crate::schedule::{Action, LEADER, ScheduledRequest, Step, StepTrigger};
use crate::seed;

/// The most random steps of a schedule. Handovers and the steps of a pattern come in addition.
const STEPS_MAX: usize = 8;
/// The most additional steps that only hand over the lead.
const HANDOVERS_MAX: usize = 8;
/// Faults begin within this many session timeouts.
const WINDOW_T: u64 = 6;
/// Relative weights of the group sizes, from one candidate on.
const SIZES: [u32; 7] = [6, 14, 26, 16, 22, 8, 8];
/// A server that is cut off from the others goes on answering its clients for `syncLimit`. If that is longer than T, no
/// recipe is safe; here it is at most T divided by this.
const SYNC_LIMIT_PER_T: u64 = 2;
/// Servers under faults are watched as closely as in runs.
const WATCH_MS: u64 = 20;

const KINDS: [ScheduledRequest; 7] = [
    ScheduledRequest::Create,
    ScheduledRequest::Children,
    ScheduledRequest::Exists,
    ScheduledRequest::Get,
    ScheduledRequest::Delete,
    ScheduledRequest::Set,
    ScheduledRequest::Any,
];

/// The simulation of a seed: this cell with its own size, schedule and service times. `only`: no steps except these, by
/// index.
#[must_use]
pub fn chaos(cell: &Cell, bugs: Bugs, seed: u64, only: Option<&[usize]>) -> Simulation {
    // The cell's name is not part of the seed: every recipe gets the same schedules.
    let mut rng = seed::rng(seed, "", "chaos");
    let mut cell = sized(cell, &mut rng);
    let count = rng.random_range(1..=STEPS_MAX);
    let mut steps: Vec<Step> = (0..count).map(|_| step(&cell, &mut rng)).collect();
    steps.extend(handovers(&cell, &mut rng));
    steps.extend(pattern(&cell, &mut rng));
    let harms = |step: &Step| matches!(step.action, Action::Server { .. } | Action::RestartServers { .. });
    cell.watch_ms = steps.iter().any(harms).then_some(WATCH_MS);
    let timing = timing(&mut rng);
    let chosen = match only {
        None => steps,
        Some(only) => only.iter().filter_map(|place| steps.get(*place).copied()).collect(),
    };
    Simulation { cell, seed, timing, bugs, schedule: Some(chosen) }
}

/// The cell with one to seven candidates, one host each, on three or five servers.
fn sized(cell: &Cell, rng: &mut ChaCha8Rng) -> Cell {
    let mut cell = cell.clone();
    let mut lot = rng.random_range(0..SIZES.iter().sum());
    let drawn = SIZES.iter().position(|weight| {
        let here = lot < *weight;
        lot = lot.saturating_sub(*weight);
        here
    });
    cell.hosts = drawn.map_or(1, |place| to_u16(place) + 1);
    cell.candidates_per_group = u32::from(cell.hosts);
    cell.host_names = (0..cell.hosts).map(|host| format!("h{host}")).collect();
    cell.servers = if rng.random_bool(0.3) { 5 } else { 3 };
    let ticks = cell.timeout_granted_ms() / SYNC_LIMIT_PER_T / cell.tick_ms.max(1);
    let limit = cell.sync_limit_ms().min(ticks.max(1) * cell.tick_ms) / cell.tick_ms.max(1);
    cell.sync_limit = Some(u32::try_from(limit).unwrap_or(u32::MAX));
    cell
}

/// Leaders that resign or lose the lead, one after the other.
fn handovers(cell: &Cell, rng: &mut ChaCha8Rng) -> Vec<Step> {
    let t_ms = cell.timeout_granted_ms();
    let one = |rng: &mut ChaCha8Rng| {
        let action = if rng.random_bool(0.7) { Action::Resign(LEADER) } else { Action::Expire(LEADER) };
        Step { when: StepTrigger::At(rng.random_range(0..WINDOW_T * t_ms)), action }
    };
    (0..rng.random_range(0..=HANDOVERS_MAX)).map(|_| one(rng)).collect()
}

fn step(cell: &Cell, rng: &mut ChaCha8Rng) -> Step {
    let t_ms = cell.timeout_granted_ms();
    let cands = u32::try_from(cell.candidates()).unwrap_or(u32::MAX).max(1);
    let someone = |rng: &mut ChaCha8Rng| rng.random_range(0..cands);
    let cand = someone(rng);
    let other = if rng.random_bool(0.4) { LEADER } else { someone(rng) };
    match rng.random_range(0..25) {
        0..=11 => Step { when: StepTrigger::At(rng.random_range(0..WINDOW_T * t_ms)), action: fault(other, t_ms, rng) },
        12..=16 => {
            let from_start = rng.random_bool(0.3);
            let after_ms = (!from_start).then(|| rng.random_range(0..WINDOW_T * t_ms));
            let kind = KINDS.choose(rng).copied().unwrap_or(ScheduledRequest::Any);
            let when = StepTrigger::Sent { cand, kind, part: "", nth: rng.random_range(1..=3), after_ms };
            let action = if rng.random_bool(0.6) { of_request(t_ms, rng) } else { fault(other, t_ms, rng) };
            Step { when, action }
        }
        17..=18 => {
            let when = StepTrigger::Leads { cand, nth: rng.random_range(1..=2) };
            Step { when, action: fault(cand, t_ms, rng) }
        }
        19..=20 => {
            // A process is stopped in the middle of an action: while enrolling, or taking the lead.
            let kind = KINDS.choose(rng).copied().unwrap_or(ScheduledRequest::Any);
            let when = StepTrigger::Sent {
                cand,
                kind,
                part: "",
                nth: 1,
                after_ms: Some(rng.random_range(0..WINDOW_T * t_ms)),
            };
            Step { when, action: Action::Pause { cand, for_ms: lasting_ms(t_ms, rng) } }
        }
        21..=22 => {
            let when = StepTrigger::At(rng.random_range(0..WINDOW_T * t_ms));
            Step { when, action: server_fault_action(cell, lasting_ms(t_ms, rng), rng) }
        }
        23 => Step { when: StepTrigger::At(rng.random_range(0..WINDOW_T * t_ms)), action: Action::DeleteParent },
        _ => {
            // The counter of sequential znodes reaches its end while the candidates join, or when they enrol again.
            let first = StepTrigger::Sent { cand: 0, kind: ScheduledRequest::Create, part: "", nth: 1, after_ms: None };
            let left = i32::try_from(rng.random_range(0..3 * cands)).unwrap_or(0);
            Step { when: first, action: Action::CountFrom(i32::MAX - left) }
        }
    }
}

fn of_request(t_ms: u64, rng: &mut ChaCha8Rng) -> Action {
    match rng.random_range(0..4) {
        0 => Action::LoseReply,
        1 => Action::LoseRequest,
        // A longer delay is a slow link, which the record would have to contain.
        2 => Action::DelayRequest(rng.random_range(1..t_ms / 6)),
        _ => Action::DelayReply(rng.random_range(1..t_ms / 6)),
    }
}

fn fault(cand: u32, t_ms: u64, rng: &mut ChaCha8Rng) -> Action {
    let for_ms = lasting_ms(t_ms, rng);
    match rng.random_range(0..18) {
        0..=2 => Action::Disconnect(cand),
        3..=5 => Action::Partition { cand, way: Direction::Both, for_ms },
        6 => Action::Partition { cand, way: Direction::Up, for_ms },
        7 => Action::Partition { cand, way: Direction::Down, for_ms },
        8..=9 => Action::Pause { cand, for_ms },
        10..=11 => Action::Crash { cand, for_ms: Some(for_ms) },
        12..=13 => Action::Resign(cand),
        14 => Action::Expire(cand),
        // Both last: together they leave a client enough time to get a session before it gives up.
        15 => Action::Lag { cand, by_ms: rng.random_range(1..t_ms / 8) },
        16 => Action::Slow { cand, by_ms: rng.random_range(1..t_ms / SLOWEST_PER_T) },
        _ => Action::SetClockBack { cand, by_ms: rng.random_range(1..3_600_000) },
    }
}

fn timing(rng: &mut ChaCha8Rng) -> Timing {
    let mut up_to = |most: u64| rng.random_range(1..=most);
    Timing {
        link_us: up_to(2_000),
        link_jitter_us: up_to(3_000),
        between_servers_us: up_to(2_000),
        commit_us: up_to(5_000),
        apply_us: up_to(500),
        notify_us: up_to(500),
        client_us: up_to(500),
        waking_us: up_to(20_000),
        ..Timing::default()
    }
}

/// A smallest schedule that still fails: steps are removed as long as it does.
#[must_use]
pub fn smallest<T: Clone>(steps: &[T], mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut kept = steps.to_vec();
    let mut place = 0;
    while place < kept.len() {
        let mut fewer = kept.clone();
        fewer.remove(place);
        if fails(&fewer) {
            kept = fewer;
            // A step that was necessary before may be removable now.
            place = 0;
        } else {
            place += 1;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::chaos;
    use crate::model::Bugs;
    use crate::scenario::{Cell, Scenario};
    use crate::schedule::{Action, LEADER, ServerOutageKind};

    fn cell() -> Cell {
        Scenario::parse("name = \"x\"\n[ensemble]\ntick_ms = 100\n[election]\nsession_timeout_ms = 1000\n", "x", &[])
            .expect("valid")
            .cells()
            .remove(0)
    }

    #[test]
    fn seeds_reach_every_size_of_group_and_ensemble_and_every_harm_of_servers() {
        let simulations = (0..500).map(|seed| chaos(&cell(), Bugs::default(), seed, None));
        let (mut sizes, mut servers, mut done) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for simulation in simulations {
            let cell = &simulation.cell;
            assert!(cell.sync_limit_ms() < cell.timeout_granted_ms(), "a server that is cut off is no server for long");
            sizes.insert(cell.candidates_per_group);
            servers.insert(cell.servers);
            for step in simulation.schedule.iter().flatten() {
                done.insert(match step.action {
                    Action::Server { outage: ServerOutageKind::Kill, .. } => "kill",
                    Action::Server { outage: ServerOutageKind::Pause, .. } => "pause",
                    Action::Server { outage: ServerOutageKind::Part, .. } => "part",
                    Action::RestartServers { .. } => "restart",
                    Action::Resign(LEADER) => "resign",
                    Action::Lag { .. } => "lag",
                    Action::DeleteParent => "delete parent",
                    _ => "",
                });
                let harms = matches!(step.action, Action::Server { .. } | Action::RestartServers { .. });
                assert!(!harms || cell.watch_ms.is_some(), "who harms servers watches them");
            }
        }
        assert_eq!(sizes, (1..=7).collect());
        assert_eq!(servers, [3, 5].into());
        assert_eq!(done, ["", "delete parent", "kill", "lag", "part", "pause", "resign", "restart"].into());
    }

    #[test]
    fn fewer_steps_leave_everything_else_as_it_is() {
        let (all, none) = (chaos(&cell(), Bugs::default(), 7, None), chaos(&cell(), Bugs::default(), 7, Some(&[])));
        assert_eq!((all.cell, all.timing), (none.cell, none.timing));
        assert_eq!(none.schedule, Some(Vec::new()));
    }
}
