//! Candidates that a server still holds: connected to it under a session that an `expire` ended and the other servers
//! no longer list. The server does not notify them of the end, and its error is not the client's.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::words::{candidate, moment};
use crate::index::Index;
use hustings_record::{FaultKind, Nanos, words};

/// Candidates in this state at the end of the drain.
pub(super) type LingeringCandidates<'i> = BTreeMap<u32, HoldingServers<'i>>;

/// The servers that hold the candidate, and when its session was ended.
#[derive(Clone, Copy)]
pub(super) struct HoldingServers<'i> {
    servers: &'i [u32],
    pub(super) since: Nanos,
}

/// Finds the candidates that servers still hold.
pub(super) fn find<'i>(index: &'i Index<'_>) -> LingeringCandidates<'i> {
    let Some(listed) = &index.lists.end else { return LingeringCandidates::new() };
    let incarnations = index.presence.incarnations.iter();
    let last = incarnations.filter_map(|(&cand, all)| Some((cand, *all.last()?)));
    let kept = last.filter_map(|(cand, (began, session))| {
        let servers = listed.contested.get(&session)?;
        let was_told = index.candidates.ended_at(session).is_some();
        let faults = index.faults.of_cand(cand);
        let expires = faults.filter(|fault| fault.kind == FaultKind::Expire && fault.t >= began && fault.verified());
        let since = expires.map(|fault| fault.t).min().filter(|_| !was_told)?;
        Some((cand, HoldingServers { servers, since }))
    });
    kept.collect()
}

/// Reports them.
pub(super) fn tell<S>(index: &Index<'_>, kept: &LingeringCandidates<'_>, finding: &mut Finding<S>) {
    for (&cand, held) in kept {
        finding.note(format!(
            "{} is not judged from {} on: its session was ended, and {} alone still listed it, and had not told it",
            candidate(index, cand),
            moment(index, held.since),
            words::servers(held.servers)
        ));
    }
}
