//! Which leads were lost to proven faults and what became of them; and which changed hands with no fault to explain it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::evidence::evidence;
use super::finding::Finding;
use super::section::Section;
use super::words::{moment, under_way};
use crate::index::{Ending, Index, Outcome};
use hustings_record::words::plural;
use hustings_record::{Nanos, RevokeReason};

/// A session that is not served for long enough is given up, whoever is to blame: a stall of our own within this many T before
/// a handover may be what it came of.
const BLAMED_T: Nanos = 2;

/// What became of the leads that were lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Handovers {
    /// Leader losses that a verified fault explains.
    pub planned: u64,
    pub completed: u64,
    /// How many moments were planned for that cost them: what one moment brought is not independent of each other.
    #[serde(default)]
    pub strikes: u64,
    /// Completed ones in which the candidate that lost the lead took it back.
    #[serde(default)]
    pub retaken: u64,
    pub censored: u64,
    /// False failovers: no injected fault explains them.
    pub unplanned: u64,
    /// Faults aimed at a leader that kept the lead in the same incarnation.
    pub survived: u64,
}

impl Section for Handovers {
    const NAME: &'static str = "handovers";

    fn applies(index: &Index<'_>) -> bool {
        index.info.has_candidates()
    }

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let doubtful = index.losses.unplanned.iter().filter(|change| stalled_before(index, change.at)).count() as u64;
        let mut counts = Self { unplanned: index.losses.unplanned.len() as u64, ..Self::default() };
        for loss in &index.losses.all {
            match loss.outcome {
                Outcome::Completed { successor } => {
                    counts.completed += 1;
                    counts.retaken += u64::from(index.terms.all[loss.term].cand == index.terms.all[successor].cand);
                }
                Outcome::Censored { .. } => counts.censored += 1,
                Outcome::Survived => counts.survived += 1,
            }
        }
        counts.planned = counts.completed + counts.censored;
        let lost = index.losses.all.iter().filter(|loss| loss.outcome != Outcome::Survived);
        let moments = lost.map(|loss| index.faults.all[loss.fault].intended);
        counts.strikes = moments.collect::<BTreeSet<_>>().len() as u64;
        let certain = counts.unplanned - doubtful;
        finding.judge(index.info.expect.unplanned, certain, "unplanned handovers", evidence(index));
        if doubtful > 0 {
            finding.inconclusive(format!("{doubtful} unplanned handovers came while a process of the harness stalled"));
        }
        for change in index.losses.unplanned.iter().take(10) {
            let (lost, next) = (&index.terms.all[change.term], &index.terms.all[change.successor]);
            finding.note(format!(
                "{}: from candidate {} on {} to candidate {} on {} at {}, and no fault explains it ({}){}",
                index.group_name(change.group),
                lost.cand,
                index.host_name(lost.host),
                next.cand,
                index.host_name(next.host),
                moment(index, change.at),
                ending(lost.ending),
                under_way(index.faults.on_servers_at(change.at)),
            ));
        }
        if counts.planned == 0 && index.must_lose_leaders() && index.verified_faults() > 0 {
            finding.inconclusive("the faults are proven, but none of them met a leader that lost its lead".into());
        }
        finding.headline(format!(
            "{} planned by {}: {} completed ({} retaken by who had lost it), {} not before the end; {} survived; {} unplanned; {} \
             proven faults",
            counts.planned,
            plural(counts.strikes, "strike", "strikes"),
            counts.completed,
            counts.retaken,
            counts.censored,
            counts.survived,
            counts.unplanned,
            index.verified_faults(),
        ));
        finding.section = counts;
        finding
    }
}

fn ending(ending: Ending) -> &'static str {
    match ending {
        Ending::Revoked(RevokeReason::Resigned) => "resigned",
        Ending::Revoked(RevokeReason::SteppedDown) => "stepped down",
        Ending::Revoked(RevokeReason::SessionEnded) => "its session ended",
        Ending::Revoked(RevokeReason::Deposed) => "deposed",
        Ending::Revoked(RevokeReason::ElectionDeleted) => "the election was deleted",
        Ending::Died => "its process died",
        Ending::Censored => "it believed to the end",
    }
}

fn stalled_before(index: &Index<'_>, at: Nanos) -> bool {
    let timeout = index.timeout_or_asked();
    index.lives.long_stalls(timeout / 10).any(|stall| stall.from <= at && stall.to + BLAMED_T * timeout >= at)
}
