//! A leader writes with a token that is not of its own term.

use super::write_by_deposed::{add_writes, write};
use super::*;
use crate::check::write_tokens::WriteTokens;

pub(in crate::mutations) const EARLIER_TOKEN: Mutation = Mutation::fails::<WriteTokens>(
    "write-with-earlier-token",
    "a leader writes with the token of an earlier lead of its own",
    |scene| {
        leads(scene).keep("nobody led twice by different tokens", |&term| scene.earlier_token(term).is_some()).sites()
    },
    |scene, sites| edit(scene, sites, |scene, term| scene.earlier_token(term)),
);

pub(in crate::mutations) const FUTURE_TOKEN: Mutation = Mutation::fails::<WriteTokens>(
    "write-with-future-token",
    "a leader writes with a token that no znode has",
    |scene| leads(scene).sites(),
    |scene, sites| edit(scene, sites, |_, _| Some(MADE_UP_TOKEN)),
);

pub(in crate::mutations) const OTHERS_TOKEN: Mutation = Mutation::fails::<WriteTokens>(
    "write-with-other-s-token",
    "a leader writes with the token of another candidate's lead",
    |scene| leads(scene).keep("nobody else led the group", |&term| others(scene, term).is_some()).sites(),
    |scene, sites| edit(scene, sites, others),
);

/// Terms with a known token that lasted long enough for a write in their middle.
fn leads(scene: &IndexedCell<'_>) -> SiteFilter {
    let known = |term: &Term<'_>| term.is_known() && at(term).is_some();
    let terms = (0..scene.index.terms.all.len()).filter(|&term| known(scene.term(term)));
    SiteFilter::of(terms, "nobody ever led by a token that is known")
        .only_if("nobody ever wrote", scene.writes_segment().is_some())
}

/// The middle of a belief.
fn at(term: &Term<'_>) -> Option<u64> {
    term.definite().filter(|led| led.1 - led.0 > 10_000_000).map(|led| led.0.midpoint(led.1))
}

fn others(scene: &IndexedCell<'_>, term: usize) -> Option<i64> {
    let own = scene.term(term);
    let mut terms = scene.index.terms.of_group(own.group).iter().map(|&other| scene.term(other));
    terms.find(|other| other.cand != own.cand && other.rests_on_another_znode(own)).map(|other| other.czxid)
}

fn edit<'s>(
    scene: &'s IndexedCell<'s>,
    sites: &'s [usize],
    token: impl Fn(&IndexedCell<'_>, usize) -> Option<i64>,
) -> Edits<'s> {
    let writes = sites.iter().filter_map(|&place| {
        let term = scene.term(place);
        Some(write(term, (token(scene, place)?, term.session), at(term)?))
    });
    add_writes(scene, writes)
}
