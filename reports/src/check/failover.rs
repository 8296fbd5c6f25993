//! Failover latency by phase: *release* (end of a resigner's belief → its deletion sent), *detect* (the fault's effect,
//! or that deletion → first watcher notified), *spread* (first → last watcher), *decide* (first watcher notified →
//! grant), *act* (→ first accepted write). Also: how far detection is above the floor of session expiry.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::failover_timeline::FailoverTimeline;
use super::finding::Finding;
use super::phases::FailoverPhase::{
    Act, Decide, Detect, FromIntended, OverFloor, OverNaive, OverRestarted, Release, Spread, Whole,
};
use super::phases::Phases;
use super::section::Section;
use super::stall_confounder::contradicts_itself;
use crate::index::Index;
use crate::stats::{Distribution, Tail};
use hustings_record::words::{duration, plural};
use hustings_record::{EvidenceSource, FaultKind, Nanos};

/// Latencies of planned handovers, by phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Failover {
    /// From the lead's loss to the next grant.
    pub whole: Option<Distribution>,
    /// How many more are void: in one stall that began within two medians of the loss, the loser's host, the winner's, or a process
    /// that is no host did not run for more than a quarter of the median. Each phase is judged by its own median.
    #[serde(default)]
    pub void: u64,
    /// Not void, but a server logged a pause of its own that may have taken more than a quarter of the median of it: logs tell no
    /// better when that was than how long the server slept.
    #[serde(default)]
    pub beside_pauses: u64,
    /// The same samples from the moment that the fault was intended for: what a harness that is late would hide.
    #[serde(default)]
    pub from_intended: Option<Distribution>,
    /// Resignations: from the end of belief until the znode's deletion was sent.
    #[serde(default)]
    pub release: Option<Distribution>,
    /// From the lead's loss, or its release, to the first watcher told; None for recipes that watch nothing.
    pub detect: Option<Distribution>,
    /// First → last watcher; None for recipes in which one at most is told.
    pub spread: Option<Distribution>,
    /// First watcher told → grant.
    pub decide: Option<Distribution>,
    /// Grant → first accepted write.
    pub act: Option<Distribution>,
    /// For sessions left to expire: detect minus the floor `T − age(last touch)`, from the nearest earlier side.
    pub excess: Option<Excess>,
    /// Deleted → notified → listed, over the same links, without any election.
    pub floor: Option<Distribution>,
    /// The failover in the middle, moment by moment; None where censoring hides the median.
    #[serde(default)]
    pub course: Option<FailoverTimeline>,
    /// Samples of the floor that came to nothing. Those whose deletion was sent stay in it, longer than what was seen.
    #[serde(default)]
    pub floor_failed: u64,
    /// Pairs of sessions that took samples of the floor, where the record tells them.
    #[serde(default)]
    pub floor_pairs: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Excess {
    /// Detect minus the floor's nearest end `T − age`; negative values are counted as `early` and set to 0 here.
    pub over_floor: Distribution,
    pub early: u64,
    /// 1.5 tick + 500 ms: the window that theory and a busy machine leave.
    pub window_ns: Nanos,
    /// Longer than that. No verdict rests on it: what was noticed too late is for *promptness* to judge.
    pub beyond_window: u64,
    /// Samples whose session had its clock restarted by a new leader of the ensemble: their floor is `restart + T`.
    #[serde(default)]
    pub restarted: u64,
    /// What these would be above the floor `T − age`, had their clock run on.
    #[serde(default)]
    pub over_naive_floor: Option<Distribution>,
    /// The same above their real floor.
    #[serde(default)]
    pub over_restarted_floor: Option<Distribution>,
}

impl Failover {
    /// Whole failovers, if at least one is not void.
    #[must_use]
    pub fn measured(&self) -> Option<&Distribution> {
        self.whole.as_ref().filter(|whole| whole.has_samples())
    }

    /// Summarizes the samples of one cell, or of several pooled.
    #[must_use]
    pub(crate) fn of(mut phases: Phases) -> Self {
        let mut of = |phase| phases.take(phase).distribution();
        let (whole, over_restarted_floor) = (of(Whole), of(OverRestarted));
        let over_naive_floor = of(OverNaive);
        let [from_intended, release, detect, spread, decide, act, over_floor] =
            [FromIntended, Release, Detect, Spread, Decide, Act, OverFloor].map(of);
        Self {
            void: phases.void,
            beside_pauses: phases.beside_pauses,
            course: FailoverTimeline::middle(phases.courses, whole.as_ref().and_then(|whole| whole.p50)),
            whole,
            from_intended,
            release,
            detect,
            spread,
            decide,
            act,
            excess: over_floor.map(|over_floor| Excess {
                over_floor,
                early: phases.early,
                window_ns: phases.window_ns,
                beyond_window: phases.beyond,
                restarted: over_restarted_floor.as_ref().map_or(0, |d| d.n),
                over_naive_floor,
                over_restarted_floor,
            }),
            floor: phases.floor.samples.distribution(),
            floor_failed: phases.floor.failed,
            floor_pairs: phases.floor.pairs,
        }
    }
}

impl Section for Failover {
    const NAME: &'static str = "failover";
    const ABOUT: &'static str = "How long from the loss of a lead to the next grant, by phase, and above the floor.";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Report];

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let phases = Phases::of(index);
        let (early, void) = (phases.early, phases.void);
        let found = Self::of(phases);
        if early > 0 {
            let why = "a last touch was missed, or a clock is wrong";
            let text = format!("harness: {early} sessions were seen to expire before they could: {why}");
            contradicts_itself(&mut finding, index, text);
        }
        match found.measured() {
            Some(failover) => finding.headline(format!("failover {}", shape(failover))),
            None if void > 0 => finding.headline(format!("{void} failovers, all void by a stall")),
            None if index.must_lose_leaders() => {
                finding.inconclusive("no failover was measured, and this fault cannot but cause one".into());
                finding.headline("no failover was measured".into());
            }
            None => finding.headline("no leader was lost to a verified fault: nothing to measure".into()),
        }
        // The remaining samples may not be representative.
        if void > found.whole.as_ref().map_or(0, |whole| whole.n + whole.censored) {
            finding.inconclusive_by_stall(format!(
                "{void} failovers are void by stalls, more than are left: their latency is not known; fewer candidates, or \
                 more processors, would tell"
            ));
        }
        if found.beside_pauses > 0 {
            finding.note(format!(
                "{} may hold a pause of a server, by the servers' logs, that is more than a quarter of their median",
                plural(found.beside_pauses, "failover", "failovers")
            ));
        }
        describe(index, &found, &mut finding);
        finding.section = found;
        finding
    }
}

fn describe(index: &Index<'_>, found: &Failover, finding: &mut Finding<Failover>) {
    let phases = [
        ("from the intended moment", &found.from_intended),
        ("release", &found.release),
        ("detect", &found.detect),
        ("spread", &found.spread),
        ("decide", &found.decide),
        ("act", &found.act),
        ("floor", &found.floor),
    ];
    for (name, phase) in phases {
        match phase {
            Some(phase) if phase.has_samples() => finding.note(format!("{name} {}", shape(phase))),
            Some(void) => {
                finding.note(format!("{name}: {}, all void by a stall", plural(void.void, "sample", "samples")));
            }
            None => {}
        }
    }
    if let Some(excess) = found.excess.as_ref().filter(|excess| excess.over_floor.has_samples()) {
        finding.note(format!(
            "detect above T − age: {}; {} of {} beyond the window of {} (a figure that decides nothing), {} before the floor",
            shape(&excess.over_floor),
            excess.beyond_window,
            excess.over_floor.n,
            duration(excess.window_ns),
            excess.early,
        ));
    }
    let restarted = found.excess.as_ref().filter(|excess| excess.restarted > 0);
    let restarted = restarted.and_then(|e| e.over_naive_floor.as_ref().zip(e.over_restarted_floor.as_ref()));
    if let Some((naive, real)) = restarted {
        finding.note(format!(
            "{} sessions had their clock restarted by a new ensemble leader: expired {} after T − age, {} after the \
             restart + T",
            real.n,
            shape(naive),
            shape(real)
        ));
    }
    if found.floor_failed > 0 {
        let taken = found.floor.as_ref().map_or(0, |floor| floor.n);
        finding.note(format!(
            "{} of {} samples of the floor came to nothing; those whose deletion was sent are censored in it",
            found.floor_failed,
            found.floor_failed + taken
        ));
    }
    let halves = |d: &Option<Distribution>| d.as_ref().and_then(|d| d.p50).filter(|&p50| p50 > 0);
    if let (FaultKind::Resign, Some(failover), Some(floor)) =
        (index.info.fault_kind, halves(&found.whole), halves(&found.floor))
    {
        finding.note(format!("p50 of the failover is {:.2} times that of the floor", failover as f64 / floor as f64));
    }
}

fn shape(d: &Distribution) -> String {
    let quantile = |q: Option<Nanos>| q.map_or_else(|| "beyond the run".into(), duration);
    let mut left = if d.censored > 0 { format!(", {} not ended", d.censored) } else { String::new() };
    if d.void > 0 {
        left.push_str(&format!(", {} void by a stall", d.void));
    }
    let p99 = match d.tail() {
        Tail::P99(p99) => format!(", p99 {}", quantile(p99)),
        Tail::Longest { .. } => String::new(),
    };
    format!("p50 {}{p99}, longest {} (n = {}{left})", quantile(d.p50), duration(d.max), d.n)
}
