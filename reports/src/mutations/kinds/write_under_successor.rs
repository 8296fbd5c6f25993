//! A deposed leader writes under its successor's token.

use super::write_by_deposed::{add_writes, first_write, with_successors_write, write};
use super::*;
use crate::check::stale_writes::Writes;

pub(in crate::mutations) const WRITE_UNDER_SUCCESSOR: Mutation = Mutation::fails::<Writes>(
    "write-under-successor",
    "a deposed leader writes with its successor's token",
    sites,
    edit,
);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    with_successors_write(scene).losers_could_write(scene).sites()
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let stolen = sites.iter().filter_map(|&loss| {
        let (lost, next) = (scene.loser(loss), scene.successor(loss)?);
        Some(write(lost, (next.czxid, next.session), first_write(scene, loss)? + 1_000_000))
    });
    add_writes(scene, stolen)
}
