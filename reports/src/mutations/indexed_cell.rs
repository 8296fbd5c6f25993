//! The cell that a mutation alters, and queries on it.

use std::collections::BTreeMap;

use super::sites::SiteFilter;
use crate::index::{EnrolmentSpan, Fault, Index, JudgedWrite, Loss, LossOutcome, Term};
use crate::stats::spans::{Span, touches};
use hustings_record::{CellRecord, Event, Nanos, Phase};

/// Calm required in a group before a loss and after its notification.
pub(super) const CALM_NS: Nanos = 300_000_000;

/// Number of a term that a mutation makes up: no candidate reaches it.
pub(super) const MADE_UP_TERM: u32 = 1 << 30;
/// A token that no znode has.
pub(super) const MADE_UP_TOKEN: i64 = i64::MAX >> 8;

/// Whether this event of that segment is the revoke that ended the term.
pub(super) fn is_end_of(term: &Term<'_>, segment: usize, event: &Event) -> bool {
    let Event::Revoke { from, to, cand, session, .. } = event else { return false };
    (term.life, term.cand, term.session, term.ended) == (segment, *cand, *session, (*from, *to))
}

/// A cell and its index.
pub(super) struct IndexedCell<'s> {
    pub(super) cell: &'s CellRecord,
    pub(super) index: &'s Index<'s>,
}

impl<'s> IndexedCell<'s> {
    pub(super) fn losses(&self) -> &'s [Loss] {
        &self.index.losses.all
    }

    pub(super) fn term(&self, place: usize) -> &'s Term<'s> {
        &self.index.terms.all[place]
    }

    /// The token of an earlier term of the same candidate by another znode.
    pub(super) fn earlier_token(&self, place: usize) -> Option<i64> {
        let own = self.term(place);
        let mut terms = self.index.terms.by_cand.get(&own.cand)?.iter().map(|&other| self.term(other));
        terms.find(|other| other.grant < own.grant && other.rests_on_another_znode(own)).map(|other| other.czxid)
    }

    /// The fault that caused the loss.
    pub(super) fn fault(&self, loss: usize) -> &'s Fault<'s> {
        &self.index.faults.all[self.losses()[loss].fault]
    }

    /// The term that was lost.
    pub(super) fn loser(&self, loss: usize) -> &'s Term<'s> {
        self.term(self.losses()[loss].term)
    }

    /// The end of the last belief among the group's terms granted before this loss.
    pub(super) fn believed_until(&self, loss: usize) -> Nanos {
        let lost = &self.losses()[loss];
        let terms = self.index.terms.of_group(lost.group).iter().map(|&place| self.term(place));
        terms.filter(|term| term.grant <= lost.effect).map(|term| term.ended.1).max().unwrap_or(lost.effect)
    }

    /// The next term, if another candidate completed the handover.
    pub(super) fn successor(&self, loss: usize) -> Option<&'s Term<'s>> {
        let LossOutcome::Completed { successor } = self.losses()[loss].outcome else { return None };
        let next = self.term(successor);
        (next.cand != self.loser(loss).cand).then_some(next)
    }

    /// When the successor was granted the lead.
    pub(super) fn granted(&self, loss: usize) -> Option<Nanos> {
        self.successor(loss)?.granted
    }

    /// Places of the losses after which another candidate was granted leadership within the measured window.
    pub(super) fn handed_over(&self) -> Vec<usize> {
        let until = self.index.observed_until();
        (0..self.losses().len()).filter(|&loss| self.granted(loss).is_some_and(|granted| granted < until)).collect()
    }

    /// These losses as possible sites.
    pub(super) fn handovers(&self) -> SiteFilter {
        SiteFilter::of(self.handed_over(), "no lead was handed over")
    }

    /// The segment that the candidate's process wrote at `t`.
    pub(super) fn segment_at(&self, cand: u32, t: Nanos) -> Option<usize> {
        let host = self.index.candidates.all.get(&cand)?.host;
        let mut lives = self.index.lives.all.iter();
        lives.position(|life| life.host == Some(host) && life.first <= t && t <= life.last)
    }

    /// The segment that holds the resource's writes.
    pub(super) fn writes_segment(&self) -> Option<usize> {
        self.segment_with(|event| matches!(event, Event::Write { .. }))
    }

    /// The writes that satisfy this predicate: each one's place in the order of arrival, and its number.
    pub(super) fn writes_that(&self, are: impl Fn(&JudgedWrite) -> bool) -> BTreeMap<usize, u64> {
        let all = self.index.writing.all().enumerate().filter(|(_, work)| are(&work.found));
        all.map(|(place, work)| (place, work.seq)).collect()
    }

    /// The coordinator's own segment.
    pub(super) fn coordinator(&self) -> Option<usize> {
        self.segment_with(|event| matches!(event, Event::Phase { .. }))
    }

    fn segment_with(&self, is_there: impl Fn(&Event) -> bool) -> Option<usize> {
        self.cell.segments.iter().position(|segment| segment.events.iter().any(&is_there))
    }

    /// The other candidates of the group that were enrolled, connected and undisturbed from `span.0` to `span.1`.
    pub(super) fn calm_others(&self, group: u32, but: u32, span: Span) -> Vec<(u32, &'s EnrolmentSpan<'s>)> {
        let index = self.index;
        let others = index.candidates.of_group(group).iter().copied().filter(|&cand| cand != but);
        others.filter_map(|cand| Some((cand, self.calm(cand, span)?))).collect()
    }

    /// The candidate's enrolment throughout `span`, if undisturbed then and its process wrote events before and after.
    /// The last events of a killed process may be missing.
    pub(super) fn calm(&self, cand: u32, span: Span) -> Option<&'s EnrolmentSpan<'s>> {
        let index = self.index;
        let host = index.candidates.all.get(&cand)?.host;
        let stand = index.candidates.standing(cand, span.0).filter(|stand| stand.to >= span.1)?;
        let connected =
            index.candidates.connected(stand.session, span.0) && !index.candidates.lost_touch(stand.session, span);
        let disturbed = index.faults.on_cand_in(cand, span).any(|fault| fault.acts_in(span))
            || index.faults.on_servers().any(|fault| fault.acts_in(span))
            || touches(index.faults.stops_of(host), span)
            || index.lives.stalls_in(&[host], span).any(|stall| stall.own > index.stall_limit());
        let written = [span.0, span.1].into_iter().all(|t| self.segment_at(cand, t).is_some());
        (connected && !disturbed && written).then_some(stand)
    }

    /// When the tear-down began, and how much later it begins if a candidate stays missing: the drain waits for missing
    /// candidates.
    pub(super) fn whole_drain(&self) -> (Nanos, Nanos) {
        let phases = &self.index.phases;
        let until = self.index.observed_until();
        let (Some(&drain), Some(longest)) = (phases.get(&Phase::Drain), self.setting_ms("phases.drain_max_ms")) else {
            return (until, 0);
        };
        (until, (drain + longest * 1_000_000).saturating_sub(until))
    }

    /// When the tear-down begins if a candidate stays missing.
    pub(super) fn end_of_whole_drain(&self) -> Nanos {
        let (until, by) = self.whole_drain();
        until + by
    }

    fn setting_ms(&self, name: &str) -> Option<u64> {
        self.index.info.parameters.get(name)?.parse().ok()
    }

    /// A time within the term and the measured window around which the leader was undisturbed. From `before` earlier
    /// until `after` later no fault on it or on servers had effects, it was connected, and no process that it needs
    /// stalled.
    pub(super) fn quiet_in_term(&self, place: usize, before: Nanos, after: Nanos) -> Option<Nanos> {
        let (term, window) = (self.term(place), self.index.window()?);
        let led = term.definite()?;
        let (from, to) = (led.0.max(window.0) + 1, led.1.min(window.1).checked_sub(after)?);
        let is_quiet =
            |at: &Nanos| from < *at && *at <= to && !self.disturbed(term, (at.saturating_sub(before), at + after));
        // As late as possible, so that earlier events matter least; or earlier.
        [to, from.midpoint(to), from + (to.saturating_sub(from)) / 4].into_iter().find(is_quiet)
    }

    fn disturbed(&self, term: &Term<'_>, span: Span) -> bool {
        let index = self.index;
        index.faults.on_cand_in(term.cand, span).next().is_some()
            || index.servers_hit_within(span)
            || index.lives.stalls_in(&[term.host], span).any(|stall| stall.own > 0)
            || index.candidates.lost_touch(term.session, span)
    }

    /// The term's number in the record.
    pub(super) fn term_number(&self, term: &Term<'_>) -> u32 {
        let events = self.cell.segments[term.life].events.iter();
        let mut grants = events.filter_map(|event| match event {
            Event::Grant { t, cand, session, term: number, .. } => Some(((*t, *cand, *session), *number)),
            _ => None,
        });
        grants.find(|grant| grant.0 == (term.grant, term.cand, term.session)).map_or(0, |grant| grant.1)
    }

    /// A follower of this leader's group that was enrolled by a znode of its own, connected and undisturbed throughout `span`.
    pub(super) fn calm_follower(&self, leader: &Term<'_>, span: Span) -> Option<(u32, &'s EnrolmentSpan<'s>)> {
        let others = self.calm_others(leader.group, leader.cand, span);
        let leads = |cand: u32| {
            let terms = self.index.terms.by_cand.get(&cand).into_iter().flatten().map(|&term| self.term(term));
            terms.into_iter().any(|term| term.grant <= span.1 && span.0 <= term.ended.1)
        };
        others.into_iter().find(|(cand, _)| !leads(*cand))
    }

    /// Whether all other candidates of the group were enrolled, connected, undisturbed and at rest from before the loss
    /// until after its notification. No other fault may hit the group.
    pub(super) fn group_is_calm(&self, loss: usize, until: Nanos) -> bool {
        let index = self.index;
        let (lost, own) = (&self.losses()[loss], self.fault(loss));
        let around = (lost.effect.saturating_sub(CALM_NS), until + CALM_NS);
        let before = (around.0, lost.effect.min(lost.released).saturating_sub(1));
        let others = index.candidates.of_group(lost.group).iter().filter(|&&cand| cand != self.loser(loss).cand);
        let at_rest = |cand: u32| !index.presence.is_unsettled(cand, before) && self.calm(cand, around).is_some();
        // An earlier fault may have removed a candidate from the queue.
        let felt = (around.0.saturating_sub(index.timeout_or_asked() / 2), around.1);
        let met = index.faults.on_group_in(lost.group, felt).any(|other| other.id != own.id);
        !met && others.copied().all(at_rest)
    }
}
