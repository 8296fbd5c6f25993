//! A leader stops believing during its term, and begins again by the same znode 5 ms later, without a cause.

use super::*;
use crate::check::liveness::LeaderlessTime;

const AWAY_NS: Nanos = 5_000_000;

pub(in crate::mutations) const TERM_FLAPS: Mutation = Mutation::fails::<LeaderlessTime>(
    "term-flaps",
    "a leader stops believing and begins again, with nothing to explain it",
    sites,
    edit,
);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    SiteFilter::of(0..scene.index.terms.all.len(), "nobody ever led")
        .only_if("the cell ended before its tear-down", scene.index.window().is_some())
        .only_if("unplanned handovers are allowed here", scene.index.info.expect.unplanned == Expectation::None)
        .keep("no leader was undisturbed for 2 T and 100 ms", |&place| moment(scene, place).is_some())
        .sites()
}

/// A time in the term before which the leader was undisturbed for longer than a session can last.
fn moment(scene: &IndexedCell<'_>, place: usize) -> Option<Nanos> {
    scene.quiet_in_term(place, 2 * scene.index.timeout_or_asked() + 100_000_000, 3 * AWAY_NS)
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let mut edits = Edits::default();
    let mut again: Vec<&Term<'_>> = Vec::new();
    for &place in sites {
        let (term, Some(at)) = (scene.term(place), moment(scene, place)) else { continue };
        let (cand, session, czxid) = (term.cand, term.session, term.czxid);
        let number = scene.term_number(term);
        let reason = RevokeReason::SteppedDown;
        edits.add(term.life, at, Event::Revoke { from: at, to: at, cand, session, term: number, reason });
        let back = at + AWAY_NS;
        edits.add(
            term.life,
            back,
            Event::Grant { t: back, cand, session, term: MADE_UP_TERM, czxid, node: term.node.to_owned() },
        );
        edits.add(term.life, back + 1, Event::Granted { t: back + 1, cand, session, term: MADE_UP_TERM });
        again.push(term);
    }
    // The event that ended the term now ends the resumed one.
    edits.replace(move |segment, event| {
        let Event::Revoke { from, to, cand, session, reason, .. } = event else { return None };
        again.iter().find(|term| is_end_of(term, segment, event))?;
        Some(Event::Revoke {
            from: *from,
            to: *to,
            cand: *cand,
            session: *session,
            term: MADE_UP_TERM,
            reason: *reason,
        })
    })
}
