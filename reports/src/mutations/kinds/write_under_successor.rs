//! A deposed leader writes under its successor's token.

use super::write_by_deposed::{add_writes, first_write, with_successors_write, write};
use crate::check::Section as _;
use crate::check::stale_writes::Writes;
use crate::mutations::edits::Edits;
use crate::mutations::mutation::Mutation;
use crate::mutations::scene::Scene;
use crate::mutations::sites::Sites;
use crate::verdict::Verdict;

pub(in crate::mutations) const WRITE_UNDER_SUCCESSOR: Mutation = Mutation {
    name: "write-under-successor",
    about: "a deposed leader writes with its successor's token",
    check: Writes::NAME,
    verdict: Verdict::Fail,
    one_by_one: true,
    sites,
    edit,
};

fn sites(scene: &Scene<'_>) -> Sites {
    with_successors_write(scene).losers_could_write(scene).sites()
}

fn edit<'s>(scene: &'s Scene<'s>, sites: &'s [usize]) -> Edits<'s> {
    let stolen = sites.iter().filter_map(|&loss| {
        let (lost, next) = (scene.loser(loss), scene.successor(loss)?);
        Some(write(lost, (next.czxid, next.session), first_write(scene, loss)? + 1_000_000))
    });
    add_writes(scene, stolen)
}
