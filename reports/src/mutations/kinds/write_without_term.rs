//! A leader writes, while it leads, with a token by which nobody ever led.

use super::write_by_deposed::{add_writes, write};
use super::*;
use crate::check::stray_writes::StrayWrites;

pub(in crate::mutations) const WRITE_WITHOUT_TERM: Mutation = Mutation::fails::<StrayWrites>(
    "write-without-term",
    "a leader writes with a token by which nobody ever led",
    sites,
    edit,
);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let granted = (0..scene.index.terms.all.len()).filter(|&term| scene.term(term).granted.is_some());
    SiteFilter::of(granted, "nobody ever led")
        .only_if("nobody ever wrote", scene.writes_segment().is_some())
        .keep("no leader's belief lasted long enough to write in it", |&place| middle(scene.term(place)).is_some())
        .sites()
}

fn middle(term: &Term<'_>) -> Option<u64> {
    term.definite().map(|definite| definite.0.midpoint(definite.1))
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    // A czxid below all others: this write is stale, and no later write becomes stale by it.
    let writes = sites.iter().filter_map(|&place| {
        let term = scene.term(place);
        Some(write(term, (1, term.session), middle(term)?))
    });
    add_writes(scene, writes)
}
