//! Random schedules: faults, lost and late messages, lagging servers, and service times, all from one seed, within what
//! ZooKeeper and a network may do. And the way back: the least of a schedule that still does what it did.

use hustings_record::Direction;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;

use super::patterns::{SLOWEST_PER_T, pattern};
use super::timing::Timing;
use crate::scenario::Cell;
use crate::schedule::{Action, Request, Step, When};
use crate::seed;

/// Steps of a schedule, at most.
const STEPS_MAX: usize = 6;
/// Faults strike within so many session timeouts.
const WINDOW_T: u64 = 4;

const KINDS: [Request; 7] =
    [Request::Create, Request::Children, Request::Exists, Request::Get, Request::Delete, Request::Set, Request::Any];

/// A schedule and service times for a cell.
#[must_use]
pub fn chaos(cell: &Cell, seed: u64) -> (Vec<Step>, Timing) {
    // Not by the cell's name: every recipe meets the same schedules.
    let mut rng = seed::rng(seed, "", "chaos");
    let count = rng.random_range(1..=STEPS_MAX);
    let mut steps: Vec<Step> = (0..count).map(|_| step(cell, &mut rng)).collect();
    steps.extend(pattern(cell, &mut rng));
    (steps, timing(&mut rng))
}

fn step(cell: &Cell, rng: &mut ChaCha8Rng) -> Step {
    let t_ms = cell.timeout_granted_ms();
    let cands = u32::try_from(cell.candidates()).unwrap_or(u32::MAX).max(1);
    let someone = |rng: &mut ChaCha8Rng| rng.random_range(0..cands);
    let (cand, other) = (someone(rng), someone(rng));
    match rng.random_range(0..20) {
        0..=11 => Step { when: When::At(rng.random_range(0..WINDOW_T * t_ms)), action: fault(other, t_ms, rng) },
        12..=16 => {
            let from_start = rng.random_bool(0.3);
            let after_ms = (!from_start).then(|| rng.random_range(0..WINDOW_T * t_ms));
            let kind = KINDS.choose(rng).copied().unwrap_or(Request::Any);
            let when = When::Sent { cand, kind, part: "", nth: rng.random_range(1..=3), after_ms };
            let action = if rng.random_bool(0.6) { of_request(t_ms, rng) } else { fault(other, t_ms, rng) };
            Step { when, action }
        }
        17..=18 => {
            let when = When::Leads { cand, nth: rng.random_range(1..=2) };
            Step { when, action: fault(cand, t_ms, rng) }
        }
        _ => {
            // The counter of sequential znodes comes to its end while they join, or when they stand again.
            let first = When::Sent { cand: 0, kind: Request::Create, part: "", nth: 1, after_ms: None };
            let left = i32::try_from(rng.random_range(0..3 * cands)).unwrap_or(0);
            Step { when: first, action: Action::CountFrom(i32::MAX - left) }
        }
    }
}

fn of_request(t_ms: u64, rng: &mut ChaCha8Rng) -> Action {
    match rng.random_range(0..4) {
        0 => Action::LoseReply,
        1 => Action::LoseRequest,
        2 => Action::DelayRequest(rng.random_range(1..t_ms)),
        _ => Action::DelayReply(rng.random_range(1..t_ms)),
    }
}

fn fault(cand: u32, t_ms: u64, rng: &mut ChaCha8Rng) -> Action {
    // From a hiccup to longer than anybody waits.
    let for_ms = rng.random_range(t_ms / 20..t_ms * 5 / 2);
    match rng.random_range(0..18) {
        0..=2 => Action::Disconnect(cand),
        3..=5 => Action::Partition { cand, way: Direction::Both, for_ms },
        6 => Action::Partition { cand, way: Direction::Up, for_ms },
        7 => Action::Partition { cand, way: Direction::Down, for_ms },
        8..=9 => Action::Pause { cand, for_ms },
        10..=11 => Action::Crash { cand, for_ms: Some(for_ms) },
        12..=13 => Action::Resign(cand),
        14 => Action::Expire(cand),
        // Both last: together they are no more than what a client can get a session over before it gives up.
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
        ..Timing::default()
    }
}

/// The least of a schedule that still fails: steps are left out as long as that changes nothing about it.
#[must_use]
pub fn smallest<T: Clone>(steps: &[T], mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut kept = steps.to_vec();
    let mut place = 0;
    while place < kept.len() {
        let mut fewer = kept.clone();
        fewer.remove(place);
        if fails(&fewer) {
            kept = fewer;
            // What could not be spared before may be now.
            place = 0;
        } else {
            place += 1;
        }
    }
    kept
}
