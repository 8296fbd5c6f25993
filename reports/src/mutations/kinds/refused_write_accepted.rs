//! A fence that lets pass what it refused: the write of a leader that wakes up, or was cut off, with its old token.

use std::collections::BTreeSet;

use crate::check::Section as _;
use crate::check::stale_writes::Writes;
use crate::mutations::edits::Edits;
use crate::mutations::mutation::Mutation;
use crate::mutations::scene::Scene;
use crate::mutations::sites::{Sieve, Sites};
use crate::verdict::Verdict;
use hustings_record::{Event, Expectation, Fencing};

pub(in crate::mutations) const REFUSED_WRITE_ACCEPTED: Mutation = Mutation {
    name: "refused-write-accepted",
    about: "the fence accepts a write with an old token that it refused",
    check: Writes::NAME,
    verdict: Verdict::Fail,
    one_by_one: true,
    sites,
    edit,
};

fn sites(scene: &Scene<'_>) -> Sites {
    let info = &scene.index.info;
    let places = scene.index.writing.all().enumerate().filter(|(_, work)| work.found.rejected).map(|(place, _)| place);
    let refused: BTreeSet<usize> = places.collect();
    let allowed = !matches!(info.expect.stale_writes, Expectation::None | Expectation::Excused);
    Sieve::of(0..scene.index.writing.count(), "nobody ever wrote")
        .only_if("the scenario allows stale writes here", !allowed)
        .only_if("the resource has no fence", info.fencing == Fencing::Fenced)
        .keep("the fence refused no write", |place| refused.contains(place))
        .sites()
}

fn edit<'s>(scene: &'s Scene<'s>, sites: &'s [usize]) -> Edits<'s> {
    let chosen: BTreeSet<usize> = sites.iter().copied().collect();
    let works = scene.index.writing.all().enumerate().filter(|(place, _)| chosen.contains(place));
    let numbers: BTreeSet<u64> = works.map(|(_, work)| work.seq).collect();
    Edits::default().after_ledgers(move |event| {
        if let Event::Write { seq, fenced_rejected, fenced_stale, .. } = event
            && numbers.contains(seq)
        {
            (*fenced_rejected, *fenced_stale) = (false, true);
        }
    })
}
