//! Writes that were sent outside their term: after its revoke, or before its grant.

use super::write_by_deposed::{add_writes, write};
use super::*;
use crate::check::stray_writes::StrayWrites;
use crate::index::Ending;

/// How much too late or too early a write is sent, beyond the clocks' error.
const OUT_BY_NS: Nanos = 2_000_000;

pub(in crate::mutations) const AFTER_REVOKE: Mutation = Mutation::fails::<StrayWrites>(
    "write-after-revoke",
    "a leader writes 2 ms after it stopped believing",
    |scene| {
        let revoked = |term: &usize| matches!(scene.term(*term).ending, Ending::Revoked(_));
        let anew = |term: &usize| !leads_again(scene, *term);
        let all = || scene.index.writing.all();
        terms(scene)
            .only_if("no write tells when it was sent", all().next().is_none() || all().any(|work| work.sent.is_some()))
            .keep("no belief was ever revoked", revoked)
            .keep("every leader led again at once by the same token", anew)
            .sites()
    },
    |scene, sites| {
        let after = |term: &Term<'_>| term.ended.1 + scene.index.epsilon + OUT_BY_NS;
        add_writes(scene, sites.iter().map(|&place| sent_at(scene.term(place), after(scene.term(place)))))
    },
);

pub(in crate::mutations) const BEFORE_GRANT: Mutation = Mutation::fails::<StrayWrites>(
    "write-before-grant",
    "a leader writes 2 ms before its grant",
    |scene| {
        let first = |term: &usize| {
            let own = scene.term(*term);
            let same =
                |other: &Term<'_>| (other.cand, other.session, other.czxid) == (own.cand, own.session, own.czxid);
            !scene.index.terms.all.iter().any(|other| same(other) && other.grant < own.grant)
        };
        terms(scene).keep("every leader had led by its token before", first).sites()
    },
    |scene, sites| {
        let before = |term: &Term<'_>| term.grant.saturating_sub(scene.index.epsilon + OUT_BY_NS);
        add_writes(scene, sites.iter().map(|&place| sent_at(scene.term(place), before(scene.term(place)))))
    },
);

/// Terms that were granted.
fn terms(scene: &IndexedCell<'_>) -> SiteFilter {
    let granted = (0..scene.index.terms.all.len()).filter(|&term| scene.term(term).granted.is_some());
    SiteFilter::of(granted, "nobody ever led").only_if("nobody ever wrote", scene.writes_segment().is_some())
}

/// Whether the same incarnation leads again by the same token within a moment.
fn leads_again(scene: &IndexedCell<'_>, term: usize) -> bool {
    let own = scene.term(term);
    let until = own.ended.1 + 2 * (scene.index.epsilon + OUT_BY_NS);
    let again = |other: &Term<'_>| {
        (other.cand, other.session, other.czxid) == (own.cand, own.session, own.czxid)
            && own.grant < other.grant
            && other.grant <= until
    };
    scene.index.terms.all.iter().any(again)
}

/// A write with the term's own token, sent at that time.
fn sent_at(term: &Term<'_>, at: Nanos) -> Event {
    let mut event = write(term, (term.czxid, term.session), at + 10_000);
    if let Event::Write { sent, .. } = &mut event {
        *sent = Some(at);
    }
    event
}
