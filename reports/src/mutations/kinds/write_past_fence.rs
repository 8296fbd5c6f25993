//! A fence that lets an old token pass.

use super::write_by_deposed::{add_writes, stale_write, with_successors_write};
use super::*;
use crate::check::stale_writes::Writes;

pub(in crate::mutations) const WRITE_PAST_FENCE: Mutation = Mutation::fails::<Writes>(
    "write-past-fence",
    "the fence accepts a write with the old token after one with the new",
    sites,
    edit,
);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    with_successors_write(scene)
        .only_if("the resource has no fence", scene.index.info.fencing == Fencing::Fenced)
        .losers_could_write(scene)
        .sites()
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let writes: Vec<Event> = sites.iter().filter_map(|&loss| stale_write(scene, loss)).collect();
    let key = |write: &Event| match write {
        Event::Write { cand, czxid, t, .. } => Some((*cand, *czxid, *t)),
        _ => None,
    };
    let added: Vec<(u32, i64, u64)> = writes.iter().filter_map(key).collect();
    add_writes(scene, writes.into_iter()).after_ledgers(move |event| {
        if let Event::Write { cand, czxid, t, fenced_rejected, fenced_stale, .. } = event
            && added.contains(&(*cand, *czxid, *t))
        {
            (*fenced_rejected, *fenced_stale) = (false, true);
        }
    })
}
