//! The outcome of every lead: lost to a verified fault and handed over, still vacant when the run ended, kept after
//! all, or handed over without a fault that explains it.

use std::collections::{BTreeMap, BTreeSet};

use super::candidates::Candidates;
use super::fault::Fault;
use super::faults::{Deadline, Faults};
use super::intervals::OwnershipIntervals;
use super::survival::Survival;
use super::terms::{Ending, Term, Terms};
use super::verification::VerificationResult;
use crate::stats::spans::Span;
use hustings_record::{Evidence, FaultKind, LeadLoss, Nanos, Phase, RevokeReason};

/// Notifications of the deletion of a whole group come at once, and the name may soon belong to another znode.
const VANISHED_NS: Nanos = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossOutcome {
    /// The successor's term, as a place among the terms.
    Completed { successor: usize },
    /// There was no successor by this time.
    Censored { at: Nanos },
    /// The same incarnation kept the lead.
    Survived,
}

/// A verified fault hit the leader of a group.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// Places of the fault and of the term that it hit.
    pub fault: usize,
    pub term: usize,
    pub group: u32,
    /// When the lead was lost: when a resigner's belief ended, or when another fault acted on this leader.
    pub effect: Nanos,
    /// From when on others could be notified: when a resigner's deletion was sent; else as `effect`.
    pub released: Nanos,
    /// By when the znode was gone for certain: a resignation's deletion was answered.
    pub answered: Option<Nanos>,
    /// Notifications of the group between these times belong to this loss. Before and after them, the znode's name may
    /// mean another one.
    pub since: Nanos,
    pub until: Nanos,
    pub outcome: LossOutcome,
}

/// A change of leader that is no loss to a verified fault.
#[derive(Clone, Copy, Debug)]
pub struct LeaderChange {
    pub group: u32,
    pub term: usize,
    pub successor: usize,
    pub at: Nanos,
}

#[derive(Default)]
pub struct Losses {
    /// In order of group and time.
    pub all: Vec<Loss>,
    /// No fault explains them: false failovers.
    pub unplanned: Vec<LeaderChange>,
    /// A verified fault on the loser explains them, but did not hit it as the leader. With the fault's place.
    pub explained: Vec<(LeaderChange, usize)>,
    /// Only a fault that is not verified could explain them: neither planned nor unplanned.
    pub unverified: Vec<LeaderChange>,
}

struct LossFinder<'i, 'a> {
    candidates: &'i Candidates<'a>,
    faults: &'i Faults<'a>,
    terms: &'i Terms<'a>,
    intervals: &'i OwnershipIntervals,
    survival: Survival<'i, 'a>,
    /// Confirmed terms of each group, in the order of a⁺.
    confirmed: BTreeMap<u32, Vec<usize>>,
    /// Beginning of the tear-down.
    until: Nanos,
}

impl Losses {
    pub(super) fn new(
        candidates: &Candidates<'_>,
        faults: &Faults<'_>,
        terms: &Terms<'_>,
        (intervals, unread): (&OwnershipIntervals, &BTreeSet<u16>),
        phases: &BTreeMap<Phase, Nanos>,
        deadline: &Deadline<'_>,
    ) -> Self {
        let until = phases.get(&Phase::TearDown).copied().unwrap_or(deadline.end);
        let mut confirmed = BTreeMap::new();
        for (&group, places) in &terms.by_group {
            let mut places: Vec<usize> = places.iter().copied().filter(|&p| terms.all[p].granted.is_some()).collect();
            places.sort_by_key(|&p| terms.all[p].granted);
            confirmed.insert(group, places);
        }
        let survival = Survival { candidates, intervals, unread, timeout: deadline.timeout };
        let finder = LossFinder { candidates, faults, terms, intervals, survival, confirmed, until };
        let mut losses = Self { all: finder.losses(), ..Self::default() };
        finder.other_changes(&mut losses);
        losses
    }

    /// The losses of a group, in order of time, and the place of the first among all.
    #[must_use]
    pub fn of_group(&self, group: u32) -> (usize, &[Loss]) {
        let first = self.all.partition_point(|loss| loss.group < group);
        (first, &self.all[first..self.all.partition_point(|loss| loss.group <= group)])
    }

    /// Changes of a group's leader that are no loss to a verified fault on it: unplanned and explained ones.
    pub fn other_changes_of(&self, group: u32) -> impl Iterator<Item = &LeaderChange> {
        let first = self.unplanned.partition_point(|change| change.group < group);
        let unplanned = self.unplanned[first..].iter();
        let first = self.explained.partition_point(|(change, _)| change.group < group);
        let explained = self.explained[first..].iter().map(|(change, _)| change);
        let of_group = move |change: &&LeaderChange| change.group == group;
        unplanned.take_while(of_group).chain(explained.take_while(of_group))
    }

    pub fn completed(&self) -> impl Iterator<Item = (&Loss, usize)> {
        self.all.iter().filter_map(|l| match l.outcome {
            LossOutcome::Completed { successor } => Some((l, successor)),
            _ => None,
        })
    }
}

impl LossFinder<'_, '_> {
    fn losses(&self) -> Vec<Loss> {
        let mut losses = Vec::new();
        for (place, fault) in self.faults.all.iter().enumerate() {
            let Some(proof) = fault.injected.as_ref().filter(|p| p.verified) else { continue };
            // The leader of each group at the moment of the fault; with two of them, the later one.
            let mut met: BTreeMap<u32, usize> = BTreeMap::new();
            for &cand in &fault.cands {
                let held = self.terms.held_by(cand, proof.from).or_else(|| self.terms.held_by(cand, fault.t));
                let meets =
                    |term: usize| self.is_hit(proof, term) && !self.survival.is_over(&self.terms.all[term], proof.from);
                let Some(term) = held.filter(|&term| meets(term)) else { continue };
                let best = met.entry(self.terms.all[term].group).or_insert(term);
                if self.terms.all[*best].grant < self.terms.all[term].grant {
                    *best = term;
                }
            }
            losses.extend(met.into_iter().map(|(group, term)| {
                let deletion = self.deletion(fault, &self.terms.all[term]);
                // A candidate that deletes first and stops believing later has lost the lead by its deletion.
                let effect = deletion.map_or(proof.from, |sent| sent.0.min(self.terms.all[term].ended.0));
                let released = deletion.map_or(effect, |sent| sent.0);
                let outcome = self.outcome(fault, term, effect, deletion);
                let answered = deletion.map(|sent| sent.1);
                let (since, until) = (released, self.until);
                Loss { fault: place, term, group, effect, released, answered, since, until, outcome }
            }));
        }
        losses.sort_by_key(|l| (l.group, l.effect));
        let mut losses = self.one_loss_a_term(losses);
        self.set_limits(&mut losses);
        losses
    }

    /// Whether the fault hit the lead's own candidate. If it lost replies, one must be to the create of the lead's
    /// znode. Data that is not recorded rules nothing out.
    fn is_hit(&self, proof: &VerificationResult<'_>, term: usize) -> bool {
        let lost = proof.seen.iter().filter_map(|seen| match seen {
            Evidence::Lost { replies, .. } => Some(replies),
            _ => None,
        });
        let mut lost = lost.flatten().peekable();
        lost.peek().is_none() || lost.any(|reply| reply.zxid == self.terms.all[term].czxid)
    }

    /// When the deletion of a resigner's znode was sent and answered.
    fn deletion(&self, fault: &Fault<'_>, term: &Term<'_>) -> Option<Span> {
        if fault.kind != FaultKind::Resign {
            return None;
        }
        let left = self.candidates.departures.get(&term.cand)?;
        let left = left[left.partition_point(|d| d.t < fault.t)..].iter().find(|d| d.session == term.session)?;
        left.how.deletion()
    }

    fn outcome(&self, fault: &Fault<'_>, lost: usize, effect: Nanos, deletion: Option<Span>) -> LossOutcome {
        let term = &self.terms.all[lost];
        let confirmed = self.confirmed.get(&term.group).map_or(&[][..], Vec::as_slice);
        let first = confirmed.partition_point(|&p| self.terms.all[p].granted <= Some(effect));
        let next =
            confirmed[first..].iter().copied().find(|&p| p != lost && !self.is_lost_lead(fault, lost, p, deletion));
        // From the tear-down on, leads change because candidates leave by order.
        let next = next.filter(|&p| self.terms.all[p].granted < Some(self.until));
        let outlived = self.survival.outlived_at(fault, term);
        let kept = outlived.is_some();
        // Without its znode the lead is lost, even if no other candidate enrols and the same one takes it back.
        let gone =
            |next: &Term<'_>| deletion.is_some_and(|sent| next.grant >= sent.1) || next.rests_on_another_znode(term);
        match next.map(|p| (p, &self.terms.all[p])) {
            Some((_, next))
                if next.incarnation() == term.incarnation() && !gone(next) && !fault.always_costs_leads() =>
            {
                LossOutcome::Survived
            }
            Some((_, next)) if kept && next.granted > outlived => LossOutcome::Survived,
            Some((successor, _)) => LossOutcome::Completed { successor },
            None if !fault.always_costs_leads()
                && !self.survival.is_over(term, self.until)
                && (kept || term.ending == Ending::Censored || term.ended.0 >= self.until) =>
            {
                LossOutcome::Survived
            }
            None => LossOutcome::Censored { at: self.until.max(effect) },
        }
    }

    /// Whether the term is the lost lead once more, which takes nothing over: its candidate believed again while the lead
    /// was being lost, or after that. A session that is ended by force, and a znode that is deleted, are over whatever is
    /// believed of them. Of other losses, those are that ZooKeeper had named another owner, or none, before.
    fn is_lost_lead(&self, fault: &Fault<'_>, lost: usize, again: usize, deletion: Option<Span>) -> bool {
        let (lost, again) = (&self.terms.all[lost], &self.terms.all[again]);
        if again.incarnation() != lost.incarnation()
            || again.rests_on_another_znode(lost) && fault.kind != FaultKind::Expire
        {
            return false;
        }
        let same_znode = deletion.is_none() && again.is_known() && again.czxid == lost.czxid;
        let is_being_deleted = deletion.is_some_and(|sent| again.grant < sent.1);
        fault.kind == FaultKind::Expire
            || fault.always_costs_leads() && (same_znode || is_being_deleted)
            || self.survival.is_over(lost, again.grant)
    }

    /// Several faults may hit one term. Its loss belongs to the first that it did not survive. It survived those before
    /// it, and those after it hit a lead that was already lost.
    fn one_loss_a_term(&self, losses: Vec<Loss>) -> Vec<Loss> {
        let mut by_term: BTreeMap<usize, Vec<Loss>> = BTreeMap::new();
        for loss in losses {
            by_term.entry(loss.term).or_default().push(loss);
        }
        let mut kept = Vec::new();
        for mut of_term in by_term.into_values() {
            let is_survived = |at: usize| of_term[at + 1..].iter().any(|later| self.is_survived(&of_term[at], later));
            let cost = (0..of_term.len()).find(|&at| !is_survived(at)).unwrap_or(0);
            of_term.truncate(cost + 1);
            of_term[..cost].iter_mut().for_each(|loss| loss.outcome = LossOutcome::Survived);
            kept.append(&mut of_term);
        }
        kept.sort_by_key(|loss| (loss.group, loss.effect));
        kept
    }

    /// Whether the leader had survived the fault of `loss` when the fault of `later` hit it. A deletion that was
    /// answered ended a lead that existed until then.
    fn is_survived(&self, loss: &Loss, later: &Loss) -> bool {
        let gone = match loss.outcome {
            LossOutcome::Survived => return true,
            LossOutcome::Completed { successor } => self.terms.all[successor].granted <= Some(later.effect),
            LossOutcome::Censored { .. } => false,
        };
        let (fault, term) = (&self.faults.all[loss.fault], &self.terms.all[loss.term]);
        if gone || fault.always_costs_leads() || self.survival.is_over(term, later.effect) {
            return false;
        }
        later.effect > fault.explains_until
            || later.answered.is_some()
            || self.survival.outlived(fault, term, later.effect)
    }

    /// If every term rests on a znode of the same name, deletions belong to this loss only for a time. It ends when the
    /// next owner's znode goes, whether that owner believed or not, or when the next term ends.
    fn set_limits(&self, losses: &mut [Loss]) {
        for at in 0..losses.len() {
            let lost = &self.terms.all[losses[at].term];
            losses[at].until = self.comes_again(&losses[at], lost).map_or(self.until, |again| again.min(self.until));
            let LossOutcome::Completed { successor } = losses[at].outcome else { continue };
            let successor = &self.terms.all[successor];
            if successor.node != lost.node {
                continue;
            }
            let group = losses[at].group;
            let of_group = (at + 1..losses.len()).take_while(|&next| losses[next].group == group);
            let place = of_group.into_iter().find(|&next| losses[next].outcome != LossOutcome::Survived);
            let next = place.map(|next| losses[next]);
            let gone = self.intervals.next_gone(group, lost.czxid, losses[at].effect);
            let expires = |next: Loss| self.faults.all[next.fault].kind.facts().lets_sessions_expire;
            let until = match (gone, next) {
                // A session that is left to expire keeps its znode.
                (Some(gone), Some(next)) if expires(next) => gone,
                (Some(gone), Some(next)) => gone.min(next.released),
                (None, Some(next)) => next.released,
                (Some(gone), None) if successor.ending.keeps_znode() => gone,
                (gone, None) => gone.unwrap_or(Nanos::MAX).min(successor.ended.0),
            };
            let until = until.clamp(losses[at].effect, self.until.max(losses[at].effect));
            losses[at].until = until;
            if let Some(next) = place {
                losses[next].since = losses[next].since.max(until);
            }
        }
    }

    /// When the lost znode's name may mean another one: the loser is enrolled with such a one. If the whole group was
    /// created again, also when the loser deletes such a one without having known of it, or after a moment.
    fn comes_again(&self, loss: &Loss, lost: &Term<'_>) -> Option<Nanos> {
        let known = self.candidates.takes_name_again(lost.cand, lost.node, lost.czxid, loss.effect);
        if self.faults.all[loss.fault].kind.facts().leads != LeadLoss::Anew {
            return known;
        }
        let left = self.candidates.departures.get(&lost.cand).into_iter().flatten();
        let left = left.map(|left| left.how.deletion().map_or(left.t, |deletion| deletion.0));
        let left = left.filter(|left| *left > loss.effect);
        // ZooKeeper names it as owner of another znode, whether it knows of that or not.
        let owns = self.intervals.of_group(loss.group).iter().filter(|interval| interval.session == Some(lost.session));
        let owns = owns.filter(|interval| interval.czxid != Some(lost.czxid)).map(|interval| interval.span.0);
        let owns = owns.filter(|owns| *owns > loss.effect);
        known.into_iter().chain(left).chain(owns).chain([loss.effect.saturating_add(VANISHED_NS)]).min()
    }

    fn other_changes(&self, losses: &mut Losses) {
        let planned: BTreeSet<usize> = losses.completed().map(|(_, successor)| successor).collect();
        for (&group, places) in &self.confirmed {
            for pair in places.windows(2) {
                let (term, next) = (&self.terms.all[pair[0]], &self.terms.all[pair[1]]);
                let at = term.ended.0.min(next.granted.unwrap_or(next.grant));
                let stopped = at >= self.until || term.ending == Ending::Revoked(RevokeReason::ElectionDeleted);
                let same = term.incarnation() == next.incarnation() && !next.rests_on_another_znode(term);
                if same || planned.contains(&pair[1]) || stopped {
                    continue;
                }
                let change = LeaderChange { group, term: pair[0], successor: pair[1], at };
                // A leader that stepped down without a connection owns the lead while its session lives. The death of a
                // process is known only between two times.
                let may_lack_contact = || {
                    !term.is_read(self.candidates, self.survival.unread)
                        || self.candidates.lost_contact(term.session, (at, next.grant.max(at)))
                };
                let kept = term.ending == Ending::Revoked(RevokeReason::SteppedDown) && may_lack_contact();
                let by = if kept { next.grant } else { term.ended.1.min(next.grant) };
                match self.cause(term, (at, by.max(at))) {
                    None => losses.unplanned.push(change),
                    Some(fault) if self.faults.all[fault].verified() => losses.explained.push((change, fault)),
                    Some(_) => losses.unverified.push(change),
                }
            }
        }
    }

    /// The fault that could have cost this candidate its lead within `span`; a verified one where there is one. None that the
    /// lead outlived, or that was over when it began.
    fn cause(&self, term: &Term<'_>, span: Span) -> Option<usize> {
        let places = self.faults.by_cand.get(&term.cand).into_iter().flatten().copied();
        let under_way = |place: &usize| {
            let fault = &self.faults.all[*place];
            fault.explains(span)
                && !term.began_after(fault, self.candidates)
                && self.survival.outlived_at(fault, term).is_none_or(|outlived| span.0 <= outlived)
        };
        places.filter(under_way).max_by_key(|&place| (self.faults.all[place].verified(), place))
    }
}
