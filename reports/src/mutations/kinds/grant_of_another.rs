//! A candidate reports a grant by another znode than its own.

use super::*;
use crate::check::grant_tokens::GrantTokens;

pub(in crate::mutations) const EARLIER_GRANT: Mutation = Mutation::fails::<GrantTokens>(
    "grant-with-earlier-token",
    "a candidate is granted a lead with the token of an earlier one of its own",
    |scene| {
        observed(scene)
            .keep("nobody led twice by different tokens", |&term| scene.earlier_token(term).is_some())
            .sites()
    },
    |scene, sites| edit(scene, sites, |scene, term| scene.earlier_token(term)),
);

pub(in crate::mutations) const MADE_UP_GRANT: Mutation = Mutation::fails::<GrantTokens>(
    "grant-with-made-up-token",
    "a candidate is granted a lead with a token that no znode has",
    |scene| observed(scene).sites(),
    |scene, sites| edit(scene, sites, |_, _| Some(MADE_UP_TOKEN)),
);

/// Terms by a znode that was observed by name.
fn observed(scene: &IndexedCell<'_>) -> SiteFilter {
    let known = |&term: &usize| {
        let own = scene.term(term);
        scene.index.znodes.named(own.session, own.node) == Some(own.czxid)
    };
    SiteFilter::of(0..scene.index.terms.all.len(), "nobody ever led")
        .keep("no lead rests on a znode whose name was observed, and means one znode alone", known)
}

fn edit<'s>(
    scene: &'s IndexedCell<'s>,
    sites: &'s [usize],
    token: fn(&IndexedCell<'_>, usize) -> Option<i64>,
) -> Edits<'s> {
    Edits::default().replace(move |segment, event| {
        let Event::Grant { t, cand, session, term, node, .. } = event else { return None };
        let is_it = |&&place: &&usize| {
            let own = scene.term(place);
            (own.life, own.cand, own.session, own.grant) == (segment, *cand, *session, *t)
        };
        let czxid = token(scene, *sites.iter().find(is_it)?)?;
        Some(Event::Grant { t: *t, cand: *cand, session: *session, term: *term, czxid, node: node.clone() })
    })
}
