//! The servers count more fired watches than the clients were notified of.

use super::*;
use crate::check::servers::{DeletionWatches, disturbed};

pub(in crate::mutations) const COUNTER_AHEAD: Mutation = Mutation {
    name: "counter-ahead",
    about: "a server counts ten deletion watches a candidate that nobody was notified of",
    check: DeletionWatches::NAME,
    verdict: Verdict::Inconclusive,
    one_by_one: true,
    sites,
    edit,
};

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let index = scene.index;
    let read = index.servers.begin.is_some() && index.servers.end.is_some();
    SiteFilter::of([0], "")
        .only_if("the servers' counters were not read at both ends of the window", read)
        .only_if("the servers' counters do not outlast the fault", disturbed(index).is_none())
        .sites()
}

fn edit<'s>(scene: &'s IndexedCell<'s>, _: &'s [usize]) -> Edits<'s> {
    let incarnations = scene.index.candidates.incarnations.max(scene.index.candidates.all.len() as u64);
    Edits::default().replace(move |_, event| {
        let Event::Servers { t, at: WindowEdge::End, metrics } = event else { return None };
        let mut metrics = metrics.clone();
        let line = WATCHES_FIRED.iter().find(|line| line.0 == WatchEvent::Deleted)?.1;
        *metrics.values_mut().next()?.get_mut(line)? += 10.0 * incarnations as f64;
        Some(Event::Servers { t: *t, at: WindowEdge::End, metrics })
    })
}
