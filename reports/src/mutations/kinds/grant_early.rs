//! A successor leads before its predecessor has stopped believing.

use super::revoke_late::{forbidden_overlap, is_disturbed};
use super::*;
use crate::check::split_brain::SplitBrain;
use crate::stats::spans::touches;

/// Added to the longest overlap that is allowed.
const BEYOND_NS: Nanos = 10_000_000;

pub(in crate::mutations) const GRANT_EARLY: Mutation = Mutation::fails::<SplitBrain>(
    "grant-early",
    "a successor is granted the lead before its predecessor's belief ends",
    sites,
    edit,
);

fn sites(scene: &IndexedCell<'_>) -> Sites {
    let forbidden = forbidden_overlap(scene);
    let early = forbidden.unwrap_or(0) + BEYOND_NS;
    let overlap = |loss: usize| {
        let ended = scene.loser(loss).ended.0;
        (ended.saturating_sub(early), ended)
    };
    scene
        .handovers()
        .only_if("the scenario allows overlaps of any length here", forbidden.is_some())
        .keep("no leader had led for so long", |&loss| {
            scene.loser(loss).granted.is_some_and(|granted| granted < overlap(loss).0)
        })
        .keep("no successor stood by then", |&loss| {
            let next = scene.successor(loss);
            next.is_some_and(|next| scene.index.candidates.standing(next.cand, overlap(loss).0).is_some())
        })
        .keep("a process was stopped, or stalled, at every end of a belief", |&loss| {
            let hosts = [scene.loser(loss).host, scene.successor(loss).map_or(u16::MAX, |next| next.host)];
            let span = (overlap(loss).0, scene.granted(loss).unwrap_or(overlap(loss).1).max(overlap(loss).1));
            let stops = hosts.iter().any(|&host| touches(scene.index.faults.stops_of(host), overlap(loss)));
            !stops && !is_disturbed(scene, hosts, span)
        })
        .sites()
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize]) -> Edits<'s> {
    let early = forbidden_overlap(scene).unwrap_or(0) + BEYOND_NS;
    let moved: Vec<(&Term<'_>, Nanos)> = sites
        .iter()
        .filter_map(|&loss| Some((scene.successor(loss)?, scene.loser(loss).ended.0.saturating_sub(early))))
        .collect();
    Edits::default().replace(move |segment, event| match event {
        Event::Grant { t, cand, session, term, czxid, node } => {
            let is_it = |(next, _): &&(&Term<'_>, Nanos)| {
                (next.life, next.cand, next.session, next.grant) == (segment, *cand, *session, *t)
            };
            let (_, at) = moved.iter().find(is_it)?;
            let (cand, session, term, czxid) = (*cand, *session, *term, *czxid);
            Some(Event::Grant { t: *at, cand, session, term, czxid, node: node.clone() })
        }
        Event::Granted { t, cand, session, term } => {
            let is_it = |(next, _): &&(&Term<'_>, Nanos)| {
                (next.life, next.cand, next.session, next.granted) == (segment, *cand, *session, Some(*t))
            };
            let (_, at) = moved.iter().find(is_it)?;
            Some(Event::Granted { t: *at, cand: *cand, session: *session, term: *term })
        }
        _ => None,
    })
}
