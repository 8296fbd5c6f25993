//! Pauses as incidents: what comes within T of each other costs one failover, not several.

use hustings_record::Nanos;
use hustings_record::numbers::whole;

use super::pauses::{Pause, PauseLog};

const DAY_NS: Nanos = 86_400_000_000_000;
/// Between two pauses that are no further apart nobody gets to send anything: they are one. Logs tell times to the millisecond.
const GAP_NS: Nanos = 1_000_000;

/// Pauses of which one at most costs a failover.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Incident {
    /// Since the beginning of the log; None where the log tells no times.
    pub(super) day: Option<u64>,
    /// Their lengths.
    pub(super) pauses_ms: Vec<f64>,
}

/// The incidents among the pauses that are longer than `longer_than_ms`. An incident begins with a pause, and ends T after that one is
/// over: a process that stalls for hours has many.
pub(super) fn incidents(log: &PauseLog, timeout_ms: f64, longer_than_ms: f64) -> Vec<Incident> {
    let matters = |pause: &&Pause| pause.lasted as f64 / 1e6 > longer_than_ms;
    let ms = |pause: &Pause| pause.lasted as f64 / 1e6;
    let Some(timed) = timed(log) else {
        let alone = |pause: &Pause| Incident { day: None, pauses_ms: vec![ms(pause)] };
        return log.pauses.iter().filter(matters).map(alone).collect();
    };
    let mut found: Vec<(Incident, Nanos)> = Vec::new();
    for pause in joined(timed).iter().filter(matters) {
        let ended = pause.ended.unwrap_or_default();
        let began = ended.saturating_sub(pause.lasted);
        match found.last_mut() {
            Some((incident, until)) if began <= *until => incident.pauses_ms.push(ms(pause)),
            _ => {
                let until = ended.saturating_add(whole(timeout_ms * 1e6));
                found.push((Incident { day: Some(ended / DAY_NS), pauses_ms: vec![ms(pause)] }, until));
            }
        }
    }
    found.into_iter().map(|(incident, _)| incident).collect()
}

/// The pauses (end, length) in order of their ends; None where the log tells no times.
fn timed(log: &PauseLog) -> Option<Vec<(Nanos, Nanos)>> {
    let mut timed = log.pauses.iter().map(|p| Some((p.ended?, p.lasted))).collect::<Option<Vec<_>>>()?;
    timed.sort_unstable();
    Some(timed)
}

/// For how long the process was paused, by the pauses that are kept. What lies before the beginning of the log is not counted.
pub(super) fn paused_ns(log: &PauseLog) -> Nanos {
    let pauses = timed(log).map_or_else(|| log.pauses.clone(), joined);
    pauses.iter().fold(0, |sum: Nanos, pause| sum.saturating_add(pause.lasted))
}

/// Pauses (end, length) in order of their ends, those that follow on each other, or lie within each other, put together.
fn joined(timed: Vec<(Nanos, Nanos)>) -> Vec<Pause> {
    let mut joined: Vec<Pause> = Vec::with_capacity(timed.len());
    for (ended, lasted) in timed {
        let mut began = ended.saturating_sub(lasted);
        // One that ends later may have begun before several others.
        while let Some(last) = joined.last().and_then(|last| Some((last.ended?, last.lasted)))
            && began <= last.0.saturating_add(GAP_NS)
        {
            began = began.min(last.0.saturating_sub(last.1));
            joined.pop();
        }
        joined.push(Pause { ended: Some(ended), lasted: ended.saturating_sub(began) });
    }
    joined
}

/// How many days a log has, begun ones too.
pub(super) fn days(log: &PauseLog) -> Option<u64> {
    log.coverage.span.map(|span| span.div_ceil(DAY_NS).max(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tune::pauses::Coverage;

    /// A log of pauses (end, length), in milliseconds.
    fn log(pauses: &[(Option<u64>, u64)]) -> PauseLog {
        let pause = |(ended, lasted): &(Option<u64>, u64)| Pause {
            ended: ended.map(|ms| ms * 1_000_000),
            lasted: lasted * 1_000_000,
        };
        let pauses: Vec<Pause> = pauses.iter().map(pause).collect();
        let span = pauses.iter().filter_map(|pause| pause.ended).max();
        PauseLog { pauses, coverage: Coverage { span, ..Coverage::default() }, ..PauseLog::default() }
    }

    fn check(pauses: &[(Option<u64>, u64)], expected: &[(Option<u64>, &[f64])]) {
        let found = incidents(&log(pauses), 1_000.0, 100.0);
        let found: Vec<_> = found.iter().map(|incident| (incident.day, &incident.pauses_ms[..])).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn pauses_within_a_timeout_of_each_other_are_one_incident() {
        check(
            &[(Some(5_000), 900), (Some(6_500), 800), (Some(9_000), 700)],
            &[(Some(0), &[900.0, 800.0]), (Some(0), &[700.0])],
        );
    }

    #[test]
    fn a_process_that_stalls_for_long_has_more_than_one_incident() {
        let stalls: Vec<_> = (1..=60).map(|i| (Some(i * 1_000), 900)).collect();
        assert!(incidents(&log(&stalls), 1_000.0, 100.0).len() >= 20);
    }

    #[test]
    fn short_pauses_tie_no_incidents_together() {
        let mut all: Vec<_> = (1..=200).map(|i| (Some(i * 100), 5)).collect();
        all.extend([(Some(3_050), 500), (Some(15_050), 600)]);
        check(&all, &[(Some(0), &[500.0]), (Some(0), &[600.0])]);
    }

    #[test]
    fn pauses_that_follow_on_each_other_are_one_and_those_within_another_are_it() {
        check(&[(Some(2_000), 400), (Some(2_301), 300)], &[(Some(0), &[701.0])]);
        // A collection within a collection: the inner one ends first.
        check(
            &[(Some(1_900), 500), (Some(2_000), 800), (Some(86_401_000), 150)],
            &[(Some(0), &[800.0]), (Some(1), &[150.0])],
        );
    }

    #[test]
    fn time_is_paused_once_however_many_pauses_cover_it() {
        let timed = log(&[(Some(300), 500), (Some(1_900), 500), (Some(2_000), 800), (Some(5_000), 100)]);
        assert_eq!(paused_ns(&timed), (300 + 800 + 100) * 1_000_000, "what lies before the log is not of it");
        assert_eq!(paused_ns(&log(&[(None, 900), (None, 300)])), 1_200 * 1_000_000);
    }

    #[test]
    fn without_times_each_pause_is_alone() {
        check(&[(None, 900), (None, 50), (None, 300)], &[(None, &[900.0]), (None, &[300.0])]);
    }

    proptest! {
        #[test]
        fn joined_pauses_cover_the_same_time(all in prop::collection::vec((1_u64..2_000, 0_u64..60), 1..40)) {
            // Every millisecond that some pause covers is covered, and a gap of one is closed.
            let log = log(&all.iter().map(|(end, length)| (Some(*end), *length)).collect::<Vec<_>>());
            let timed = {
                let mut timed: Vec<_> = log.pauses.iter().map(|p| (p.ended.unwrap_or(0), p.lasted)).collect();
                timed.sort_unstable();
                timed
            };
            let covered = |pauses: &[(u64, u64)], at: u64| {
                pauses.iter().any(|(end, length)| end.saturating_sub(*length) <= at && at < *end)
            };
            let together: Vec<(u64, u64)> = joined(timed.clone()).iter().map(|p| (p.ended.unwrap_or(0), p.lasted)).collect();
            for at in (0..2_000).map(|ms| ms * 1_000_000) {
                if covered(&timed, at) {
                    prop_assert!(covered(&together, at));
                }
            }
            prop_assert!(together.windows(2).all(|pair| pair[0].0 + GAP_NS < pair[1].0 - pair[1].1));
        }
    }
}
