//! Load of the servers over time, thinned for a picture: no point is smaller than the samples that it stands for.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::excerpts::timelines::FaultBand;
use crate::index::Index;
use crate::stats::spans::Span;
use hustings_record::{Event, Nanos, ServerLoad};

/// Limit on the points of one server.
const POINTS_MAX: usize = 120;
/// Points more where the measured window begins and ends in the middle of others.
const POINTS_CUT_MAX: usize = 2;
const FAULTS_MAX: usize = 200;

/// The servers' load in the time between these two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    pub from: Nanos,
    pub to: Nanos,
    /// The part of it in the measured window: before that, candidates enrol.
    pub measured: (Nanos, Nanos),
    /// By server, in order of time.
    pub servers: BTreeMap<u32, Vec<LoadPoint>>,
    /// What was done to candidates, links and servers meanwhile, at most 200, each once, whomever it met.
    pub faults: Vec<FaultBand>,
}

impl Load {
    /// Whether a point is of the measured window.
    #[must_use]
    pub fn has_measured(&self, point: &LoadPoint) -> bool {
        lies_in(self.measured, point)
    }

    /// The median time from one point to the next: some are longer where answers are missing, some shorter at an edge of
    /// the measured window.
    #[must_use]
    pub fn spacing(&self) -> Nanos {
        let gaps = self.servers.values().flat_map(|points| points.windows(2).map(|pair| pair[1].t - pair[0].t));
        let mut gaps: Vec<Nanos> = gaps.collect();
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).copied().unwrap_or(0)
    }
}

/// A server's load at that time; where several answers are one point, the largest of each figure. What it does not count, and
/// what nobody can know before a second answer, is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPoint {
    pub t: Nanos,
    pub connections: Option<f64>,
    /// Requests that were taken in and not answered.
    pub outstanding: Option<f64>,
    pub watches: Option<f64>,
    /// Packets received a second since the answer before.
    pub received_per_s: Option<f64>,
}

fn lies_in(window: Span, point: &LoadPoint) -> bool {
    (window.0..=window.1).contains(&point.t)
}

/// Load that the servers reported. None: they reported none.
pub(crate) fn load(index: &Index<'_>) -> Option<Load> {
    let window = index.measured();
    let mut told: BTreeMap<u32, Vec<(Nanos, ServerLoad)>> = BTreeMap::new();
    for (_, event) in &index.few {
        if let Event::ServerLoad { t, server, load } = event {
            told.entry(*server).or_default().push((*t, **load));
        }
    }
    let servers: BTreeMap<u32, Vec<LoadPoint>> = told
        .into_iter()
        .map(|(server, mut answers)| {
            answers.sort_by_key(|answer| answer.0);
            (server, thinned(&points(&answers), window))
        })
        .collect();
    let times = || servers.values().flatten().map(|point| point.t);
    let (from, to) = (times().min()?, times().max()?);
    let measured = (window.0.clamp(from, to), window.1.clamp(from, to));
    Some(Load { from, to, measured, servers, faults: faults(index, (from, to)) })
}

fn points(answers: &[(Nanos, ServerLoad)]) -> Vec<LoadPoint> {
    let mut before: Option<(Nanos, f64)> = None;
    let point = |&(t, load): &(Nanos, ServerLoad)| {
        let rate = load.received.zip(before).and_then(|(now, (then, last))| {
            // A restarted server counts from zero again.
            (now >= last && t > then).then(|| (now - last) / ((t - then) as f64 / 1e9))
        });
        before = load.received.map(|now| (t, now)).or(before);
        LoadPoint {
            t,
            connections: load.connections,
            outstanding: load.outstanding,
            watches: load.watches,
            received_per_s: rate,
        }
    };
    answers.iter().map(point).collect()
}

/// The fewest points that keep to the limit, each standing for the same number of samples, or for fewer at an edge of
/// the window: no point stands for samples on both sides of it.
fn thinned(points: &[LoadPoint], window: Span) -> Vec<LoadPoint> {
    let largest =
        |points: &[LoadPoint], of: fn(&LoadPoint) -> Option<f64>| points.iter().filter_map(of).reduce(f64::max);
    let together = |points: &[LoadPoint]| LoadPoint {
        t: points[0].t,
        connections: largest(points, |p| p.connections),
        outstanding: largest(points, |p| p.outstanding),
        watches: largest(points, |p| p.watches),
        received_per_s: largest(points, |p| p.received_per_s),
    };
    let size = points.len().div_ceil(POINTS_MAX - POINTS_CUT_MAX).max(1);
    let parts = points.chunk_by(|one, next| lies_in(window, one) == lies_in(window, next));
    parts.flat_map(|part| part.chunks(size)).map(together).collect()
}

fn faults(index: &Index<'_>, (from, to): (Nanos, Nanos)) -> Vec<FaultBand> {
    let bands = index.faults.all.iter().map(|fault| {
        let begun = fault.injected.as_ref().map_or(fault.t, |proof| proof.from);
        FaultBand { kind: fault.kind, host: None, from: begun, to: fault.active.1.max(begun) }
    });
    bands.filter(|band| band.from <= to && band.to >= from).take(FAULTS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answer(second: u64, received: f64) -> (Nanos, ServerLoad) {
        (
            second * 1_000_000_000,
            ServerLoad { received: Some(received), outstanding: Some(received), ..Default::default() },
        )
    }

    #[test]
    fn packets_are_counted_by_the_second_and_a_server_that_was_started_anew_has_no_rate_at_first() {
        let points = points(&[answer(1, 100.0), answer(3, 300.0), answer(4, 10.0), answer(5, 60.0)]);
        assert_eq!(points.iter().map(|p| p.received_per_s).collect::<Vec<_>>(), [None, Some(100.0), None, Some(50.0)]);
    }

    proptest! {
        #[test]
        fn few_points_stand_for_all_and_hide_no_peak(
            values in prop::collection::vec(0.0_f64..1e9, 1..2_000),
            window in (0_u64..2_000, 0_u64..2_000),
        ) {
            let all: Vec<_> = values.iter().enumerate().map(|(i, v)| answer(i as u64, *v)).collect();
            let window = (window.0 * 1_000_000_000, window.1 * 1_000_000_000);
            let few = thinned(&points(&all), window);
            let measured = values.iter().zip(&all).filter(|(_, answer)| (window.0..=window.1).contains(&answer.0));
            let peak = few.iter().filter(|p| lies_in(window, p)).filter_map(|p| p.outstanding).fold(0.0, f64::max);
            prop_assert_eq!(peak, measured.map(|(value, _)| *value).fold(0.0, f64::max));
            prop_assert!(few.len() <= POINTS_MAX && !few.is_empty());
            let peak = few.iter().filter_map(|p| p.outstanding).fold(0.0, f64::max);
            prop_assert_eq!(peak, values.iter().copied().fold(0.0, f64::max));
            prop_assert!(few.windows(2).all(|pair| pair[0].t < pair[1].t));
        }
    }
}
