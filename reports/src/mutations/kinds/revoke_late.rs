//! A leader continues to believe after its successor's grant: its revoke is delayed.

use super::*;
use crate::check::split_brain::SplitBrain;
use crate::index::Ending;
use crate::stats::spans::{Span, touches};
use hustings_record::numbers::whole;

pub(in crate::mutations) const BY_5_MS: Mutation = Mutation::fails::<SplitBrain>(
    "revoke-5-ms-late",
    "a leader that lost its lead goes on believing for 5 ms",
    |scene| sites(scene, 5_000_000),
    |scene, sites| edit(scene, sites, 5_000_000),
);

pub(in crate::mutations) const BY_50_MS: Mutation = Mutation {
    name: "revoke-50-ms-late",
    about: "a leader that lost its lead goes on believing for 50 ms",
    sites: |scene| sites(scene, 50_000_000),
    edit: |scene, sites| edit(scene, sites, 50_000_000),
    ..BY_5_MS
};

pub(in crate::mutations) const BY_500_MS: Mutation = Mutation {
    name: "revoke-500-ms-late",
    about: "a leader that lost its lead goes on believing for 500 ms",
    sites: |scene| sites(scene, 500_000_000),
    edit: |scene, sites| edit(scene, sites, 500_000_000),
    ..BY_5_MS
};

/// The shortest overlap that this cell forbids, beyond the clocks' error; `None`: it allows any.
pub(super) fn forbidden_overlap(scene: &IndexedCell<'_>) -> Option<Nanos> {
    let (index, expect) = (scene.index, &scene.index.info.expect);
    let allowed = match (expect.overlap, expect.overlap_of_t_max) {
        (Expectation::None | Expectation::Excused, _) => 0,
        (Expectation::Some | Expectation::Any, Some(share)) => whole(share * index.timeout_or_asked() as f64),
        (Expectation::Some | Expectation::Any, None) => return None,
    };
    Some(allowed + index.epsilon + 1)
}

/// Whether stalls within `span` may change the verdict on an overlap of these hosts: where the scenario allows overlaps up to a length,
/// short ones count too, and times in which a server did not run.
pub(super) fn is_disturbed(scene: &IndexedCell<'_>, hosts: [u16; 2], span: Span) -> bool {
    let index = scene.index;
    let stalled = |limit: Nanos| index.lives.stalls_in(&hosts, span).any(|stall| stall.own > limit);
    match index.info.expect.overlap {
        Expectation::None | Expectation::Excused => stalled(index.stall_limit()),
        Expectation::Some | Expectation::Any => stalled(0) || touches(&index.servers.not_running, span),
    }
}

fn sites(scene: &IndexedCell<'_>, late: Nanos) -> Sites {
    let forbidden = forbidden_overlap(scene);
    scene
        .handovers()
        .only_if("the scenario allows overlaps of any length here", forbidden.is_some())
        .keep("every leader died before its successor came", |&loss| scene.loser(loss).ending != Ending::Died)
        .keep("every leader believed to the end of the record", |&loss| revoked(scene.loser(loss)))
        .keep("no successor came so soon after the end of the belief before", |&loss| {
            // The successor may have lost leadership itself by then.
            let overlap =
                |(granted, ended): Span| (scene.loser(loss).ended.0 + late).min(ended).saturating_sub(granted);
            scene.successor(loss).and_then(Term::definite).map(overlap) > forbidden
        })
        .keep("every leader's process, or its successor's, was stopped meanwhile: a belief without acts", |&loss| {
            let (lost, next) = (scene.loser(loss), scene.successor(loss));
            let ended = lost.ended.0 + late;
            let stopped = |host, granted| touches(scene.index.faults.stops_of(host), (granted, ended));
            let both = next.and_then(|next| Some((next.host, next.granted?)));
            both.is_some_and(|(host, granted)| !stopped(lost.host, granted) && !stopped(host, granted))
        })
        .keep("every loser or successor, or a server, stalled meanwhile", |&loss| !stalled(scene, loss, late))
        .sites()
}

fn revoked(term: &Term<'_>) -> bool {
    matches!(term.ending, Ending::Revoked(_))
}

/// Whether a process of the handover stalled, or a server did not run, during the overlap to be created.
fn stalled(scene: &IndexedCell<'_>, loss: usize, late: Nanos) -> bool {
    let (lost, Some(next)) = (scene.loser(loss), scene.successor(loss)) else { return true };
    let span = (lost.ended.0.min(next.grant), lost.ended.1 + late);
    is_disturbed(scene, [lost.host, next.host], span)
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize], late: Nanos) -> Edits<'s> {
    let lost: Vec<&Term<'_>> = sites.iter().map(|&loss| scene.loser(loss)).collect();
    Edits::default().replace(move |segment, event| {
        let Event::Revoke { from, to, cand, session, term, reason } = event else { return None };
        lost.iter().find(|lost| is_end_of(lost, segment, event))?;
        let (from, to) = (from + late, to + late);
        Some(Event::Revoke { from, to, cand: *cand, session: *session, term: *term, reason: *reason })
    })
}
