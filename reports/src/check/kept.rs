//! Who is held by a server alone: connected to it under a session that an `expire` has ended, that the other servers know no more,
//! and of whose end nothing tells it. What a server does wrong is not its client's fault.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::words::candidate;
use crate::index::Index;
use hustings_record::{FaultKind, words};

/// Candidates that were held so when the drain had ended, with the servers that held them.
pub(super) type Kept<'i> = BTreeMap<u32, &'i [u32]>;

/// Finds them.
pub(super) fn find<'i>(index: &'i Index<'_>) -> Kept<'i> {
    let Some(listed) = &index.lists.end else { return Kept::new() };
    let incarnations = index.presence.incarnations.iter();
    let last = incarnations.filter_map(|(&cand, all)| Some((cand, *all.last()?)));
    let kept = last.filter_map(|(cand, (began, session))| {
        let servers = listed.contested.get(&session)?;
        let was_told = index.candidates.ended_at(session).is_some();
        let mut faults = index.faults.of_cand(cand);
        let was_expired = faults.any(|fault| fault.kind == FaultKind::Expire && fault.t >= began && fault.verified());
        (was_expired && !was_told).then_some((cand, &servers[..]))
    });
    kept.collect()
}

/// Tells of them.
pub(super) fn tell<S>(index: &Index<'_>, kept: &Kept<'_>, finding: &mut Finding<S>) {
    for (&cand, servers) in kept {
        finding.note(format!(
            "{} is not judged: its session was ended, and {} alone still listed it, and had not told it",
            candidate(index, cand),
            words::servers(servers)
        ));
    }
}
