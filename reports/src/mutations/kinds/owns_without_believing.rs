//! A dead owner: a znode has the lead while no candidate under its session ever believes.

use super::*;
use crate::check::ownership::{Ownership, owner_may_not_believe_for};
use crate::stats::spans::{Span, total, union, within, without};

pub(in crate::mutations) const OWNS_WITHOUT_BELIEVING: Mutation =
    Mutation::fails::<Ownership>("owns-without-believing", "a candidate owns the lead and never takes it", sites, edit);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let Some(window) = scene.index.window() else {
        return Sites::Nowhere("the cell ended before its tear-down".into());
    };
    let long = owner_may_not_believe_for(scene.index) + 500_000_000;
    SiteFilter::of(0..scene.index.terms.all.len(), "nobody ever led")
        .keep("nobody owned the lead for so long that not believing would be wrong", |&place| {
            let term = scene.term(place);
            let intervals = scene.index.intervals.of_group(term.group).iter();
            let owned =
                union(intervals.filter(|interval| interval.is_of(term)).map(|interval| interval.span).collect());
            // It could not have led during a stall.
            let hosts = [term.host];
            let stalls = scene.index.lives.stalls_in(&hosts, window).map(|stall| (stall.from, stall.to));
            let stalls = union(stalls.collect());
            let free = |span: &Span| total(&without((free_from(scene, term, *span).min(span.1), span.1), &stalls));
            within(&owned, window).iter().any(|span| free(span) > long)
        })
        .sites()
}

/// When faults on the owner and server outages no longer keep it from leading.
fn free_from(scene: &IndexedCell<'_>, term: &Term<'_>, span: (Nanos, Nanos)) -> Nanos {
    let faults =
        scene.index.faults.all.iter().filter(|fault| fault.met.contains(&term.host) || fault.kind.hits_servers());
    let over = faults.filter(|fault| fault.t < span.1).map(|fault| fault.active.1);
    let served = scene.index.servers.outages_within(span).into_iter().map(|out| out.1);
    over.chain(served).max().unwrap_or(span.0).max(span.0)
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let gone: Vec<&Term<'_>> = sites.iter().map(|&place| scene.term(place)).collect();
    // Earlier and later terms of the same incarnation are removed too, each with its writes.
    let is_it = move |cand: u32, session: i64| gone.iter().any(|term| (term.cand, term.session) == (cand, session));
    Edits::default()
        .drop_if(move |_, event| match event {
            Event::Grant { cand, session, .. }
            | Event::Granted { cand, session, .. }
            | Event::Revoke { cand, session, .. }
            | Event::Write { cand, session, .. } => is_it(*cand, *session),
            _ => false,
        })
        .with_honest_ledgers()
}
