//! Follower sessions that end without a cause: the candidate loses its place in the queue for nothing. Those of leaders
//! are unplanned handovers.

use super::finding::Finding;
use super::sessions::{candidates_of_sessions, explained};
use super::stall_confounder::kept_from_contact;
use super::words::{moment, under_way};
use crate::index::Index;
use crate::stats::spans::Span;
use hustings_record::Nanos;

/// Events within this many T before the end of a session may have caused it.
const BLAMED_T: Nanos = 2;

/// Reports and counts them.
pub(super) fn judge<S>(index: &Index<'_>, window: Span, finding: &mut Finding<S>) -> u64 {
    let mut lost = 0;
    let stood = candidates_of_sessions(index);
    let timeout = index.timeout_or_asked();
    for (&session, cands) in &stood {
        let ended = index.candidates.ended_at(session);
        let Some(at) = ended.filter(|&at| window.0 <= at && at < window.1) else { continue };
        let before = (at.saturating_sub(BLAMED_T * timeout), at);
        let led = cands.iter().any(|&cand| led(index, cand, before));
        let on_servers = index.faults.on_servers().any(|fault| fault.explains((at, at)));
        if led || explained(index, session, Some(cands), at) || on_servers || index.servers.out_within(before) {
            continue;
        }
        let host = index.candidates.sessions.get(&session).copied();
        let name = host.map_or_else(String::new, |host| index.host_name(host));
        let text = format!(
            "session {session:#x} of a follower on {name} ended at {}, and nothing explains it{}",
            moment(index, at),
            under_way(index.faults.on_servers_at(at)),
        );
        lost += 1;
        if !index.info.expect.unplanned.forbids_the_unexplained() {
            finding.note(text);
            continue;
        }
        match host.and_then(|host| kept_from_contact(index, host, at)) {
            Some(kept) => finding.inconclusive_by_stall(format!("{text}{kept}")),
            None => finding.fail(text),
        }
    }
    lost
}

/// Whether the candidate led within `span`.
fn led(index: &Index<'_>, cand: u32, span: Span) -> bool {
    let terms = index.terms.by_cand.get(&cand).into_iter().flatten().map(|&place| &index.terms.all[place]);
    terms.map(|term| term.possible()).any(|led| led.0 <= span.1 && span.0 <= led.1)
}
