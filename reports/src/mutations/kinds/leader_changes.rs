//! An undisturbed leader is replaced by a follower.

use super::*;
use crate::check::handovers::Handovers;
use crate::check::stall_confounder::kept_from_contact;

/// From the end of the one belief to the beginning of the other.
const GAP_NS: Nanos = 2_000_000;

pub(in crate::mutations) const LEADER_CHANGES: Mutation = Mutation::fails::<Handovers>(
    "leader-changes",
    "a lead goes from one candidate to another in the middle of a quiet term",
    sites,
    edit,
);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let expect = &scene.index.info.expect;
    let demanded = expect.unplanned == Expectation::None || expect.handovers == Some(Expectation::None);
    SiteFilter::of(0..scene.index.terms.all.len(), "nobody ever led")
        .only_if("unplanned handovers are allowed here", demanded)
        .only_if("there is one candidate a group", scene.index.info.candidates_per_group > 1)
        .keep("no leader was undisturbed for 2 T and 100 ms, and a follower of it with it", |&place| {
            change(scene, place).is_some()
        })
        .sites()
}

/// When, and to which follower, the leadership of this term could go.
fn change(scene: &IndexedCell<'_>, place: usize) -> Option<(Nanos, u32)> {
    let calm = 2 * scene.index.timeout_or_asked() + 100_000_000;
    let at = scene.quiet_in_term(place, calm, 2 * GAP_NS)?;
    let (cand, _) = scene.calm_follower(scene.term(place), (at, at + 2 * GAP_NS))?;
    kept_from_contact(scene.index, scene.term(place).host, at).is_none().then_some((at, cand))
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let mut edits = Edits::default();
    let mut cut: Vec<&Term<'_>> = Vec::new();
    for &place in sites {
        let (term, Some((at, cand))) = (scene.term(place), change(scene, place)) else { continue };
        let Some(stand) = scene.index.candidates.standing(cand, at) else { continue };
        let Some(segment) = scene.segment_at(cand, at) else { continue };
        let (number, reason) = (scene.term_number(term), RevokeReason::SteppedDown);
        let lost = Event::Revoke { from: at, to: at, cand: term.cand, session: term.session, term: number, reason };
        edits.add(term.life, at, lost);
        let (t, session) = (at + GAP_NS, stand.session);
        edits.add_made_up_grant(segment, (t, cand), stand, term.czxid);
        // It leads until the old leader's term would have ended.
        let (from, to) = (term.ended.0.max(t + 1), term.ended.1.max(t + 1));
        let reason = RevokeReason::SteppedDown;
        edits.add(segment, to, Event::Revoke { from, to, cand, session, term: MADE_UP_TERM, reason });
        cut.push(term);
    }
    edits.drop_if(move |segment, event| cut.iter().any(|term| is_end_of(term, segment, event)))
}
