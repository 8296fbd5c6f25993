//! A follower believes that it leads, beside the leader.

use super::revoke_late::{forbidden_overlap, is_disturbed};
use super::*;
use crate::check::split_brain::SplitBrain;

/// Added to the longest overlap that is allowed.
const BEYOND_NS: Nanos = 20_000_000;

pub(in crate::mutations) const LEADS_BESIDE: Mutation = Mutation::fails::<SplitBrain>(
    "leads-beside",
    "a follower believes that it leads, in the middle of another one's term",
    sites,
    edit,
);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let forbidden = forbidden_overlap(scene);
    SiteFilter::of(0..scene.index.terms.all.len(), "nobody ever led")
        .only_if("the scenario allows overlaps of any length here", forbidden.is_some())
        .only_if("there is one candidate a group", scene.index.info.candidates_per_group > 1)
        .keep("no leader was undisturbed, and a follower of it and the servers with it", |&place| {
            beside(scene, place).is_some()
        })
        .sites()
}

/// When, and which follower, could believe beside the leader of this term.
fn beside(scene: &IndexedCell<'_>, place: usize) -> Option<(Nanos, Nanos, u32)> {
    let long = forbidden_overlap(scene)? + BEYOND_NS;
    let at = scene.quiet_in_term(place, 0, long + 1)?;
    let (leader, span) = (scene.term(place), (at, at + long));
    let (cand, _) = scene.calm_follower(leader, span)?;
    let hosts = [leader.host, scene.index.candidates.all.get(&cand)?.host];
    (!is_disturbed(scene, hosts, span)).then_some((span.0, span.1, cand))
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let mut edits = Edits::default();
    for &place in sites {
        let Some((from, to, cand)) = beside(scene, place) else { continue };
        let Some(stand) = scene.index.candidates.standing(cand, from) else { continue };
        let Some(segment) = scene.segment_at(cand, from) else { continue };
        edits.add_made_up_grant(segment, (from, cand), stand, scene.term(place).czxid);
        let (session, reason) = (stand.session, RevokeReason::Deposed);
        edits.add(segment, to, Event::Revoke { from: to, to, cand, session, term: MADE_UP_TERM, reason });
    }
    edits
}
