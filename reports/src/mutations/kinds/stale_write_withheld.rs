//! A cell that must show stale writes shows none: leaders write no more once they have lost leadership.

use super::*;
use crate::check::stale_writes::Writes;
use crate::index::JudgedWrite;

pub(in crate::mutations) const STALE_WRITE_WITHHELD: Mutation = Mutation {
    name: "stale-write-withheld",
    about: "the stale writes that theory says must show stay away",
    check: Writes::NAME,
    verdict: Verdict::Fail,
    one_by_one: false,
    sites,
    edit,
};

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let must_show = scene.index.info.expect.stale_writes == Expectation::Some;
    let stale = scene.writes_that(is_stale);
    SiteFilter::of(0..scene.index.writing.count(), "nobody ever wrote")
        .only_if("the scenario does not say that stale writes must show here", must_show)
        .keep("no stale write came", |place| stale.contains_key(place))
        .sites()
}

fn is_stale(found: &JudgedWrite) -> bool {
    found.stale || found.past
}

fn edit<'s>(scene: &'s IndexedCell<'s>, _: &'s [usize]) -> Edits<'s> {
    // A single remaining stale write would satisfy the check, so all are dropped.
    let stale: BTreeSet<u64> = scene.writes_that(is_stale).into_values().collect();
    Edits::default()
        .drop_if(move |_, event| matches!(event, Event::Write { seq, .. } if stale.contains(seq)))
        .with_honest_ledgers()
}
