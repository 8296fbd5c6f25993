//! How long a failover takes, by phase: *detect* (the fault's effect → first watcher told), *spread* (first → last watcher),
//! *decide* (→ grant), *act* (→ first accepted write), and how far detection is above the floor of session expiry.

use super::{Finding, time};
use crate::index::{Fault, Index, Loss, Outcome};
use crate::record::{Event, FaultKind, Nanos};
use crate::stats::Samples;
use crate::summary::{CellSummary, Distribution, Excess};

/// What a busy machine may add to what expiry buckets and batched touches do.
const WINDOW_MARGIN_NS: Nanos = 500_000_000;

#[derive(Default)]
struct Phases {
    failover: Samples,
    detect: Samples,
    spread: Samples,
    decide: Samples,
    act: Samples,
    over_floor: Samples,
    /// Of sessions whose clock a new leader of the ensemble restarted: above their real floor, and above `T − age`.
    over_restarted: Samples,
    over_naive: Samples,
    early: u64,
    beyond: u64,
}

pub(super) fn check(index: &Index<'_>, summary: &mut CellSummary) -> Finding {
    let mut finding = Finding::default();
    // Expiry buckets round up to a tick, followers hand touches on every half tick.
    let window_ns = 3 * index.tick / 2 + WINDOW_MARGIN_NS;
    let mut phases = Phases::default();
    for loss in &index.losses.all {
        measure(index, loss, window_ns, &mut phases);
    }
    summary.failover = phases.failover.distribution();
    summary.detect = phases.detect.distribution();
    summary.spread = phases.spread.distribution();
    summary.decide = phases.decide.distribution();
    summary.act = phases.act.distribution();
    let over_restarted_floor = phases.over_restarted.distribution();
    summary.excess = phases.over_floor.distribution().map(|over_floor| Excess {
        over_floor,
        early: phases.early,
        window_ns,
        beyond_window: phases.beyond,
        restarted: over_restarted_floor.as_ref().map_or(0, |d| d.n),
        over_naive_floor: phases.over_naive.distribution(),
        over_restarted_floor,
    });
    summary.floor = floor(index);
    match &summary.failover {
        Some(failover) => finding.headline(format!("failover {}", shape(failover))),
        None if index.must_lose_leaders() => {
            finding.inconclusive("no failover was measured, and this fault cannot but cause one".into());
            finding.headline("no failover was measured".into());
        }
        None => finding.headline("no leader was lost to a proven fault: nothing to measure".into()),
    }
    describe(index, summary, &mut finding);
    finding
}

fn measure(index: &Index<'_>, loss: &Loss, window_ns: Nanos, phases: &mut Phases) {
    let woken = index.woken(loss);
    let detected = woken.first().map(|n| n.t);
    let fault = &index.faults.all[loss.fault];
    match loss.outcome {
        Outcome::Survived => return,
        Outcome::Censored { at } => {
            phases.failover.censor(at - loss.effect);
            match detected {
                Some(t) => phases.decide.censor(at.saturating_sub(t)),
                None => phases.detect.censor(at - loss.effect),
            }
        }
        Outcome::Completed { successor } => {
            let next = &index.terms.all[successor];
            let Some(granted) = next.granted else { return };
            phases.failover.push(granted.saturating_sub(loss.effect));
            if let Some(t) = detected.filter(|&t| t <= granted) {
                phases.decide.push(granted - t);
            }
            let first = index.writing.first_accepted((next.cand, next.session, next.czxid), next.grant);
            if let Some(t) = first.filter(|&t| t <= next.ended.1) {
                phases.act.push(t.saturating_sub(granted));
            }
        }
    }
    let Some(detected) = detected else { return };
    phases.detect.push(detected - loss.effect);
    if woken.len() > 1 {
        phases.spread.push(woken[woken.len() - 1].t - detected);
    }
    if let Some(Floor { naive, restarted, earliest }) = expiry_floor(index, loss, fault, detected) {
        let floor = restarted.unwrap_or(naive);
        if restarted.is_some() {
            phases.over_naive.push(detected.saturating_sub(naive));
            phases.over_restarted.push(detected.saturating_sub(floor));
        }
        phases.early += u64::from(detected < earliest);
        phases.beyond += u64::from(detected > floor + window_ns);
        phases.over_floor.push(detected.saturating_sub(floor));
    }
}

/// When the lost leader's session could expire.
struct Floor {
    /// T after its last touch, `T − age` after the fault.
    naive: Nanos,
    /// T after a new leader of the ensemble restarted its clock in between.
    restarted: Option<Nanos>,
    /// For certain not before this.
    earliest: Nanos,
}

fn expiry_floor(index: &Index<'_>, loss: &Loss, fault: &Fault<'_>, detected: Nanos) -> Option<Floor> {
    // Other faults end the session themselves, or let its touches through.
    let expires =
        matches!(fault.kind, FaultKind::Crash | FaultKind::Partition | FaultKind::PartitionUp | FaultKind::Pause);
    let session = index.terms.all[loss.term].session;
    let touches = &fault.injected.as_ref().filter(|_| expires)?.touches;
    let touch = touches.iter().filter(|t| t.session == session).map(|t| t.last_up).max()?;
    let timeout = index.timeout?;
    let restart = index.servers.restarts().filter(|r| r.at > touch && r.at < detected).max_by_key(|r| r.at);
    let earliest = restart.map_or(touch, |restart| restart.earliest.max(touch)) + timeout;
    Some(Floor { naive: touch + timeout, restarted: restart.map(|restart| restart.at + timeout), earliest })
}

/// The floor of every failover: a znode deleted, its watcher told, the list read, with no election at all.
fn floor(index: &Index<'_>) -> Option<Distribution> {
    let mut samples = Samples::default();
    for (_, event) in index.cell.events() {
        if let Event::Floor { deleted, listed, .. } = event {
            samples.push(listed.saturating_sub(*deleted));
        }
    }
    samples.distribution()
}

fn describe(index: &Index<'_>, summary: &CellSummary, finding: &mut Finding) {
    let phases = [
        ("detect", &summary.detect),
        ("spread", &summary.spread),
        ("decide", &summary.decide),
        ("act", &summary.act),
        ("floor", &summary.floor),
    ];
    for (name, phase) in phases {
        if let Some(phase) = phase {
            finding.note(format!("{name} {}", shape(phase)));
        }
    }
    if let Some(excess) = &summary.excess {
        finding.note(format!(
            "detect above T − age: {}; {} of {} beyond the window of {}, {} before the floor",
            shape(&excess.over_floor),
            excess.beyond_window,
            excess.over_floor.n,
            time(excess.window_ns),
            excess.early,
        ));
    }
    let restarted =
        summary.excess.as_ref().and_then(|e| e.over_naive_floor.as_ref().zip(e.over_restarted_floor.as_ref()));
    if let Some((naive, real)) = restarted {
        finding.note(format!(
            "{} sessions had their clock restarted by a new ensemble leader: expired {} after T − age, {} after the \
             restart + T",
            real.n,
            shape(naive),
            shape(real)
        ));
    }
    let halves = |d: &Option<Distribution>| d.as_ref().and_then(|d| d.p50).filter(|&p50| p50 > 0);
    if let (FaultKind::Resign, Some(failover), Some(floor)) =
        (index.info.fault_kind, halves(&summary.failover), halves(&summary.floor))
    {
        finding.note(format!("p50 of the failover is {:.2} times that of the floor", failover as f64 / floor as f64));
    }
}

fn shape(d: &Distribution) -> String {
    let quantile = |q: Option<Nanos>| q.map_or_else(|| "beyond the run".into(), time);
    let censored = if d.censored > 0 { format!(", {} not ended", d.censored) } else { String::new() };
    format!("p50 {}, p99 {}, longest {} (n = {}{censored})", quantile(d.p50), quantile(d.p99), time(d.max), d.n)
}
