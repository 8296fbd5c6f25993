//! The server that had to win an election: the best vote (by epoch, then zxid, then id) among those that took part. A
//! server decides when a quorum agrees with it and no better vote has arrived for 200 ms. A vote that the winner
//! received before that must have counted; a later one may have.

use crate::index::{Election, Index, LOG_SLACK_NS, Role};
use hustings_record::{Event, FaultKind, Nanos, ServerLine};

/// How long a server waits for a better vote once a quorum agrees with it (FastLeaderElection's finalizeWait).
const FINALIZE_WAIT_NS: Nanos = 200_000_000;
/// Longest delay between a server's decision and its log line.
const DECIDED_MARGIN_NS: Nanos = 50_000_000;

/// A server's place in the order of votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Vote {
    epoch: i64,
    zxid: i64,
    pub(super) server: u32,
}

impl std::fmt::Display for Vote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "server {} with epoch {}, zxid {:#x}", self.server, self.epoch, self.zxid)
    }
}

/// A vote, and whether it must have counted or may have come too late.
#[derive(Clone, Copy, Debug)]
pub(super) struct CastVote {
    pub(super) vote: Vote,
    pub(super) certain: bool,
}

pub(super) enum Prediction {
    /// This server had to win.
    Certain(u32, Vec<CastVote>),
    /// Any of these may have won, as far as it is known which took part in time.
    Open(Vec<u32>, Vec<CastVote>),
    Unknown(String),
}

/// Which server had to win this completed election.
pub(super) fn predict(index: &Index<'_>, election: &Election, winner: u32) -> Prediction {
    let cast = match told(index, election, winner) {
        Ok(cast) => cast,
        Err(why) => match at_rest(index, election, winner) {
            Some(cast) => cast,
            None => return Prediction::Unknown(why),
        },
    };
    let best = cast.iter().filter(|c| c.certain).map(|c| c.vote).max();
    let late = cast.iter().filter(|c| !c.certain && Some(c.vote) > best).map(|c| c.vote.server);
    let mut valid: Vec<u32> = best.map(|b| b.server).into_iter().chain(late).collect();
    valid.sort_unstable();
    match valid[..] {
        [one] => Prediction::Certain(one, cast),
        _ => Prediction::Open(valid, cast),
    }
}

/// The votes in the winner's own log: a server that it did not hear from had no part in its decision.
fn told(index: &Index<'_>, election: &Election, winner: u32) -> Result<Vec<CastVote>, String> {
    let no_log = || format!("the log of server {winner} does not tell how it was elected");
    let server = index.servers.all.get(&winner).ok_or_else(no_log)?;
    let role = election.roles.get(&winner).ok_or_else(no_log)?;
    let (Some(looked), Some((elected, _))) = (role.looked, role.elected) else { return Err(no_log()) };
    let heard = || server.lines(election.lost.0.saturating_sub(LOG_SLACK_NS), elected);
    // A server killed in between, or forced to begin again, looked before: earlier votes belong to that attempt.
    let looked = heard().rev().find(|l| *l.1 == ServerLine::Looking).map_or(looked, |l| l.0.max(looked));
    // Each election has its own round: votes of another do not count.
    let own = heard().rev().find_map(|(_, line)| match line {
        ServerLine::Vote { from, round, .. } if *from == winner => Some(*round),
        _ => None,
    });
    let Some(own) = own else { return Err(format!("the log of server {winner} does not tell its own vote")) };
    let in_time = elected.saturating_sub(FINALIZE_WAIT_NS + DECIDED_MARGIN_NS);
    let mut cast: Vec<CastVote> = Vec::new();
    for (t, line) in heard() {
        let ServerLine::Vote { from, round, epoch, zxid } = line else { continue };
        if *round != own {
            continue;
        }
        let vote = Vote { epoch: *epoch, zxid: *zxid, server: *from };
        // The winner took no votes in before it looked itself.
        let certain = *from == winner || (looked..=in_time).contains(t);
        match cast.iter_mut().find(|c| c.vote.server == *from) {
            Some(before) => *before = CastVote { vote, certain: certain || before.certain && before.vote == vote },
            None => cast.push(CastVote { vote, certain }),
        }
    }
    Ok(cast)
}

/// Without logs: if nothing was ever written in the cell, a server's vote is the zxid that it last reported as
/// processed.
fn at_rest(index: &Index<'_>, election: &Election, winner: u32) -> Option<Vec<CastVote>> {
    use Event as E;
    let partition = index.faults.all.iter().any(|f| f.kind == FaultKind::ServerPartition);
    // The servers write a transaction for every session of any client, and for every write.
    let client = |event: &Event| {
        matches!(event, E::Session { .. } | E::ObserverState { .. } | E::Floor { .. } | E::WriteProbe { .. })
    };
    if partition || election.old.is_none() || index.cell.events().any(|(_, event)| client(event)) {
        return None;
    }
    let began = election.roles.get(&winner)?.left;
    let took_part = |role: &Role| role.looking.is_some_and(|l| election.ended.is_none_or(|e| l.0 <= e.1));
    let mut cast = Vec::new();
    for (&id, role) in election.roles.iter().filter(|(_, role)| took_part(role)) {
        let state_spans = &index.servers.all.get(&id)?.state_spans;
        let served =
            state_spans.iter().rev().find(|s| s.serves() && s.ended.0 <= role.left.0 && s.ended.1 <= role.left.1);
        // All of them followed the same leader: their epoch is the same.
        let vote = Vote { epoch: 0, zxid: served?.zxid?, server: id };
        // The winner decided no sooner than this wait after it began to look.
        let certain = id == winner || role.left.1 <= began.0;
        cast.push(CastVote { vote, certain });
    }
    Some(cast)
}
