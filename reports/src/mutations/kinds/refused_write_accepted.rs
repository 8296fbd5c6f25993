//! A fence accepts a write that it refused: that of a leader with an old token, which wakes up or was cut off.

use super::*;
use crate::check::stale_writes::Writes;

pub(in crate::mutations) const REFUSED_WRITE_ACCEPTED: Mutation = Mutation::fails::<Writes>(
    "refused-write-accepted",
    "the fence accepts a write with an old token that it refused",
    sites,
    edit,
);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let refused = scene.writes_that(|found| found.rejected);
    SiteFilter::of(0..scene.index.writing.count(), "nobody ever wrote")
        .if_stale_writes_are_forbidden(scene)
        .only_if("the resource has no fence", scene.index.info.fencing == Fencing::Fenced)
        .keep("the fence refused no write", |place| refused.contains_key(place))
        .sites()
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let refused = scene.writes_that(|found| found.rejected);
    let numbers: BTreeSet<u64> = sites.iter().filter_map(|place| refused.get(place).copied()).collect();
    Edits::default().after_ledgers(move |event| {
        if let Event::Write { seq, fenced_rejected, fenced_stale, .. } = event
            && numbers.contains(seq)
        {
            (*fenced_rejected, *fenced_stale) = (false, true);
        }
    })
}
