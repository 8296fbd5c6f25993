//! Compares overlaps in whole records with the definition, pair by pair and moment by moment.

use crate::*;
use proptest::prelude::*;

/// A term of one host: beginning and length, in seconds from 20 s on.
type Belief = (u16, u64, u64);

/// Host, beginning and length of a stop.
type Stop = (u16, u64, u64);

fn cell(beliefs: &[Belief], stops: &[Stop]) -> Cell {
    let mut cell = Cell::new("naive", 1, 3, FaultKind::Pause);
    cell.revoke(0, 0, 19_000, RevokeReason::Resigned);
    for &(host, from, long) in beliefs {
        cell.believe(0, host, 20_000 + from * 1_000);
        cell.revoke(0, host, 20_000 + (from + long) * 1_000, RevokeReason::SteppedDown);
    }
    for &(host, from, long) in stops {
        let id = cell.inject(FaultKind::Pause, host, &[0], 20_000 + from * 1_000, Some(long * 1_000));
        cell.healed(id, 20_000 + (from + long) * 1_000);
    }
    cell
}

/// Whether two hosts both believe, and both run, in the middle of some second.
fn both_lead(beliefs: &[Belief], stops: &[Stop]) -> bool {
    let covers = |from: u64, long: u64, second: u64| from <= second && second < from + long;
    (0..60).any(|second| {
        let runs = |host: u16| !stops.iter().any(|s| s.0 == host && covers(s.1, s.2, second));
        let leads = |host: u16| beliefs.iter().any(|b| b.0 == host && covers(b.1, b.2, second));
        (0..3).filter(|&host| runs(host) && leads(host)).count() > 1
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_split_brain_is_found_exactly_where_two_ran_and_believed(
        beliefs in prop::collection::vec((0_u16..3, 0_u64..40, 1_u64..12), 1..12),
        stops in prop::collection::vec((0_u16..3, 0_u64..40, 1_u64..12), 0..4),
    ) {
        // One host's terms must not overlap: two at once would be the same candidate twice.
        let mut apart: Vec<Belief> = Vec::new();
        for belief in beliefs {
            if apart.iter().all(|b| b.0 != belief.0 || b.1 + b.2 < belief.1 || belief.1 + belief.2 < b.1) {
                apart.push(belief);
            }
        }
        apart.sort_by_key(|b| b.1);
        let summary = cell(&apart, &stops).summary();
        prop_assert_eq!(summary.split_brain.active.seen > 0, both_lead(&apart, &stops));
        let verdict = check(&summary, "split-brain").verdict;
        prop_assert_eq!(verdict == Verdict::Fail, both_lead(&apart, &stops));
    }
}

#[test]
fn the_total_is_the_sum_of_what_each_grant_added() {
    let summary = cell(&[(0, 0, 10), (1, 4, 4), (2, 9, 3)], &[]).summary();
    // 4 s of host 1 beside host 0, then 1 s of host 2 beside host 0; each less the grant's 10 µs and ε.
    let less = 10_000 + 1_000;
    assert_eq!(summary.split_brain.active.seen, 2);
    assert_eq!(summary.split_brain.active_total_ns, ms(5_000) - 2 * less);
    assert_eq!(summary.split_brain.active_max_ns, ms(4_000) - less);
}
