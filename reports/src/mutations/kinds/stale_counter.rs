//! The servers' counters of fired watches do not advance.

use super::*;
use crate::check::servers::{DeletionWatches, disturbed};

pub(in crate::mutations) const STALE_COUNTER: Mutation = Mutation {
    name: "stale-counter",
    about: "the servers' counters of fired watches stand still while the cell is measured",
    check: DeletionWatches::NAME,
    verdict: Verdict::Inconclusive,
    one_by_one: true,
    sites,
    edit,
};

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let index = scene.index;
    let (Some((from, _)), Some((to, _))) = (index.servers.begin, index.servers.end) else {
        return Sites::Nowhere("the servers' counters were not read at both ends of the window".into());
    };
    let edge = 300_000_000;
    let told = index.notices.all().any(|notice| from + edge < notice.t && notice.t + edge < to);
    SiteFilter::of([0], "")
        .only_if("nobody was notified of anything within the window", told)
        .only_if("the servers' counters do not outlast the fault", disturbed(index).is_none())
        .sites()
}

fn edit<'s>(scene: &'s IndexedCell<'s>, _: &'s [usize]) -> Edits<'s> {
    let before = scene.index.servers.begin.map(|(_, metrics)| metrics);
    Edits::default().replace(move |_, event| {
        let Event::Servers { t, at: WindowEdge::End, metrics } = event else { return None };
        let mut metrics = metrics.clone();
        for (server, counters) in &mut metrics {
            for (_, line) in WATCHES_FIRED {
                let first = before.and_then(|before| before.get(server)?.get(line));
                if let (Some(counter), Some(first)) = (counters.get_mut(line), first) {
                    *counter = *first;
                }
            }
        }
        Some(Event::Servers { t: *t, at: WindowEdge::End, metrics })
    })
}
