//! Terms lost to verified faults and what followed them, and handovers that no fault explains.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evidence::evidence;
use super::finding::Finding;
use super::section::Section;
use super::stall_confounder::{kept_from_contact, kept_from_verification};
use super::words::{moment, under_way};
use crate::index::{Ending, Fault, Index, LeaderChange, Loss, LossOutcome};
use hustings_record::words::plural;
use hustings_record::{EvidenceSource, Expectation, Nanos, RevokeReason};

/// Limit of lost terms listed individually.
const LOST_LISTED_MAX: usize = 5;
/// Limit of unplanned handovers listed individually.
const UNPLANNED_TOLD_MAX: usize = 10;

/// What became of the leads that were lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Handovers {
    /// Leader losses that a verified fault explains: the lead went to another incarnation, or its znode went, whoever led next.
    pub planned: u64,
    pub completed: u64,
    /// How many moments were planned for that cost them: what one moment brought is not independent of each other.
    #[serde(default)]
    pub injections: u64,
    /// Completed ones in which the candidate that lost the lead took it back.
    #[serde(default)]
    pub retaken: u64,
    pub censored: u64,
    /// False failovers: no injected fault explains them, or none by then: a fault explains lost leads until its victims'
    /// sessions can have expired.
    pub unplanned: u64,
    /// Changes of leader that a verified fault on the loser explains without having met it as the leader.
    #[serde(default)]
    pub explained: u64,
    /// Changes of leader that only a fault without proof could explain: neither planned nor unplanned.
    #[serde(default)]
    pub unverified: u64,
    /// Planned ones that were completed only after the sessions can have expired, though somebody could have led.
    #[serde(default)]
    pub late: u64,
    /// Unplanned ones of leaders whose clients came to no server, while servers were hit, for as long as sessions can end in; and
    /// those to whom a stopped process led beside its successor, which led on.
    #[serde(default)]
    pub excused: u64,
    /// Faults that met a leader and did not cost it the lead: the same incarnation led on by the same znode, or lost the lead to a
    /// later fault or to none once it had outlived this one.
    pub survived: u64,
}

impl Handovers {
    /// Sums the counts of several cells of one configuration; no two cells share an injection.
    #[must_use]
    pub(crate) fn pooled(cells: &[&Self]) -> Self {
        cells.iter().fold(Self::default(), |all, cell| Self {
            planned: all.planned + cell.planned,
            completed: all.completed + cell.completed,
            injections: all.injections + cell.injections,
            retaken: all.retaken + cell.retaken,
            censored: all.censored + cell.censored,
            unplanned: all.unplanned + cell.unplanned,
            explained: all.explained + cell.explained,
            unverified: all.unverified + cell.unverified,
            late: all.late + cell.late,
            excused: all.excused + cell.excused,
            survived: all.survived + cell.survived,
        })
    }
}

impl Section for Handovers {
    const NAME: &'static str = "handovers";
    const ABOUT: &'static str = "Which leads changed hands, and does a fault explain it?";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Report];

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let counts = count(index);
        judge_unplanned(index, &mut finding);
        if let Some(expected) = index.info.expect.handovers {
            judge_lost(index, expected, &mut finding);
        }
        doubts(index, &counts, &mut finding);
        if counts.planned == 0 && index.must_lose_leaders() && index.verified_faults() > 0 {
            finding.inconclusive("the faults are verified, but none of them met a leader that lost its lead".into());
        }
        finding.headline(format!(
            "{} planned by {}: {} completed ({} retaken by who had lost it), {} not before the end; {} survived; {} unplanned; {} \
             verified orders of faults",
            counts.planned,
            plural(counts.injections, "injection", "injections"),
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

fn count(index: &Index<'_>) -> Handovers {
    let losses = &index.losses;
    let mut counts = Handovers {
        excused: losses.unplanned.iter().filter(|change| is_excused(index, change)).count() as u64,
        unplanned: losses.unplanned.len() as u64,
        explained: losses.explained.len() as u64,
        unverified: losses.unverified.len() as u64,
        ..Handovers::default()
    };
    for loss in &losses.all {
        match loss.outcome {
            LossOutcome::Completed { successor } => {
                counts.completed += 1;
                counts.late += u64::from(is_late(index, loss, successor));
                counts.retaken += u64::from(index.terms.all[loss.term].cand == index.terms.all[successor].cand);
            }
            LossOutcome::Censored { .. } => counts.censored += 1,
            LossOutcome::Survived => counts.survived += 1,
        }
    }
    counts.planned = counts.completed + counts.censored;
    let lost = losses.all.iter().filter(|loss| loss.outcome != LossOutcome::Survived);
    let moments = lost.map(|loss| index.faults.all[loss.fault].intended);
    counts.injections = moments.collect::<BTreeSet<_>>().len() as u64;
    counts
}

/// Compares the unplanned handovers with the expectation. Those that a harness stall may explain do not count, nor do
/// those that an unverified server fault would explain.
fn judge_unplanned(index: &Index<'_>, finding: &mut Finding<Handovers>) {
    let (expected, unplanned) = (index.info.expect.unplanned, &index.losses.unplanned);
    let kept = |change: &LeaderChange| kept_from_leading(index, change);
    let (stalled, others): (Vec<&LeaderChange>, Vec<&LeaderChange>) =
        unplanned.iter().partition(|change| kept(change).is_some());
    let perhaps = |change: &&&LeaderChange| !is_excused(index, change) && was_cut_off(index, change, |_| true);
    let perhaps = others.iter().filter(|_| expected == Expectation::Excused).filter(perhaps).count() as u64;
    if perhaps > 0 {
        finding.inconclusive(format!("{perhaps} unplanned handovers could be excused by an unverified fault alone"));
    }
    let certain = others.len() as u64 - perhaps;
    let excused = others.iter().filter(|change| is_excused(index, change)).count() as u64;
    let counted = expected.counted(certain, excused);
    finding.judge(expected, counted, "unplanned handovers", evidence(index));
    if !stalled.is_empty() {
        finding.inconclusive_by_stall(format!(
            "{} unplanned handovers may have come of a process that stalled",
            stalled.len()
        ));
    }
    for change in unplanned.iter().take(UNPLANNED_TOLD_MAX) {
        let stalled = kept(change).unwrap_or_default();
        let fault = under_way(index.faults.on_servers_at(change.at));
        finding.note(format!("{}, and no fault explains it{fault}{stalled}", told(index, change)));
    }
}

/// What may have cost the loser of an unplanned handover the lead, as it is added to a text: a stall of the harness, for which
/// its client may have given its connection or its session up. None: nothing, or its client kept both.
fn kept_from_leading(index: &Index<'_>, change: &LeaderChange) -> Option<String> {
    let kept = kept_from_contact(index, index.terms.all[change.term].host, change.at)?;
    may_have_lost_contact(index, change).then_some(kept)
}

/// Whether the loser had no connection or session, unless it closed that itself, within 2 T before it lost the lead or by the next
/// grant, or by the end of its belief if it noticed later. A client that is never notified that its session has gone learns of its
/// expiry later. A client may have lost both if nobody reports its connections, or not for so long.
fn may_have_lost_contact(index: &Index<'_>, change: &LeaderChange) -> bool {
    let (lost, next) = (&index.terms.all[change.term], &index.terms.all[change.successor]);
    let (candidates, life) = (&index.candidates, &index.lives.all[lost.life]);
    let until = lost.ended.1.max(next.granted.unwrap_or(next.grant));
    if !lost.is_read(candidates, &index.unread) || life.end.is_none() && life.last < until {
        return true;
    }
    candidates.lost_contact(lost.session, (change.at.saturating_sub(index.stall_effect()), until))
        || candidates.expired_within(lost.session, (until, until.saturating_add(index.stall_effect())))
}

/// A lead that was lost, with or without a fault that explains it.
struct LostLead {
    /// Place of the term.
    term: usize,
    /// The fault that explains it, as a place among the faults.
    fault: Option<usize>,
    /// A stall of the harness may have cost it.
    is_by_stall: bool,
}

/// All lost terms, with or without an explanation: leadership went to another incarnation, or its znode was deleted.
/// Excluded are those that only an unverified fault could explain.
fn lost_leads(index: &Index<'_>) -> Vec<LostLead> {
    let losses = &index.losses;
    let by_fault = |term: usize, at: Nanos, fault: usize| {
        let is_by_stall = kept_from_contact(index, index.terms.all[term].host, at).is_some();
        LostLead { term, fault: Some(fault), is_by_stall }
    };
    let planned = losses.all.iter().filter(|loss| loss.outcome != LossOutcome::Survived);
    let planned = planned.map(|loss| by_fault(loss.term, index.terms.all[loss.term].ended.0, loss.fault));
    let explained = losses.explained.iter().map(|(change, fault)| by_fault(change.term, change.at, *fault));
    let unplanned = losses.unplanned.iter().map(|change| {
        let is_by_stall = kept_from_leading(index, change).is_some();
        LostLead { term: change.term, fault: None, is_by_stall }
    });
    planned.chain(explained).chain(unplanned).collect()
}

/// Compares the lost terms with the expectation. Those that a harness stall may explain do not count.
fn judge_lost(index: &Index<'_>, expected: Expectation, finding: &mut Finding<Handovers>) {
    let (doubtful, certain): (Vec<LostLead>, Vec<LostLead>) =
        lost_leads(index).into_iter().partition(|lost| lost.is_by_stall);
    if !doubtful.is_empty() {
        finding.inconclusive_by_stall(format!("{} lost leads may have come of a process that stalled", doubtful.len()));
    }
    let overrun =
        |lost: &LostLead| lost.fault.is_some_and(|fault| may_end_sessions_by_overrun(index, &index.faults.all[fault]));
    let (overrun, certain): (Vec<LostLead>, Vec<LostLead>) = certain.into_iter().partition(overrun);
    if !overrun.is_empty() {
        finding.inconclusive(format!("{} lost leads came of a fault that lasted longer than planned", overrun.len()));
    }
    if doubtful.is_empty() && overrun.is_empty() || !certain.is_empty() {
        finding.judge(expected, certain.len() as u64, "lost leads", evidence(index));
    }
    if expected == Expectation::None {
        certain.iter().filter_map(|lost| Some((lost, lost.fault?))).take(LOST_LISTED_MAX).for_each(|(lost, fault)| {
            let (term, fault) = (&index.terms.all[lost.term], &index.faults.all[fault]);
            finding.note(format!(
                "{}: candidate {} on {} lost the lead by {} number {} ({})",
                index.group_name(term.group),
                term.cand,
                index.host_name(term.host),
                fault.kind,
                fault.id,
                ending(term.ending),
            ));
        });
    }
}

/// Whether a fault lasted longer than planned, and long enough to end a session. The last contact of a client that is
/// cut off is at most 2/5 T old.
fn may_end_sessions_by_overrun(index: &Index<'_>, fault: &Fault<'_>) -> bool {
    let longest = fault.lasted().map_or(0, |lasted| lasted.1);
    fault.overrun().is_some() && longest >= 3 * index.timeout_or_asked() / 5
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

/// Reports handovers that are neither planned nor unplanned, and planned ones too late for their fault alone to
/// explain.
fn doubts(index: &Index<'_>, counts: &Handovers, finding: &mut Finding<Handovers>) {
    if counts.unverified > 0 {
        let text = format!(
            "{} handovers could only come of a fault that is not verified: neither planned nor unplanned",
            counts.unverified
        );
        let mut unverified = index.faults.all.iter().filter(|fault| !fault.verified());
        match unverified.all(|fault| kept_from_verification(index, fault).is_some()) {
            true => finding.inconclusive_by_stall(text),
            false => finding.inconclusive(text),
        }
        for change in index.losses.unverified.iter().take(5) {
            finding.note(format!("{}, and only an unverified fault could explain it", told(index, change)));
        }
    }
    if counts.late > 0 {
        finding.inconclusive(format!(
            "{} planned handovers came later than their fault's sessions can have expired, though somebody could have led",
            counts.late
        ));
    }
}

fn told(index: &Index<'_>, change: &LeaderChange) -> String {
    let (lost, next) = (&index.terms.all[change.term], &index.terms.all[change.successor]);
    format!(
        "{}: from candidate {} on {} to candidate {} on {} at {} ({})",
        index.group_name(change.group),
        lost.cand,
        index.host_name(lost.host),
        next.cand,
        index.host_name(next.host),
        moment(index, change.at),
        ending(lost.ending),
    )
}

/// Whether the next grant came after the end of the fault's possible effects, although another enrolled candidate was
/// then free of faults.
fn is_late(index: &Index<'_>, loss: &Loss, successor: usize) -> bool {
    let fault = &index.faults.all[loss.fault];
    let due = fault.explains_until;
    let lost = index.terms.all[loss.term].cand;
    let hit = |cand: u32| index.faults.on_cand_in(cand, (due, due)).any(|f| f.acts_in((due, due)));
    let others = || index.candidates.of_group(loss.group).iter().copied().filter(|&cand| cand != lost);
    fault.kind.facts().lets_sessions_expire
        && index.terms.all[successor].granted.is_some_and(|granted| granted > due)
        && others().any(|cand| index.candidates.standing(cand, due).is_some() && !hit(cand))
}

/// Whether no recipe can prevent this handover.
fn is_excused(index: &Index<'_>, change: &LeaderChange) -> bool {
    was_cut_off(index, change, |fault| fault.verified()) || is_echo(index, change)
}

/// Whether the loser's client lost its connection under a server fault, before or just after it lost the lead, for at
/// least the shortest time after which its session may have ended.
fn was_cut_off(index: &Index<'_>, change: &LeaderChange, counts: fn(&Fault<'_>) -> bool) -> bool {
    let (lost, next) = (&index.terms.all[change.term], &index.terms.all[change.successor]);
    let Some(gone) = index.candidates.cut_off_since(lost.session, next.grant) else { return false };
    let mut faults = index.faults.on_servers().filter(|fault| counts(fault));
    gone + index.session_ends_after_loss() <= next.grant
        && gone <= change.at.max(lost.ended.1) + index.stall_limit()
        && faults.any(|fault| fault.t <= gone && change.at <= fault.explains_until)
}

/// Whether leadership never moved: the old leader led on after the successor. A stop or a forced session end must
/// explain the successor's whole belief.
fn is_echo(index: &Index<'_>, change: &LeaderChange) -> bool {
    let (held, echo) = (&index.terms.all[change.term], &index.terms.all[change.successor]);
    held.ended.0 >= echo.ended.1 && index.leadership_confounder(&[echo.possible()], &[echo]).is_some()
}
