//! Which leads were lost to proven faults and what became of them; and which changed hands with no fault to explain it.

use super::{Finding, evidence, moment, sessions};
use crate::index::{Index, Outcome};
use crate::record::Nanos;
use crate::summary::{CellSummary, Handovers};

/// A session that is not served for long enough is given up, whoever is to blame: a stall of our own within this many T before
/// a handover may be what it came of.
const BLAMED_T: Nanos = 2;

pub(super) fn check(index: &Index<'_>, summary: &mut CellSummary) -> Finding {
    let mut finding = Finding::default();
    let doubtful = index.losses.unplanned.iter().filter(|change| stalled_before(index, change.at)).count() as u64;
    let mut counts = Handovers { unplanned: index.losses.unplanned.len() as u64, ..Handovers::default() };
    for loss in &index.losses.all {
        match loss.outcome {
            Outcome::Completed { .. } => counts.completed += 1,
            Outcome::Censored { .. } => counts.censored += 1,
            Outcome::Survived => counts.survived += 1,
        }
    }
    counts.planned = counts.completed + counts.censored;
    let certain = counts.unplanned - doubtful;
    finding.judge(index.info.expect.unplanned, certain, "unplanned handovers", evidence(index));
    if doubtful > 0 {
        finding.inconclusive(format!("{doubtful} unplanned handovers came while a process of the harness stalled"));
    }
    for change in index.losses.unplanned.iter().take(10) {
        let (lost, next) = (&index.terms.all[change.term], &index.terms.all[change.successor]);
        finding.note(format!(
            "{}: from candidate {} on {} to candidate {} on {} at {}, and no fault explains it ({:?}){}",
            index.group_name(change.group),
            lost.cand,
            index.host_name(lost.host),
            next.cand,
            index.host_name(next.host),
            moment(index, change.at),
            lost.ending,
            sessions::under_way(index, change.at),
        ));
    }
    if counts.planned == 0 && index.must_lose_leaders() && index.verified_faults() > 0 {
        finding.inconclusive("the faults are proven, but none of them met a leader that lost its lead".into());
    }
    finding.headline(format!(
        "{} planned: {} completed, {} not before the end; {} survived; {} unplanned; {} proven faults",
        counts.planned,
        counts.completed,
        counts.censored,
        counts.survived,
        counts.unplanned,
        index.verified_faults(),
    ));
    summary.handovers = counts;
    finding
}

fn stalled_before(index: &Index<'_>, at: Nanos) -> bool {
    let timeout = index.timeout_or_asked();
    index.lives.long_stalls(timeout / 10).any(|stall| stall.from <= at && stall.to + BLAMED_T * timeout >= at)
}
