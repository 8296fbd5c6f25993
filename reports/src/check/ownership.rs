//! Compares belief in leadership with ownership by ZooKeeper. A *zombie* believes without owning. A *dead owner* owns
//! while no candidate under its session believes: an orphaned znode.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::doubt::fail_unless_stalled;
use super::finding::Finding;
use super::section::Section;
use super::unaware::Unaware;
use super::words::{moment, under_way};
use crate::index::{Fault, Index, OwnershipInterval, Stall, Term};
use crate::stats::spans::{Span, total, union, within, without};
use hustings_record::words::duration;
use hustings_record::{Grade, Nanos};

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
    const RESTS_ON: &'static [Grade] = &[Grade::Wire, Grade::Report];

    fn applies(index: &Index<'_>) -> bool {
        index.info.has_candidates()
    }

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let (window, limit) = (index.measured(), owner_may_not_believe_for(index));
        let unaware = Unaware::of(index);
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

fn evidence(index: &Index<'_>, unaware: &Unaware<'_, '_>, window: Span, finding: &mut Finding<Ownership>) {
    let missing = index.info.groups.len().saturating_sub(index.intervals.groups);
    if missing > 0 {
        finding.inconclusive(format!("{missing} groups were never observed"));
    }
    let missed = index.intervals.missed.iter().filter(|&&missed| window.0 <= missed && missed < window.1);
    finding.section.missed = missed.count() as u64;
    let blind = within(&index.intervals.blind, window);
    finding.section.blind_ns = total(&blind);
    for (&group, unknown) in &index.intervals.unknown {
        // Times in which it observed nothing at all are reported below.
        let unknown = within(unknown, window).into_iter().flat_map(|span| without(span, &blind));
        for gap in unknown.filter(|gap| gap.1 - gap.0 > index.timeout_or_asked() / 10) {
            finding.inconclusive(format!(
                "{}: the observer did not know the owner for {} from {}: a question of its was not answered",
                index.group_name(group),
                duration(gap.1 - gap.0),
                moment(index, gap.0),
            ));
        }
    }
    for (&group, changes) in &index.intervals.unsure {
        let changes = within(changes, window).into_iter().flat_map(|change| without(change, &blind));
        for gap in changes.filter(|gap| gap.1 - gap.0 > index.tick / 10) {
            let Some(hidden) = hidden(index, unaware, group, gap) else { continue };
            let (name, long, at) = (index.group_name(group), duration(gap.1 - gap.0), moment(index, gap.0));
            let text =
                format!("{name}: the owner changed at some time within {long} from {at}, in which {hidden} may hide");
            // The owner was known until just before the fault.
            let fault = index.faults.on_servers().filter(|fault| fault.verified() && fault.acts_in(gap)).last();
            match excuses(index, fault, gap) {
                Some(why) => finding.note(format!("{text}{why}")),
                None => finding.inconclusive(text),
            }
        }
    }
    // A shorter blind time cannot hide a failure.
    for &gap in blind.iter().filter(|b| b.1 - b.0 > index.timeout_or_asked() / 10) {
        let text = format!("the observer saw nothing for {} from {}", duration(gap.1 - gap.0), moment(index, gap.0));
        match excuses(index, index.faults.on_servers_at(gap.0), gap) {
            Some(why) => finding.note(format!("{text}{why}")),
            None if owners_known(index, gap) => finding.note(format!("{text}; every owner was the same after it")),
            None => finding.inconclusive(text),
        }
    }
}

/// The failure if the owner changed at the worst moment within `gap`. Failures at any moment are reported elsewhere.
fn hidden(index: &Index<'_>, unaware: &Unaware<'_, '_>, group: u32, gap: Span) -> Option<&'static str> {
    let places = index.terms.by_group.get(&group).map_or(&[][..], Vec::as_slice);
    let terms = || places.iter().map(|&place| &index.terms.all[place]);
    let intervals = index.intervals.of_group(group);
    let is_zombie = |term: &Term<'_>| {
        let Some(believed) = term.definite().filter(|believed| meet(*believed, gap)) else { return false };
        let spans = not_owned(index, term, believed, Some(gap));
        spans.into_iter().filter(|span| meet(*span, gap)).any(|span| unaware.aware(term, span).is_some())
    };
    if terms().any(is_zombie) {
        return Some("a belief without owning");
    }
    let limit = owner_may_not_believe_for(index);
    let is_dead = |(interval, owned): (&OwnershipInterval, Span)| {
        let believed = union(terms().filter(|term| interval.is_of(term)).map(|term| term.possible()).collect());
        let left = without(owned, &believed).into_iter().filter(|left| meet(*left, gap));
        interval.session.is_some() && left.map(|left| left.1 - left.0).any(|long| long > limit)
    };
    let next = intervals.partition_point(|interval| interval.span.0 < gap.1);
    let before = next.checked_sub(1).map(|place| (&intervals[place], (intervals[place].span.0, gap.1)));
    let after = intervals.get(next).map(|interval| (interval, (gap.0, interval.span.1)));
    before.into_iter().chain(after).any(is_dead).then_some("an owner that does not believe")
}

/// Times within a belief in which another candidate, or none, certainly owned leadership; and `open`, if given.
fn not_owned(index: &Index<'_>, term: &Term<'_>, believed: Span, open: Option<Span>) -> Vec<Span> {
    let intervals = index.intervals.of_group(term.group);
    let begun = &intervals[..intervals.partition_point(|interval| interval.span.0 < believed.1)];
    let during = &begun[begun.partition_point(|interval| interval.span.1 <= believed.0)..];
    let others = during.iter().filter(|interval| !interval.is_of(term)).map(|interval| interval.span);
    let not_owned = others.chain(open).chain(gone(begun, term)).collect();
    // Consecutive intervals form one time without ownership, although each change of owner leaves a moment open.
    within(&joined(not_owned, index.tick / 10), believed)
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

/// Whether later observations determine every group's owner throughout a blind time of the observer.
fn owners_known(index: &Index<'_>, gap: Span) -> bool {
    (0..index.info.groups.len() as u32).all(|group| {
        let intervals = index.intervals.of_group(group).iter().map(|interval| interval.span);
        total(&without(gap, &union(intervals.collect()))) == 0
    })
}

/// Text of the server fault that explains `gap`, since it hit the observer's server too. Without a served quorum no
/// owner changes. The rest of the gap must be too short to hide a belief or an owner that would fail.
fn excuses(index: &Index<'_>, fault: Option<&Fault<'_>>, gap: Span) -> Option<String> {
    let fault = fault?;
    let left = without(gap, &index.servers.outages_within(gap));
    let fits = total(&left) <= index.timeout_or_asked();
    fits.then(|| under_way(Some(fault)))
}

fn zombies(index: &Index<'_>, unaware: &Unaware<'_, '_>, window: Span, finding: &mut Finding<Ownership>) {
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
            if gap.1 - gap.0 <= limit {
                continue;
            }
            let whose = index.candidates.sessions.get(&session).copied();
            let kept = kept_from_acting(index, whose, interval.group, gap);
            let OwnerCount { from, until, .. } = counted(gap, limit, kept.clone());
            if gap.1 <= until {
                continue;
            }
            let stalls = stalls_of_owner(index, whose, gap);
            let stalled = counted(gap, limit, kept.into_iter().chain(stalls).collect());
            let text = format!(
                "{}: session {session:#x} ({}) owned the lead for {} from {}, and nobody under it believed",
                index.group_name(interval.group),
                whose.map_or_else(|| "of no candidate of this run".into(), |host| index.host_name(host)),
                duration(gap.1 - from),
                moment(index, from),
            );
            fail_unless_stalled(finding, index, stalled.stall.filter(|_| gap.1 <= stalled.until), text);
        }
    }
}

/// A cause beyond the owner's control.
#[derive(Clone)]
struct Hindrance<'i> {
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
fn counted<'i>(gap: Span, limit: Nanos, mut hindrances: Vec<Hindrance<'i>>) -> OwnerCount<'i> {
    hindrances.sort_by_key(|hindrance| hindrance.span);
    let mut counted = OwnerCount { from: gap.0, until: gap.0 + limit, stall: None };
    for Hindrance { span, costs, stall } in hindrances {
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
fn kept_from_acting<'i>(index: &'i Index<'_>, host: Option<u16>, group: u32, gap: Span) -> Vec<Hindrance<'i>> {
    let Some(host) = host else { return Vec::new() };
    let faults = index.faults.of_group(group).filter(|fault| fault.met.contains(&host));
    let faults = faults.filter(|fault| !fault.kind.facts().leaves_all_able());
    let faults = faults.map(|fault| (fault.t, fault.active.1));
    let spans = faults.chain(index.servers.outages_within(gap));
    spans.map(|span| Hindrance { span, costs: None, stall: None }).collect()
}

/// After a stall in which clients give up a server, a session has its full time again: another server keeps it alive.
fn stalls_of_owner<'i>(index: &'i Index<'_>, host: Option<u16>, gap: Span) -> impl Iterator<Item = Hindrance<'i>> {
    let hosts: Vec<u16> = host.into_iter().collect();
    let mut stalls: Vec<&Stall> = index.lives.stalls_in(&hosts, gap).filter(|stall| stall.own > 0).collect();
    stalls.sort_by_key(|stall| (stall.from, stall.to));
    let mut over = 0;
    stalls.into_iter().map(move |stall| {
        // Concurrent stalls of several processes count once.
        let alone = stall.to.saturating_sub(over.max(stall.from)).min(stall.own);
        over = over.max(stall.to);
        let costs = (stall.own < index.session_ends_after()).then_some(alone);
        Hindrance { span: (stall.from, stall.to), costs, stall: Some(stall) }
    })
}
