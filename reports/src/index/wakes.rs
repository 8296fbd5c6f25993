//! Wake-ups, and the losses that caused them: every notification of a candidate about anything but its own znode.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::Index;
use super::losses::{LeaderChange, Loss, LossOutcome};
use super::notices::Notice;
use super::places::QueuePlace;
use super::span_index::SpanIndex;
use super::terms::Term;
use super::time::EDGE_NS;
use crate::stats::spans::Span;
use hustings_record::numbers::to_u32;
use hustings_record::{FaultKind, Nanos, WatchEvent};

/// The loss of a candidate, and its wake-ups.
#[derive(Clone, Debug)]
pub struct LossWakeUps<'a> {
    pub group: u32,
    pub cand: u32,
    /// Name and czxid of its znode.
    pub node: &'a str,
    pub czxid: i64,
    /// It led; otherwise it was a follower.
    pub led: bool,
    /// Place among the losses of leads to faults. None: a follower, or a lead that was lost without a fault on it.
    pub by_fault: Option<usize>,
    /// From when on its znode may have been gone, and by when it was.
    pub gone: Span,
    /// The znode is known to have gone within that time.
    pub certain: bool,
    /// Until when notifications of the znode's name are about this loss.
    pub until: Nanos,
    /// Notifications of others about the deletion of its znode; then their other notifications until the next loss. In
    /// order of time, each.
    pub told: Vec<Notice<'a>>,
    pub besides: Vec<Notice<'a>>,
}

impl LossWakeUps<'_> {
    /// Wake-ups: who is woken twice counts twice.
    #[must_use]
    pub fn woken(&self) -> u64 {
        (self.told.len() + self.besides.len()) as u64
    }

    /// When the first candidate was notified of it.
    #[must_use]
    pub fn first(&self) -> Option<Nanos> {
        self.told.iter().chain(&self.besides).map(|notice| notice.t).min()
    }
}

/// All wake-ups of a cell.
#[derive(Default)]
pub struct Wakes<'a> {
    /// In order of group and time.
    pub losses: Vec<LossWakeUps<'a>>,
    /// Before the first loss.
    pub without_loss: Vec<Notice<'a>>,
    /// While nothing had changed in the group for longer than a notification takes.
    pub without_change: Vec<Notice<'a>>,
    /// Notifications after a reconnect of changes in between, or of the znode of a create whose answer may have been
    /// lost.
    pub excused: u64,
    /// By group: the place of its first loss, and when each of its znodes may have gone.
    lately: BTreeMap<u32, (usize, SpanIndex)>,
}

impl<'a> Wakes<'a> {
    /// `notified_within`: the time after a change by which every candidate that is to be notified has been notified.
    #[must_use]
    pub fn new(index: &Index<'a>, notified_within: Nanos) -> Self {
        let mut wakes = Self::default();
        for group in 0..to_u32(index.info.groups.len()) {
            let mut losses = leads(index, group);
            losses.extend(other_leads(index, group));
            losses.extend(followers(index, group));
            losses.sort_by_key(|lost| (lost.gone.0, lost.czxid));
            once_each(&mut losses);
            wakes.add_besides(index, group, notified_within, &mut losses);
            let gone = losses.iter().map(|lost| lost.gone).enumerate();
            wakes.lately.insert(group, (wakes.losses.len(), SpanIndex::of(gone)));
            wakes.losses.append(&mut losses);
        }
        wakes
    }

    /// Those of a group whose znode may have gone within `span`; the last one first.
    pub fn gone_in(&self, group: u32, span: Span) -> impl Iterator<Item = &LossWakeUps<'a>> {
        let of_group = self.lately.get(&group).into_iter();
        of_group.flat_map(move |(first, lately)| lately.within(span).map(move |place| &self.losses[first + place]))
    }

    /// The last lead that the group lost before this loss, if it was lost shortly before.
    #[must_use]
    pub fn lead_before(&self, lost: &LossWakeUps<'_>, shortly: Nanos) -> Option<&LossWakeUps<'a>> {
        let until = self.losses.partition_point(|other| (other.group, other.gone.0) < (lost.group, lost.gone.0));
        let of_group = self.losses[..until].iter().rev().take_while(|other| other.group == lost.group);
        let mut leads = of_group.filter(|other| other.led);
        leads.next().filter(|other| lost.gone.0 <= other.gone.1 + shortly)
    }

    /// Notifications other than deletions of known znodes are assigned to the last loss before them.
    fn add_besides(&mut self, index: &Index<'a>, group: u32, notified_within: Nanos, losses: &mut [LossWakeUps<'a>]) {
        let changes = changes(index, group, losses);
        let stood: BTreeMap<&str, u32> = index.places.of_group(group).iter().map(|p| (p.node, p.cand)).collect();
        let terms = index.terms.of_group(group).iter().map(|&place| &index.terms.all[place]);
        let led: BTreeMap<&str, ()> = terms.map(|term| (term.node, ())).collect();
        for notice in index.notices.of_group(group).iter().filter(|notice| notice.t < index.observed_until()) {
            let known = stood.contains_key(notice.node) || led.contains_key(notice.node);
            if notice.kind == WatchEvent::Deleted && known || stood.get(notice.node) == Some(&notice.cand) {
                continue;
            }
            let sent = index.sent_within(notice);
            let replayed = |at| index.candidates.notified_on_reconnect(notice.session, at);
            let of_unanswered_create =
                notice.kind == WatchEvent::Deleted && index.unanswered_creates.possible(group, sent);
            if replayed(sent.0) || replayed(sent.1) || of_unanswered_create {
                self.excused += 1;
                continue;
            }
            match losses.partition_point(|lost| lost.gone.0 <= notice.t) {
                0 => self.without_loss.push(*notice),
                _ if !changed_within(&changes, (sent.0.saturating_sub(notified_within), sent.1)) => {
                    self.without_change.push(*notice);
                }
                next => losses[next - 1].besides.push(*notice),
            }
        }
    }
}

/// Leads that were lost to a verified fault, and whose znode is known to have gone.
fn leads<'a>(index: &Index<'a>, group: u32) -> Vec<LossWakeUps<'a>> {
    let (first, of_group) = index.losses.of_group(group);
    let gone = (first..).zip(of_group).filter(|(_, loss)| znode_is_gone(index, loss));
    gone.map(|(place, loss)| {
        let term = &index.terms.all[loss.term];
        let until = match loss.outcome {
            LossOutcome::Completed { successor } => index.terms.all[successor].grant,
            LossOutcome::Censored { at } => at,
            LossOutcome::Survived => loss.effect,
        };
        // An answer tells more exactly when the znode went.
        let fault = &index.faults.all[loss.fault];
        let closed =
            (fault.kind == FaultKind::Expire).then_some(fault.injected.as_ref()).flatten().map(|proof| proof.to);
        let until = loss.answered.or(closed).map_or(until, |by| by.min(until));
        LossWakeUps {
            group,
            cand: term.cand,
            node: term.node,
            czxid: term.czxid,
            led: true,
            by_fault: Some(place),
            gone: (loss.released, until.max(loss.released)),
            certain: true,
            until: loss.until,
            told: told(index, group, term.node, term.cand, (loss.since, loss.until)),
            besides: Vec::new(),
        }
    })
    .collect()
}

/// Whether the lost znode is known to have gone: from a watcher's notification, or without one.
fn znode_is_gone(index: &Index<'_>, loss: &Loss) -> bool {
    let told = || loss.outcome != LossOutcome::Survived && !index.woken(loss).is_empty();
    is_gone_by_the_successor(index, loss) || told()
}

/// A successor of another incarnation, and the end of the lost belief before it, prove that the lost znode is gone.
/// With two leaders at once, the second grant proves nothing about the first znode. It does if the servers named the
/// second znode as the owner of the lead: that is one znode at a time.
pub(crate) fn is_gone_by_the_successor(index: &Index<'_>, loss: &Loss) -> bool {
    let LossOutcome::Completed { successor } = loss.outcome else { return false };
    let (lost, next) = (&index.terms.all[loss.term], &index.terms.all[successor]);
    // One znode at a time owns the lead: the lock, or the first of the queue.
    let next_owns = || {
        let mut intervals = index.intervals.of_group(loss.group).iter();
        lost.czxid != next.czxid && intervals.any(|interval| interval.is_of(next))
    };
    lost.ended.0 <= next.grant || next_owns()
}

/// A notification is about one loss: of losses of one name, the first that it may be about.
fn once_each(losses: &mut [LossWakeUps<'_>]) {
    let mut seen: BTreeSet<(String, u32, Nanos)> = BTreeSet::new();
    for lost in losses {
        let node = lost.node;
        lost.told.retain(|notice| seen.insert((node.to_owned(), notice.cand, notice.t)));
    }
}

/// Leads that were lost without a fault on the leader, unplanned or explained, and whose znode is known to have gone
/// while the cell was measured. A znode goes once: it counts at its last change, and not if a fault cost its lead.
fn other_leads<'a>(index: &Index<'a>, group: u32) -> Vec<LossWakeUps<'a>> {
    let znode = |term: usize| (index.terms.all[term].incarnation(), index.terms.all[term].czxid);
    let (_, losses) = index.losses.of_group(group);
    let lost = losses.iter().filter(|loss| loss.outcome != LossOutcome::Survived);
    let by_faults: BTreeSet<_> = lost.map(|loss| znode(loss.term)).collect();
    let mut last: BTreeMap<_, &LeaderChange> = BTreeMap::new();
    for change in index.losses.other_changes_of(group).filter(|change| !by_faults.contains(&znode(change.term))) {
        let counted = last.entry(znode(change.term)).or_insert(change);
        if index.terms.all[counted.term].grant < index.terms.all[change.term].grant {
            *counted = change;
        }
    }
    last.into_values().filter_map(|change| other_lead(index, change)).collect()
}

/// The end of a belief, and the next grant, are no sign that a lead was lost: nothing is known to have cost it. One of
/// two is needed. A candidate was notified, or ZooKeeper named this znode as the owner and then another one, or none.
fn other_lead<'a>(index: &Index<'a>, change: &LeaderChange) -> Option<LossWakeUps<'a>> {
    let (term, next) = (&index.terms.all[change.term], &index.terms.all[change.successor]);
    let displaced = index.intervals.displaced(term);
    let (since, until) =
        if next.node == term.node { between_locks(index, term, next)? } else { (enrolled_by(index, term), Nanos::MAX) };
    let window = index.measured();
    let again = index.candidates.takes_name_again(term.cand, term.node, term.czxid, term.grant);
    let until = until.min(again.unwrap_or(Nanos::MAX)).min(window.1);
    let told = told(index, term.group, term.node, term.cand, (since, until));
    let by = told.first().map(|notice| notice.t).into_iter().chain(displaced.map(|(_, other)| other)).min()?;
    if !(window.0..window.1).contains(&by) {
        return None;
    }
    let from = displaced.map_or(by.saturating_sub(EDGE_NS), |(named, _)| named);
    Some(LossWakeUps {
        group: term.group,
        cand: term.cand,
        node: term.node,
        czxid: term.czxid,
        led: true,
        by_fault: None,
        gone: (from.min(by), by),
        certain: true,
        until,
        told,
        besides: Vec::new(),
    })
}

/// When notifications of a lock's name are about the lock of this term, and not about that of the leader before, or of
/// the next one. Only the observer tells locks of one name apart, and only if it saw the next one follow.
fn between_locks(index: &Index<'_>, term: &Term<'_>, next: &Term<'_>) -> Option<Span> {
    let (named, _) = index.intervals.displaced(term)?;
    let mut after = index.intervals.of_group(term.group).iter().filter(|interval| named <= interval.span.0);
    let follows = after.find(|interval| interval.czxid.is_some())?;
    if !follows.is_of(next) || !index.intervals.saw_all((named, follows.span.0)) {
        return None;
    }
    let since = if term.ending.keeps_znode() { named } else { named.min(term.ended.0) };
    Some((since, index.intervals.next_gone(term.group, term.czxid, named)?))
}

/// By when the candidate of this term was enrolled with its znode.
fn enrolled_by(index: &Index<'_>, term: &Term<'_>) -> Nanos {
    let enrolled = index.candidates.enrolled_since(term.cand, term.czxid);
    enrolled.map_or(term.grant, |enrolled| enrolled.min(term.grant))
}

/// Followers whose znode has gone while the cell was measured.
fn followers<'a>(index: &Index<'a>, group: u32) -> Vec<LossWakeUps<'a>> {
    let (since, until) = index.window().unwrap_or(index.span);
    let of_group = index.places.of_group(group).iter().filter(|place| !place.led);
    of_group
        .filter_map(|place: &QueuePlace<'a>| {
            let again = index.candidates.takes_name_again(place.cand, place.node, place.czxid, place.from);
            let named_until = again.map_or(until, |again| again.min(until));
            let told = told(index, group, place.node, place.cand, (place.from, named_until));
            let gone_by = place.gone_by.filter(|&by| by < until);
            if gone_by.is_none() && told.is_empty() {
                return None;
            }
            let by = gone_by.or(told.last().map(|notice| notice.t)).unwrap_or(until);
            (by >= since).then(|| LossWakeUps {
                group,
                cand: place.cand,
                node: place.node,
                czxid: place.czxid,
                led: false,
                by_fault: None,
                gone: (place.there_until.min(by), by),
                certain: gone_by.is_some(),
                until: named_until,
                told,
                besides: Vec::new(),
            })
        })
        .collect()
}

/// The others that were notified within `window` that this znode was deleted. A candidate that sets its watch again
/// after a reconnect may have two for a moment.
fn told<'a>(index: &Index<'a>, group: u32, node: &'a str, cand: u32, window: Span) -> Vec<Notice<'a>> {
    let mut last: BTreeMap<u32, Nanos> = BTreeMap::new();
    let notices = index.notices.of(group, node, window).iter().filter(|notice| notice.cand != cand);
    let counted = notices.filter(|notice| {
        let again = last.insert(notice.cand, notice.t).is_some();
        !again || !index.candidates.notified_on_reconnect(notice.session, notice.t)
    });
    let mut told: Vec<Notice<'a>> = counted.copied().collect();
    // Most losses wake one candidate.
    told.shrink_to_fit();
    told
}

/// When the znodes of a group changed, or may have changed: a candidate came or left, or was about to.
fn changes(index: &Index<'_>, group: u32, losses: &[LossWakeUps<'_>]) -> Vec<Span> {
    let mut changes: Vec<Span> = losses.iter().map(|lost| lost.gone).collect();
    for cand in index.candidates.of_group(group) {
        let stands = index.candidates.stands.get(cand).into_iter().flatten();
        changes.extend(stands.map(|stand| (stand.from, stand.from)));
        let left = index.candidates.departures.get(cand).into_iter().flatten();
        changes.extend(left.map(|left| (left.how.deletion().map_or(left.t, |deletion| deletion.0), left.t)));
        changes.extend(index.faults.of_cand(*cand).map(|fault| (fault.t, fault.over().max(fault.explains_until))));
    }
    let terms = index.terms.of_group(group).iter().map(|&term| &index.terms.all[term]);
    changes.extend(terms.map(|term| (term.grant, term.granted.unwrap_or(term.grant))));
    changes.extend(index.intervals.of_group(group).iter().map(|interval| (interval.span.0, interval.span.0)));
    changes.extend(index.faults.on_servers().map(|fault| (fault.t, fault.over().max(fault.explains_until))));
    // An instant is a change too.
    changes.iter_mut().for_each(|change| change.1 = change.1.max(change.0 + 1));
    crate::stats::spans::union(changes)
}

fn changed_within(changes: &[Span], span: Span) -> bool {
    crate::stats::spans::touches(changes, span)
}
