//! Compares belief in leadership with ownership by ZooKeeper. A *zombie* believes without owning. A *dead owner* owns
//! while no candidate under its session believes: an orphaned znode.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::awareness::AwarenessJudge;
use super::finding::Finding;
use super::section::Section;
use super::stall_confounder::fail_unless_stalled;
use super::words::{moment, under_way};
use crate::index::{Index, OwnershipInterval, Stall, Term};
use crate::stats::spans::{Span, total, union, within, without};
use hustings_record::numbers::to_u32;
use hustings_record::words::duration;
use hustings_record::{EvidenceSource, Nanos};

/// Tolerance for a busy machine.
const MARGIN_NS: Nanos = 1_000_000_000;

/// Beliefs against what ZooKeeper says of them, in the measured window alone: from the beginning of *measure* to that of
/// *tear-down*. What reaches into it from outside counts with the part within.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ownership {
    /// Longest time that a candidate believed without owning, and that an owner did not believe.
    pub zombie_max_ns: Nanos,
    pub zombies: u64,
    pub dead_owner_max_ns: Nanos,
    pub dead_owners: u64,
    /// Time in which the observer itself could not see.
    pub blind_ns: Nanos,
    /// Its questions that were not answered.
    #[serde(default, skip_serializing_if = "none")]
    pub missed: u64,
}

fn none(count: &u64) -> bool {
    *count == 0
}

impl Section for Ownership {
    const NAME: &'static str = "ownership";
    const ABOUT: &'static str = "Does who believes to lead own the lead by ZooKeeper's word, and the other way round?";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Wire, EvidenceSource::Report];

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let (window, limit) = (index.measured(), owner_may_not_believe_for(index));
        let unaware = AwarenessJudge::of(index);
        evidence(index, &unaware, window, &mut finding);
        zombies(index, &unaware, window, &mut finding);
        dead_owners(index, window, limit, &mut finding);
        finding.headline(format!(
            "longest belief without owning {} ({} longer than a tick, as long as nothing told the leader), longest owning without belief {} ({}; up to {} is allowed); \
             observer blind for {}, {} of its questions not answered",
            duration(finding.section.zombie_max_ns),
            finding.section.zombies,
            duration(finding.section.dead_owner_max_ns),
            finding.section.dead_owners,
            duration(limit),
            duration(finding.section.blind_ns),
            finding.section.missed,
        ));
        finding
    }
}

/// Longest time that a session may own without a belief: it outlives a leader that stepped down or died.
pub(crate) fn owner_may_not_believe_for(index: &Index<'_>) -> Nanos {
    2 * index.timeout_or_asked() + 2 * index.tick + MARGIN_NS
}

fn evidence(index: &Index<'_>, unaware: &AwarenessJudge<'_, '_>, window: Span, finding: &mut Finding<Ownership>) {
    let missing = index.info.groups.len().saturating_sub(index.intervals.groups);
    if missing > 0 {
        finding.inconclusive(format!("{missing} groups were never observed"));
    }
    let missed = index.intervals.missed.iter().filter(|&&missed| window.0 <= missed && missed < window.1);
    finding.section.missed = missed.count() as u64;
    let blind = within(&index.intervals.blind, window);
    finding.section.blind_ns = total(&blind);
    for gap in blind.iter().filter(|gap| gap.1 - gap.0 > index.timeout_or_asked() / 10) {
        let text = format!("the observer saw nothing for {} from {}", duration(gap.1 - gap.0), moment(index, gap.0));
        finding.note(text + &under_way(index.faults.on_servers_at(gap.0)));
    }
    let seen = (0..to_u32(index.info.groups.len())).filter(|&group| !index.intervals.of_group(group).is_empty());
    for group in seen {
        let known = union(index.intervals.of_group(group).iter().map(|interval| interval.span).collect());
        for gap in without(window, &known).into_iter().filter(|gap| gap.1 - gap.0 > index.tick / 10) {
            let Some(hidden) = hidden(index, unaware, group, gap) else { continue };
            let text = format!(
                "{}: the owner is not known for {} from {}, and that may hide {hidden}",
                index.group_name(group),
                duration(gap.1 - gap.0),
                moment(index, gap.0),
            );
            let text = text + &under_way(index.faults.on_servers_at(gap.0));
            match kept_from_seeing(index, gap) {
                Some(kept) => finding.inconclusive_by_stall(format!(
                    "{text}; the harness stalled, or a server was given no processor, for {} of that",
                    duration(kept)
                )),
                None => finding.inconclusive(text),
            }
        }
    }
}

/// For how long the coordinator, in which the observer runs, or another process that is no host stalled within a gap, or threads of a
/// server were given no processor, if that may be why the gap is there: for half of it, or for more than T/10. Either way the owner is
/// not known; the question is whether it would be in a repetition.
fn kept_from_seeing(index: &Index<'_>, gap: Span) -> Option<Nanos> {
    let kept = index.not_running(&[], gap);
    (kept > index.stall_limit() || 2 * kept >= gap.1 - gap.0).then_some(kept)
}

/// The failure if the owner changed at the worst moment within `gap`, in which it is not known. Failures at any moment
/// are reported elsewhere.
fn hidden(index: &Index<'_>, unaware: &AwarenessJudge<'_, '_>, group: u32, gap: Span) -> Option<&'static str> {
    // Without a quorum no owner changes.
    let served = Some(without(gap, &index.servers.unserved)).filter(|served| !served.is_empty()).unwrap_or(vec![gap]);
    let (first, last) = (served[0].0, served[served.len() - 1].1);
    let places = index.terms.by_group.get(&group).map_or(&[][..], Vec::as_slice);
    let terms = || places.iter().map(|&place| &index.terms.all[place]);
    let intervals = index.intervals.of_group(group);
    let (earlier, later) = intervals.split_at(intervals.partition_point(|interval| interval.span.0 < gap.1));
    let is_zombie = |term: &Term<'_>| {
        let Some(believed) = term.definite().filter(|believed| meet(*believed, gap)) else { return false };
        let owned_before = earlier.last().is_some_and(|interval| interval.is_of(term));
        let owns_after = later.first().is_some_and(|interval| interval.is_of(term));
        let open = (if owned_before { first } else { gap.0 }, if owns_after { last } else { gap.1 });
        let spans = not_owned(index, term, believed, Some(open));
        spans.into_iter().filter(|span| meet(*span, gap)).any(|span| unaware.aware(term, span).is_some())
    };
    if terms().any(is_zombie) {
        return Some("a belief without owning");
    }
    let limit = owner_may_not_believe_for(index);
    let is_dead = |(interval, owned): (&OwnershipInterval, Span)| {
        let Some(session) = interval.session else { return false };
        let believed = union(terms().filter(|term| interval.is_of(term)).map(|term| term.possible()).collect());
        let left = without(owned, &believed).into_iter().filter(|left| meet(*left, gap));
        left.into_iter().any(|left| OwnershipWithoutBelief::of(index, session, group, left, limit).is_some())
    };
    let before = earlier.last().map(|interval| (interval, (interval.span.0, last)));
    let after = later.first().map(|interval| (interval, (first, interval.span.1)));
    // Neither of them need be the owner within it.
    let unseen = last - first > limit;
    (unseen || before.into_iter().chain(after).any(is_dead)).then_some("an owner that does not believe")
}

/// Times within a belief in which another candidate, or none, certainly owned leadership; and `open`, if given.
fn not_owned(index: &Index<'_>, term: &Term<'_>, believed: Span, open: Option<Span>) -> Vec<Span> {
    let intervals = index.intervals.of_group(term.group);
    let begun = &intervals[..intervals.partition_point(|interval| interval.span.0 < believed.1)];
    let during = &begun[begun.partition_point(|interval| interval.span.1 <= believed.0)..];
    let others = during.iter().filter(|interval| !interval.is_of(term)).map(|interval| interval.span);
    let not_owned = others.chain(open).chain(gone(begun, term)).collect();
    // Consecutive intervals form one time without ownership, although each change of owner leaves a moment open. A short
    // lead between those of others is no such moment.
    let own = union(during.iter().filter(|interval| interval.is_of(term)).map(|interval| interval.span).collect());
    let joined =
        joined(not_owned, index.tick / 10).into_iter().flat_map(|span| without(span, &own)).collect::<Vec<_>>();
    within(&joined, believed)
}

/// The span of the owners that followed the one whose znode this term rests on. A deleted znode never returns. So the
/// term did not own in that span, even where the observer noticed a change late.
fn gone(intervals: &[OwnershipInterval], term: &Term<'_>) -> Option<Span> {
    let own = intervals.iter().rposition(|interval| interval.is_of(term))?;
    let is_its_znode = term.is_known() && intervals[own].czxid == Some(term.czxid);
    is_its_znode.then_some((intervals.get(own + 1)?.span.0, intervals.last()?.span.1))
}

fn meet(one: Span, other: Span) -> bool {
    one.0 < other.1 && other.0 < one.1
}

fn zombies(index: &Index<'_>, unaware: &AwarenessJudge<'_, '_>, window: Span, finding: &mut Finding<Ownership>) {
    for (&group, places) in &index.terms.by_group {
        for term in places.iter().map(|&p| &index.terms.all[p]) {
            let believed = term.definite().map(|c| (c.0.max(window.0), c.1.min(window.1)));
            let Some(believed) = believed.filter(|c| c.0 < c.1) else { continue };
            let spans = not_owned(index, term, believed, None);
            let long = spans.iter().map(|s| s.1 - s.0).max().unwrap_or(0);
            finding.section.zombie_max_ns = finding.section.zombie_max_ns.max(long);
            finding.section.zombies += u64::from(long > index.tick);
            for span in spans {
                let Some(aware) = unaware.aware(term, span) else { continue };
                let text = format!(
                    "{}: candidate {} on {} believed for {} from {} without owning the lead, and for {} of that it could have known",
                    index.group_name(group),
                    term.cand,
                    index.host_name(term.host),
                    duration(span.1 - span.0),
                    moment(index, span.0),
                    duration(aware.longest.1 - aware.longest.0),
                );
                fail_unless_stalled(finding, index, aware.stall, text);
            }
        }
    }
}

fn joined(mut spans: Vec<Span>, slack: Nanos) -> Vec<Span> {
    spans.iter_mut().for_each(|s| s.1 += slack);
    let mut merged = union(spans);
    merged.iter_mut().for_each(|s| s.1 -= slack);
    merged
}

fn dead_owners(index: &Index<'_>, window: Span, limit: Nanos, finding: &mut Finding<Ownership>) {
    let mut beliefs: BTreeMap<(u32, i64), Vec<&Term<'_>>> = BTreeMap::new();
    for term in &index.terms.all {
        beliefs.entry((term.group, term.session)).or_default().push(term);
    }
    for interval in &index.intervals.seen {
        let Some(session) = interval.session else { continue };
        let terms = beliefs.get(&(interval.group, session)).map_or(&[][..], Vec::as_slice);
        let believed = union(terms.iter().filter(|t| interval.is_of(t)).map(|t| t.possible()).collect());
        let owned = (interval.span.0.max(window.0), interval.span.1.min(window.1));
        for gap in without(owned, &believed) {
            finding.section.dead_owner_max_ns = finding.section.dead_owner_max_ns.max(gap.1 - gap.0);
            finding.section.dead_owners += u64::from(gap.1 - gap.0 > index.tick);
            let Some(overdue) = OwnershipWithoutBelief::of(index, session, interval.group, gap, limit) else {
                continue;
            };
            let text = format!(
                "{}: session {session:#x} ({}) owned the lead for {} from {}, and nobody under it believed",
                index.group_name(interval.group),
                overdue.whose.map_or_else(|| "of no candidate of this run".into(), |host| index.host_name(host)),
                duration(gap.1 - overdue.from),
                moment(index, overdue.from),
            );
            fail_unless_stalled(finding, index, overdue.stall, text);
        }
    }
}

/// A time in which a session owned the lead and nobody under it believed, for longer than allowed.
struct OwnershipWithoutBelief<'i> {
    /// The owner's host, if it is of this run.
    whose: Option<u16>,
    /// When its time started.
    from: Nanos,
    /// The stall that explains it, if one does.
    stall: Option<&'i Stall>,
}

impl<'i> OwnershipWithoutBelief<'i> {
    fn of(index: &'i Index<'_>, session: i64, group: u32, gap: Span, limit: Nanos) -> Option<Self> {
        if gap.1 - gap.0 <= limit {
            return None;
        }
        let whose = index.candidates.sessions.get(&session).copied();
        let kept = kept_from_acting(index, whose, group, gap);
        let OwnerCount { from, until, .. } = counted(gap, limit, kept.clone());
        if gap.1 <= until {
            return None;
        }
        let stalls = stalls_of_owner(index, whose, gap);
        let stalled = counted(gap, limit, kept.into_iter().chain(stalls).collect());
        Some(Self { whose, from, stall: stalled.stall.filter(|_| gap.1 <= stalled.until) })
    }
}

/// A cause beyond the owner's control.
#[derive(Clone)]
struct OwnerConfounder<'i> {
    span: Span,
    /// The time lost; None: the owner's full time starts again after it.
    costs: Option<Nanos>,
    stall: Option<&'i Stall>,
}

/// When an owner's time starts, until when it may own without believing, and the longest stall allowed for.
struct OwnerCount<'i> {
    from: Nanos,
    until: Nanos,
    stall: Option<&'i Stall>,
}

/// A hindrance that begins after the deadline adds nothing.
fn counted<'i>(gap: Span, limit: Nanos, mut hindrances: Vec<OwnerConfounder<'i>>) -> OwnerCount<'i> {
    hindrances.sort_by_key(|hindrance| hindrance.span);
    let mut counted = OwnerCount { from: gap.0, until: gap.0 + limit, stall: None };
    for OwnerConfounder { span, costs, stall } in hindrances {
        if span.1 <= gap.0 || span.0 > counted.until {
            continue;
        }
        match costs {
            Some(time) => counted.until += time,
            None => {
                counted.from = counted.from.max(span.1.min(gap.1));
                counted.until = counted.until.max(counted.from + limit);
            }
        }
        counted.stall = counted.stall.into_iter().chain(stall).max_by_key(|stall| stall.own);
    }
    counted
}

/// Faults on the owner, and times without a quorum.
fn kept_from_acting<'i>(index: &'i Index<'_>, host: Option<u16>, group: u32, gap: Span) -> Vec<OwnerConfounder<'i>> {
    let Some(host) = host else { return Vec::new() };
    let faults = index.faults.of_group(group).filter(|fault| fault.met.contains(&host));
    let faults = faults.filter(|fault| !fault.kind.facts().leaves_all_able());
    let faults = faults.map(|fault| (fault.t, fault.active.1));
    let spans = faults.chain(index.servers.outages_within(gap));
    spans.map(|span| OwnerConfounder { span, costs: None, stall: None }).collect()
}

/// After a stall in which clients give up a server, a session has its full time again: another server keeps it alive.
fn stalls_of_owner<'i>(
    index: &'i Index<'_>,
    host: Option<u16>,
    gap: Span,
) -> impl Iterator<Item = OwnerConfounder<'i>> {
    let hosts: Vec<u16> = host.into_iter().collect();
    let mut stalls: Vec<&Stall> = index.lives.stalls_in(&hosts, gap).filter(|stall| stall.own > 0).collect();
    stalls.sort_by_key(|stall| (stall.from, stall.to));
    let mut over = 0;
    stalls.into_iter().map(move |stall| {
        // Concurrent stalls of several processes count once.
        let alone = stall.to.saturating_sub(over.max(stall.from)).min(stall.own);
        over = over.max(stall.to);
        let costs = (stall.own < index.session_ends_after()).then_some(alone);
        OwnerConfounder { span: (stall.from, stall.to), costs, stall: Some(stall) }
    })
}
