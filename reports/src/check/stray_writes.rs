//! Does every write lie inside a term? A leader writes only between its grant and its revoke. Each write is compared by
//! its send timestamp with the terms of its own candidate, session and token, regardless of the current leader and the
//! fence. A leader that resigns has no write under way any more. An external program takes that timestamp itself, so it
//! may be from long before the write was sent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::section::Section;
use super::words::moment;
use crate::index::{Index, ResourceWrite, Stall, WriteKey};
use crate::stats::spans::{Span, total, union, within};
use hustings_record::words::duration;
use hustings_record::{Departure, EvidenceSource, Nanos};

/// Writes outside the terms of those who sent them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StrayWrites {
    /// Writes that are certainly outside.
    pub outside: u64,
    /// Writes of which it is recorded when they were sent, and terms that they were compared with.
    pub recorded: u64,
    pub terms: u64,
    /// Sent before the first grant of their token.
    pub before_grant: u64,
    /// The longest of these times before the grant.
    pub earliest_ns: Nanos,
    /// Sent after a revoke of their token, and before the next grant of it if there is one.
    pub after_revoke: u64,
    /// The longest of these times after the revoke.
    pub latest_ns: Nanos,
    /// Of a candidate, session and token that no term has.
    pub without_term: u64,
    /// Sent in the term and taken by the resource after the deletion of the leader's znode was sent, by its own resignation.
    pub under_release: u64,
    /// The longest time from the sending of a write to its place in the resource's order.
    pub slowest_ns: Nanos,
    /// Of so many it is not recorded when they were sent.
    pub not_recorded: u64,
    /// So many came longer after the revoke than a write is on its way, and no credible timestamp says that they were sent before it.
    #[serde(default)]
    pub late_unknown: u64,
}

/// A write that arrives later than this part of T after its leader's revoke was hardly sent before it.
const ON_THE_WAY_PART: Nanos = 20;

impl Section for StrayWrites {
    const NAME: &'static str = "stray-writes";
    const ABOUT: &'static str = "Does every write lie inside a term of its own candidate, session and token?";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Effect, EvidenceSource::Report];

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::<Self>::default();
        let terms = Spans::of(index);
        let mut strays: BTreeMap<(WriteKey, StrayKind), StrayGroup> = BTreeMap::new();
        // Late writes with a timestamp that is not credible: how many of each term, and the first.
        let mut backdated: BTreeMap<WriteKey, (u64, ResourceWrite)> = BTreeMap::new();
        for work in index.writing.all() {
            let section = &mut finding.section;
            section.not_recorded += u64::from(work.sent.is_none());
            section.slowest_ns = section.slowest_ns.max(work.sent.map_or(0, |sent| work.t.saturating_sub(sent)));
            let key = (work.cand, work.session, work.czxid);
            let of_key = terms.of_write(&work);
            if let Some((stray, by)) = place(index, of_key, &work).or_else(|| under_release(index, &work)) {
                section.count(stray, by);
                let seen = strays.entry((key, stray)).or_insert(StrayGroup { count: 0, by: 0, first: work });
                seen.count += 1;
                seen.by = seen.by.max(by);
            } else if came_late(index, of_key, &work) {
                section.late_unknown += 1;
                if work.sent.is_some() {
                    backdated.entry(key).or_insert((0, work)).0 += 1;
                }
            }
        }
        let total = index.writing.count() as u64;
        let s = &mut finding.section;
        s.outside = s.before_grant + s.after_revoke + s.without_term;
        (s.recorded, s.terms) = (total - s.not_recorded, index.terms.all.len() as u64);
        let headline = s.headline();
        finding.headline(headline);
        if total == 0 {
            finding.inconclusive("nothing was ever written".into());
        }
        if finding.section.not_recorded > 0 {
            let text = format!(
                "of {} of {total} writes it is not recorded when they were sent: those may lie outside their terms",
                finding.section.not_recorded
            );
            finding.note(text);
        }
        tell_late(index, &mut finding, &backdated);
        for ((key, stray), seen) in &strays {
            tell(index, &mut finding, *key, *stray, seen);
        }
        finding
    }
}

impl StrayWrites {
    fn count(&mut self, stray: StrayKind, by: Nanos) {
        match stray {
            StrayKind::Before => {
                self.before_grant += 1;
                self.earliest_ns = self.earliest_ns.max(by);
            }
            StrayKind::After => {
                self.after_revoke += 1;
                self.latest_ns = self.latest_ns.max(by);
            }
            StrayKind::Without => self.without_term += 1,
            StrayKind::UnderRelease => self.under_release += 1,
        }
    }

    fn headline(&self) -> String {
        let by =
            |count: u64, ns: Nanos| if count > 0 { format!(" (by {} at most)", duration(ns)) } else { String::new() };
        let unknown = match self.not_recorded {
            0 => String::new(),
            unknown => format!("; of {unknown} more the sending is not recorded"),
        };
        format!(
            "{} of {} writes sent outside the {} terms: {} before the grant{}, {} after the revoke{}, {} \
             without any; {} under way when their leader gave its znode back; {} on the way at most{unknown}",
            self.outside,
            self.recorded,
            self.terms,
            self.before_grant,
            by(self.before_grant, self.earliest_ns),
            self.after_revoke,
            by(self.after_revoke, self.latest_ns),
            self.without_term,
            self.under_release,
            duration(self.slowest_ns),
        )
    }
}

/// What is wrong with a write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StrayKind {
    Before,
    After,
    Without,
    UnderRelease,
}

/// Writes of one token with the same defect.
struct StrayGroup {
    count: u64,
    /// The largest deviation of any.
    by: Nanos,
    first: ResourceWrite,
}

/// [a⁻, r⁺] of every term, sorted: by write key, and by candidate and session for all terms and for those with an
/// unknown token.
#[derive(Default)]
struct Spans {
    of_key: BTreeMap<WriteKey, Vec<Span>>,
    of_incarnation: BTreeMap<(u32, i64), Vec<Span>>,
    unknown: BTreeMap<(u32, i64), Vec<Span>>,
}

impl Spans {
    fn of(index: &Index<'_>) -> Self {
        let mut spans = Self::default();
        for term in &index.terms.all {
            let possible = term.possible();
            spans.of_key.entry((term.cand, term.session, term.czxid)).or_default().push(possible);
            spans.of_incarnation.entry(term.incarnation()).or_default().push(possible);
            if !term.is_known() {
                spans.unknown.entry(term.incarnation()).or_default().push(possible);
            }
        }
        let all = spans.of_key.values_mut().chain(spans.of_incarnation.values_mut()).chain(spans.unknown.values_mut());
        all.for_each(|spans| spans.sort_unstable());
        spans
    }

    /// Spans of the terms that a write may belong to: those of its own token, or those with an unknown token. A write
    /// without a token may belong to any term of its sender.
    fn of_write(&self, work: &ResourceWrite) -> &[Span] {
        let incarnation = (work.cand, work.session);
        let spans = if work.is_ordered() {
            let of_key = self.of_key.get(&(work.cand, work.session, work.czxid));
            of_key.or_else(|| self.unknown.get(&incarnation))
        } else {
            self.of_incarnation.get(&incarnation)
        };
        spans.map_or(&[], Vec::as_slice)
    }
}

/// The defect of a write and its size, if beyond the clock's error. A write without a recorded send time is only known
/// to have been sent before it arrived.
fn place(index: &Index<'_>, terms: &[Span], work: &ResourceWrite) -> Option<(StrayKind, Nanos)> {
    let (Some(first), at) = (terms.first(), work.sent.unwrap_or(work.t)) else { return Some((StrayKind::Without, 0)) };
    if at + index.epsilon < first.0 {
        return Some((StrayKind::Before, first.0 - at));
    }
    let begun = &terms[..terms.partition_point(|term| term.0 <= at + index.epsilon)];
    let over = begun.iter().map(|term| term.1).max()?;
    let late = work.sent.is_some() && at > over + index.epsilon;
    late.then(|| (StrayKind::After, at - over))
}

/// Whether a write without a credible send time arrived so late after the revoke that it was hardly sent before.
fn came_late(index: &Index<'_>, terms: &[Span], work: &ResourceWrite) -> bool {
    let begun = &terms[..terms.partition_point(|term| term.0 <= work.t)];
    let over = begun.iter().map(|term| term.1).max();
    let is_late = over.is_some_and(|over| work.t > over.saturating_add(on_the_way(index)));
    is_late && work.sent.is_none_or(|sent| !is_credible(index, work, sent))
}

/// The longest time that a write is on its way.
fn on_the_way(index: &Index<'_>) -> Nanos {
    index.timeout_or_asked() / ON_THE_WAY_PART + index.epsilon
}

/// Whether a write can have been sent at its timestamp. A recipe of the harness takes it just before it sends. A
/// program's timestamp is credible if the write was on its way for no longer than writes are, besides the time for
/// which its work hung, or the program, the process beside it or the coordinator did not run.
fn is_credible(index: &Index<'_>, work: &ResourceWrite, sent: Nanos) -> bool {
    if !index.lives.runs_program(work.host) {
        return true;
    }
    let (transit, host) = ((sent, work.t), [work.host]);
    // No other process carries writes.
    let carries = |stall: &&Stall| stall.host.is_some() || stall.is_of_coordinator();
    let stalls = index.lives.stalls_in(&host, transit).filter(carries).flat_map(|stall| stall.parts.iter());
    let kept = index.faults.hangs_of(work.host).iter().chain(index.faults.stops_of(work.host)).chain(stalls);
    let kept = total(&within(&union(kept.copied().collect()), transit));
    work.t.saturating_sub(sent).saturating_sub(kept) <= on_the_way(index)
}

/// Reports the writes that came late after their leader's revoke: those without a timestamp, and those with one that is
/// not credible.
fn tell_late(
    index: &Index<'_>,
    finding: &mut Finding<StrayWrites>,
    backdated: &BTreeMap<WriteKey, (u64, ResourceWrite)>,
) {
    let dated: u64 = backdated.values().map(|(count, _)| count).sum();
    let unrecorded = finding.section.late_unknown - dated;
    if unrecorded > 0 {
        finding.inconclusive(format!(
            "{unrecorded} writes came more than T/{ON_THE_WAY_PART} after their leader's revoke, and when they were \
             sent is not recorded"
        ));
    }
    // A pause of the program's own, such as a collection, between the timestamp and the sending is not recorded. It may
    // delay one write of a term.
    let harms = |(count, first): &&(u64, ResourceWrite)| *count > 1 || is_under_another(index, first);
    let (doubtful, single): (Vec<_>, Vec<_>) = backdated.values().partition(harms);
    for (is_doubtful, of) in [(true, doubtful), (false, single)] {
        let Some((_, first)) = of.first() else { continue };
        let count: u64 = of.iter().map(|(count, _)| count).sum();
        let text = format!(
            "{count} writes of programs came more than T/{ON_THE_WAY_PART} after their leader's revoke, with \
             timestamps from before it, and no fault or stall explains the delay; the first, of candidate {} on {} in \
             {}, came {} after its timestamp, at {}",
            first.cand,
            index.host_name(first.host),
            index.group_name(first.group),
            duration(first.t.saturating_sub(first.sent.unwrap_or(first.t))),
            moment(index, first.t),
        );
        if is_doubtful {
            finding.inconclusive(text);
        } else {
            finding.note(text);
        }
    }
}

/// Whether another incarnation may have led when the write arrived.
fn is_under_another(index: &Index<'_>, work: &ResourceWrite) -> bool {
    index.terms.of_group(work.group).iter().map(|&place| &index.terms.all[place]).any(|term| {
        let (from, to) = term.possible();
        term.incarnation() != (work.cand, work.session) && from <= work.t && work.t <= to
    })
}

/// Whether the write was sent before the deletion of its leader's znode and arrived after it, and by how much. A leader
/// that waits for the response to its last write cannot delete its znode before.
fn under_release(index: &Index<'_>, work: &ResourceWrite) -> Option<(StrayKind, Nanos)> {
    let sent = work.sent?;
    let left = index.candidates.departures.get(&work.cand)?;
    let next = left[left.partition_point(|departed| departed.t < sent)..].iter().find(|d| d.session == work.session)?;
    let Departure::Resigned { delete: Some((deleted, _)) } = next.how else { return None };
    let under = sent <= *deleted && work.t > deleted.saturating_add(index.epsilon);
    under.then(|| (StrayKind::UnderRelease, work.t - deleted))
}

fn tell(index: &Index<'_>, finding: &mut Finding<StrayWrites>, key: WriteKey, stray: StrayKind, seen: &StrayGroup) {
    let (cand, _, czxid) = key;
    let StrayGroup { count, by, first } = seen;
    let what = match stray {
        StrayKind::Before => format!("sent before the grant, by {} at most", duration(*by)),
        StrayKind::After => format!("sent after the revoke, by {} at most", duration(*by)),
        StrayKind::Without => "sent without any term of their token".to_owned(),
        StrayKind::UnderRelease => {
            format!("under way when it gave its znode back, and came up to {} after that", duration(*by))
        }
    };
    let text = format!(
        "{}: {count} writes of candidate {cand} on {} with czxid {czxid:#x} were {what}, the first at {}",
        index.group_name(first.group),
        index.host_name(first.host),
        moment(index, first.sent.unwrap_or(first.t)),
    );
    // The grant or the revoke may be the missing event.
    match doubt(index, (cand, key.1)) {
        Some(why) if stray != StrayKind::UnderRelease => finding.inconclusive(format!("{text}, but {why}")),
        _ => finding.fail(text),
    }
}

/// Why this candidate's terms under this session may be incomplete.
pub(super) fn doubt(index: &Index<'_>, (cand, session): (u32, i64)) -> Option<&'static str> {
    let host = index.candidates.all.get(&cand).map(|candidate| candidate.host);
    // A session belongs to one process. If that process's segment is whole, a torn one of the same host does not
    // matter.
    let terms = index.terms.by_cand.get(&cand).into_iter().flatten().map(|&place| &index.terms.all[place]);
    let whole = terms.filter(|term| term.session == session).any(|term| !index.lives.all[term.life].torn);
    let torn = !whole && index.lives.all.iter().any(|life| life.torn && life.host.is_some() && life.host == host);
    if host.is_none() {
        Some("its host's segment is missing")
    } else if torn {
        Some("its host's segment is torn")
    } else if index.implausible > 0 {
        Some("events were left out of the record")
    } else {
        None
    }
}
