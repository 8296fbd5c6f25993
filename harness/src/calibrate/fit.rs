//! The fit: a pattern search (Hooke and Jeeves, 1961) on logarithms. It changes one service time at a time, by
//! decreasing factors, as long as the simulation gets closer to the run.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hustings_record::Nanos;
use hustings_record::numbers::whole;
use hustings_workloads::simulation::Timing;
use serde::Serialize;

use super::target::{Count, FittedMeasure, TargetCell};

/// The first factor, and the factor below which the search ends.
const FACTOR_FIRST: f64 = 2.0;
const FACTOR_LAST: f64 = 1.04;
/// Start points: all service times scaled by each of these. The nearest minimum is not always the global one.
const STARTS: [f64; 3] = [1.0, 2.0, 0.5];
/// Maximum number of sweeps over all service times, from each start point.
const SWEEPS_MAX: usize = 40;
/// Weight of the squared distance (in ln) of each service time from its start, added to the squared errors (in ln) in a
/// search. The results of the start points are compared by their errors alone.
/// Start values are known to about a factor of e, medians of a run to about 7 %. A service time that the run does not
/// determine keeps its start value. Of the timings with the same few medians, plausible ones also match others.
const STAY: f64 = 0.005;
/// Error (ln) of a measure that the simulation lacks: as if it were ten times too long.
const NOTHING: f64 = std::f64::consts::LN_10;

/// Service times in the order in which the search changes them. Those that affect every operation come first.
const SERVICES: [fn(&mut Timing) -> &mut u64; 13] = [
    |t| &mut t.commit_us,
    |t| &mut t.link_us,
    |t| &mut t.notify_us,
    |t| &mut t.client_us,
    |t| &mut t.read_us,
    |t| &mut t.child_ns,
    |t| &mut t.order_us,
    |t| &mut t.write_us,
    |t| &mut t.apply_us,
    |t| &mut t.between_servers_us,
    |t| &mut t.link_jitter_us,
    |t| &mut t.resource_us,
    |t| &mut t.waking_us,
];

/// One median of one cell.
#[derive(Clone, Debug, Serialize)]
pub struct MedianComparison {
    pub cell: String,
    pub measure: FittedMeasure,
    /// As measured, and as simulated with the fitted service times, in nanoseconds.
    pub real_ns: Nanos,
    pub simulated_ns: Option<Nanos>,
    /// Simulated ÷ measured.
    pub ratio: Option<f64>,
    /// The cell was excluded from the fit.
    pub held_out: bool,
}

/// One count of one cell: events, and the handovers in which they were counted.
#[derive(Clone, Debug, Serialize)]
pub struct CountedCell {
    pub cell: String,
    pub count: Count,
    pub real: (u64, u64),
    pub simulated: (u64, u64),
}

/// Result of a fit.
#[derive(Clone, Debug)]
pub struct CalibrationFit {
    pub timing: Timing,
    pub compared: Vec<MedianComparison>,
    pub counted: Vec<CountedCell>,
    /// Number of timings for which all cells were simulated that were not held out; 1 where nothing was fitted.
    pub tried: usize,
}

/// Fits service times to all targets that are not held out. After each sweep it calls `tell` with the number of timings
/// tried and the error so far from this start point: the root mean square of ln(simulated ÷ measured).
///
/// # Errors
/// The simulation of any cell fails, with any of the timings tried; cells that are held out are simulated at the end.
pub fn fit(targets: &[TargetCell], start: &Timing, tell: impl Fn(usize, f64)) -> anyhow::Result<CalibrationFit> {
    let fitted: Vec<&TargetCell> = targets.iter().filter(|target| !target.held_out).collect();
    let numbers = fitted.iter().map(|target| target.real.len()).sum::<usize>().max(1) as f64;
    let mut tried = 0;
    let mut best: Option<(Timing, f64)> = None;
    for scale in STARTS {
        let scaled = SERVICES.iter().fold(start.clone(), |timing, service| changed(&timing, *service, scale));
        let tell = |more: usize, off: f64| tell(tried + more, (off / numbers).sqrt());
        let (timing, off, more) = descend(&fitted, scaled, start, tell)?;
        tried += more;
        if best.as_ref().is_none_or(|(_, least)| off < *least) {
            best = Some((timing, off));
        }
    }
    let best = best.map_or_else(|| start.clone(), |(timing, _)| timing);
    Ok(CalibrationFit { tried, ..compared(targets, &best)? })
}

/// Compares all targets, those that are held out too, with simulations that use these service times.
///
/// # Errors
/// The simulation of any cell fails.
pub fn compared(targets: &[TargetCell], timing: &Timing) -> anyhow::Result<CalibrationFit> {
    let all: Vec<&TargetCell> = targets.iter().collect();
    let simulated = simulate(&all, std::slice::from_ref(timing))?;
    let compared = targets.iter().zip(simulated).flat_map(|(target, simulated)| compare(target, simulated)).collect();
    let mut counted = Vec::new();
    for target in targets {
        let shown = Count::all_of(&target.summary(timing)?);
        for &(count, real) in &target.counted {
            let simulated = shown.iter().find(|(same, _)| *same == count).map_or((0, 0), |(_, seen)| *seen);
            counted.push(CountedCell { cell: target.cell.name.clone(), count, real, simulated });
        }
    }
    Ok(CalibrationFit { timing: timing.clone(), compared, counted, tried: 1 })
}

/// Changes the service times, starting at `from`, as long as the error decreases. Service times that the run does not
/// determine are pulled towards `home`. Returns the timing, its error, and the number of timings tried.
fn descend(
    fitted: &[&TargetCell],
    from: Timing,
    home: &Timing,
    tell: impl Fn(usize, f64),
) -> anyhow::Result<(Timing, f64, usize)> {
    let away = |timing: &Timing, off: f64| off + STAY * distance(timing, home);
    let mut off = sum_of_squares(fitted, std::slice::from_ref(&from))?[0];
    let mut best = from;
    let (mut tried, mut factor) = (1, FACTOR_FIRST);
    for _ in 0..SWEEPS_MAX {
        let mut better = false;
        for service in SERVICES {
            let tries = [factor, 1.0 / factor].map(|by| changed(&best, service, by));
            let offs = sum_of_squares(fitted, &tries)?;
            tried += tries.len();
            for (timing, found) in tries.into_iter().zip(offs) {
                if away(&timing, found) < away(&best, off) {
                    (best, off, better) = (timing, found, true);
                }
            }
        }
        tell(tried, off);
        if !better {
            factor = factor.sqrt();
            if factor < FACTOR_LAST {
                break;
            }
        }
    }
    Ok((best, off, tried))
}

fn compare(target: &TargetCell, simulated: Vec<Option<Nanos>>) -> impl Iterator<Item = MedianComparison> {
    target.real.iter().zip(simulated).map(|(&(measure, real_ns), simulated_ns)| MedianComparison {
        cell: target.cell.name.clone(),
        measure,
        real_ns,
        simulated_ns,
        ratio: simulated_ns.map(|simulated| ratio(simulated, real_ns)),
        held_out: target.held_out,
    })
}

fn changed(timing: &Timing, service: fn(&mut Timing) -> &mut u64, by: f64) -> Timing {
    let mut timing = timing.clone();
    let us = service(&mut timing);
    let to = whole((*us as f64 * by).round());
    // A step that rounds to zero becomes one unit.
    let step = if to != *us || by == 1.0 {
        to
    } else if by > 1.0 {
        to + 1
    } else {
        to.saturating_sub(1)
    };
    *us = step.clamp(1, Timing::SERVICE_MAX);
    timing
}

/// Sum of ln² of the ratios between two timings.
fn distance(a: &Timing, b: &Timing) -> f64 {
    let (mut a, mut b) = (a.clone(), b.clone());
    SERVICES.iter().map(|service| (*service(&mut a) as f64 / (*service(&mut b)).max(1) as f64).ln().powi(2)).sum()
}

/// For each timing, the sum of ln²(simulated ÷ measured) over all measured medians.
fn sum_of_squares(targets: &[&TargetCell], timings: &[Timing]) -> anyhow::Result<Vec<f64>> {
    let simulated = simulate(targets, timings)?;
    Ok(simulated
        .chunks(targets.len().max(1))
        .map(|of_timing| {
            let pairs = targets.iter().zip(of_timing).flat_map(|(target, shown)| target.real.iter().zip(shown));
            pairs.map(|((_, real), shown)| shown.map_or(NOTHING, |shown| ratio(shown, *real).ln()).powi(2)).sum()
        })
        .collect())
}

fn ratio(simulated: Nanos, real: Nanos) -> f64 {
    simulated.max(1) as f64 / real.max(1) as f64
}

/// Simulates every target with every timing, on all cores. Order of the results: by timing, then by target.
fn simulate(targets: &[&TargetCell], timings: &[Timing]) -> anyhow::Result<Vec<Vec<Option<Nanos>>>> {
    let jobs: Vec<(&TargetCell, &Timing)> =
        timings.iter().flat_map(|timing| targets.iter().map(move |target| (*target, timing))).collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some((target, timing)) = jobs.get(place) else { break };
                    let shown = target.simulated(timing);
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((place, shown));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, shown)| shown).collect()
}
