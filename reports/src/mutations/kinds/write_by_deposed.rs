//! A deposed leader writes with its old token after its successor's first accepted write.

use super::*;
use crate::check::stale_writes::Writes;

/// Delay of the deposed leader's write after the successor's.
const AFTER_NS: Nanos = 1_000_000;

pub(in crate::mutations) const WRITE_BY_DEPOSED: Mutation = Mutation::fails::<Writes>(
    "write-by-deposed",
    "a resource without a fence takes a write with the old token after one with the new",
    sites,
    edit,
);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    with_successors_write(scene)
        .only_if("the resource has a fence", scene.index.info.fencing == Fencing::Unfenced)
        .losers_could_write(scene)
        .sites()
}

/// Handovers after which the successor's first write was accepted, where a stale write is not allowed.
pub(super) fn with_successors_write(scene: &IndexedCell<'_>) -> SiteFilter {
    scene
        .handovers()
        .if_stale_writes_are_forbidden(scene)
        .only_if("the leads' tokens are not known", scene.index.terms.all.iter().all(Term::is_known))
        .keep("no successor ever wrote", |&loss| first_write(scene, loss).is_some())
}

impl SiteFilter {
    pub(super) fn if_stale_writes_are_forbidden(self, scene: &IndexedCell<'_>) -> Self {
        let forbidden = match scene.index.info.expect.stale_writes {
            Expectation::None | Expectation::Excused => true,
            Expectation::Some | Expectation::Any => false,
        };
        self.only_if("the scenario allows stale writes here", forbidden)
    }

    /// Keeps handovers whose losers lived and ran when the successor first wrote.
    pub(super) fn losers_could_write(self, scene: &IndexedCell<'_>) -> Self {
        self.keep("whoever lost a lead was dead or stopped when its successor first wrote", |&loss| {
            could_write(scene, loss)
        })
    }
}

/// When the resource first took a write of the successor.
pub(super) fn first_write(scene: &IndexedCell<'_>, loss: usize) -> Option<Nanos> {
    let next = scene.successor(loss)?;
    let written = scene.index.writing.first_accepted((next.cand, next.session, next.czxid), next.grant);
    written.filter(|&written| written < scene.index.observed_until())
}

/// Whether the loser's process lived and ran when the successor first wrote.
fn could_write(scene: &IndexedCell<'_>, loss: usize) -> bool {
    let lost = scene.loser(loss);
    let Some(at) = first_write(scene, loss) else { return false };
    let span = (at, at + AFTER_NS);
    scene.segment_at(lost.cand, span.1).is_some()
        && !crate::stats::spans::touches(scene.index.faults.stops_of(lost.host), span)
        && scene.index.lives.all[lost.life].died.is_none_or(|died| died.0 > span.1)
}

/// A write with the loser's token just after the successor's first one.
pub(super) fn stale_write(scene: &IndexedCell<'_>, loss: usize) -> Option<Event> {
    let (lost, at) = (scene.loser(loss), first_write(scene, loss)? + AFTER_NS);
    Some(write(lost, (lost.czxid, lost.session), at))
}

/// A write by the candidate of `term` that bears this token.
pub(super) fn write(term: &Term<'_>, (czxid, session): (i64, i64), at: Nanos) -> Event {
    Event::Write {
        t: at,
        sent: Some(at.saturating_sub(10_000)),
        // Renumbered later.
        seq: u64::MAX >> 8,
        group: term.group,
        cand: term.cand,
        host: term.host,
        czxid,
        session,
        unfenced_stale: false,
        fenced_rejected: false,
        fenced_stale: false,
    }
}

/// Adds these writes to those that the resource took.
pub(super) fn add_writes<'s>(scene: &IndexedCell<'_>, writes: impl Iterator<Item = Event>) -> Edits<'s> {
    let mut edits = Edits::default();
    for write in writes {
        if let (Event::Write { t, .. }, Some(segment)) = (&write, scene.writes_segment()) {
            edits.add(segment, *t, write.clone());
        }
    }
    edits.with_honest_ledgers()
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    add_writes(scene, sites.iter().filter_map(|&loss| stale_write(scene, loss)))
}
