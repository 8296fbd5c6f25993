//! A cell that must show stale writes shows none: whoever has lost a lead writes no more.

use std::collections::BTreeSet;

use crate::check::Section as _;
use crate::check::stale_writes::Writes;
use crate::mutations::edits::Edits;
use crate::mutations::mutation::Mutation;
use crate::mutations::scene::Scene;
use crate::mutations::sites::{Sieve, Sites};
use crate::verdict::Verdict;
use hustings_record::{Event, Expectation};

pub(in crate::mutations) const STALE_WRITE_WITHHELD: Mutation = Mutation {
    name: "stale-write-withheld",
    about: "the stale writes that theory says must show stay away",
    check: Writes::NAME,
    verdict: Verdict::Fail,
    one_by_one: false,
    sites,
    edit,
};

fn sites(scene: &Scene<'_>) -> Sites {
    let writing = &scene.index.writing;
    let must_show = scene.index.info.expect.stale_writes == Expectation::Some;
    let any = writing.all().any(|work| work.found.stale || work.found.past);
    // One that is left would be enough for the check: all of them stay away.
    Sieve::of(0..1, "nobody ever wrote")
        .only_if("the scenario does not say that stale writes must show here", must_show)
        .only_if("no stale write came", any)
        .sites()
}

fn edit<'s>(scene: &'s Scene<'s>, _: &'s [usize]) -> Edits<'s> {
    let all = scene.index.writing.all().filter(|work| work.found.stale || work.found.past);
    let stale: BTreeSet<u64> = all.map(|work| work.seq).collect();
    Edits::default()
        .drop_if(move |_, event| matches!(event, Event::Write { seq, .. } if stale.contains(seq)))
        .with_honest_ledgers()
}
