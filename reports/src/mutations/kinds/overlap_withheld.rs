//! A cell that must show overlaps shows none: every belief ends before its successor's begins.

use super::*;
use crate::check::split_brain::SplitBrain;

pub(in crate::mutations) const OVERLAP_WITHHELD: Mutation = Mutation {
    name: "overlap-withheld",
    about: "the overlaps that theory says must show stay away",
    check: SplitBrain::NAME,
    verdict: Verdict::Fail,
    one_by_one: false,
    sites,
    edit,
};

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let must_show = scene.index.info.expect.overlap == Expectation::Some;
    SiteFilter::of(0..scene.index.terms.all.len(), "nobody ever led")
        .only_if("the scenario does not say that overlaps must show here", must_show)
        .keep("no belief outlasted a later grant", |&term| ends_early(scene, term).is_some())
        .sites()
}

/// When another candidate of the group was first granted the lead after this term's grant, if the belief lasted longer.
fn ends_early(scene: &IndexedCell<'_>, term: usize) -> Option<Nanos> {
    let own = scene.term(term);
    let of_group = scene.index.terms.of_group(own.group).iter().map(|&place| scene.term(place));
    let later = of_group.filter(|next| next.cand != own.cand && next.grant >= own.granted.unwrap_or(own.grant));
    let first = later.map(|next| next.grant).min()?;
    (own.ended.1 + scene.index.epsilon >= first).then_some(first)
}

fn edit<'s>(scene: &'s IndexedCell<'s>, _: &'s [usize]) -> Edits<'s> {
    // A single remaining overlap would satisfy the check, so all terms are cut.
    let mut ends: BTreeMap<(usize, u32, i64, Nanos, Nanos), Nanos> = BTreeMap::new();
    for (place, term) in scene.index.terms.all.iter().enumerate() {
        if let Some(first) = ends_early(scene, place) {
            let end = first.saturating_sub(2 * scene.index.epsilon + 2).max(term.granted.unwrap_or(term.grant));
            ends.insert((term.life, term.cand, term.session, term.ended.0, term.ended.1), end);
        }
    }
    Edits::default().replace(move |segment, event| {
        let Event::Revoke { from, to, cand, session, term, reason } = event else { return None };
        let end = *ends.get(&(segment, *cand, *session, *from, *to))?;
        Some(Event::Revoke { from: end, to: end, cand: *cand, session: *session, term: *term, reason: *reason })
    })
}
