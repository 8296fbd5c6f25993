//! A leader never writes.

use super::*;
use crate::check::effect::EffectSection;
use crate::stats::spans::touches;

/// Write intervals, and the time beyond them, after which a leader without a write counts as mute.
const INTERVALS: u64 = 10;
const BEYOND_NS: Nanos = 1_200_000_000;

pub(in crate::mutations) const LEADER_NEVER_WRITES: Mutation =
    Mutation::fails::<EffectSection>("leader-never-writes", "a leader does not write in all of its term", sites, edit);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let Some(window) = scene.index.window() else {
        return Sites::Nowhere("the cell ended before its tear-down".into());
    };
    SiteFilter::of(0..scene.index.terms.all.len(), "nobody ever led")
        .keep("no undisturbed term lasted for ten write intervals and 1.2 s", |&place| {
            let term = scene.term(place);
            let enough = INTERVALS * scene.index.info.work_interval_ms * 1_000_000 + BEYOND_NS;
            term.definite().is_some_and(|led| {
                // Without its writes, a belief may be known for less long.
                let judged = (led.0, term.reported_end.min(window.1).max(led.0));
                // Short stalls make a silence inconclusive.
                let stalled = scene.index.lives.stalled_for(&[term.host], judged);
                judged.1 - judged.0 >= enough + stalled && runs(scene, term, led)
            })
        })
        .sites()
}

/// Whether the leader's process, its work and the coordinator ran throughout.
fn runs(scene: &IndexedCell<'_>, term: &Term<'_>, led: (Nanos, Nanos)) -> bool {
    let faults = &scene.index.faults;
    let stalled = scene.index.lives.stalls_in(&[term.host], led).any(|stall| stall.own > BEYOND_NS / 10);
    !touches(faults.stops_of(term.host), led) && !touches(faults.hangs_of(term.host), led) && !stalled
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let mute: BTreeSet<(u32, i64, i64)> = sites
        .iter()
        .map(|&place| {
            let term = scene.term(place);
            (term.cand, term.session, term.czxid)
        })
        .collect();
    Edits::default()
        .drop_if(move |_, event| match event {
            Event::Write { cand, session, czxid, .. } => mute.contains(&(*cand, *session, *czxid)),
            _ => false,
        })
        .with_honest_ledgers()
}
