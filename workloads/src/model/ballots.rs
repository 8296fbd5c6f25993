//! The votes that looking servers exchange, and each one's log lines about them. The model elects without them: they
//! only show why a server won. The driver reports every state change, and which servers can communicate.

use std::collections::{BTreeMap, BTreeSet};

use hustings_record::numbers::to_u32;
use hustings_record::{ServerLine, ServerState};

use super::interface::Server;
use super::op::Zxid;

/// The votes of all servers that look for a leader.
#[derive(Debug)]
pub struct Ballots {
    /// Servers that look for a leader, with their last zxid and the round in which they last began.
    looking: BTreeMap<Server, (Zxid, i64)>,
    parted: BTreeSet<(Server, Server)>,
    round: i64,
}

impl Default for Ballots {
    fn default() -> Self {
        Self { looking: BTreeMap::new(), parted: BTreeSet::new(), round: 1 }
    }
}

impl Ballots {
    /// From now on two servers can communicate, or cannot. Returns the log lines in order.
    pub fn part(&mut self, a: Server, b: Server, parted: bool) -> Vec<(Server, ServerLine)> {
        let pair = (a.min(b), a.max(b));
        if parted {
            self.parted.insert(pair);
            return Vec::new();
        }
        self.parted.remove(&pair);
        // Two looking servers exchange their votes again.
        match (self.looking.get(&a), self.looking.get(&b)) {
            (Some(&(of_a, _)), Some(&(of_b, _))) => vec![(a, self.vote(b, of_b)), (b, self.vote(a, of_a))],
            _ => Vec::new(),
        }
    }

    /// A server has entered this state, with this last zxid; `took_ms`: how long it has looked for a leader. Returns
    /// the log lines in order.
    pub fn has_become(
        &mut self,
        server: Server,
        state: ServerState,
        zxid: Zxid,
        took_ms: u64,
    ) -> Vec<(Server, ServerLine)> {
        match state {
            ServerState::NotServing => self.looks(server, zxid),
            ServerState::Down | ServerState::Silent | ServerState::Standalone => {
                self.looking.remove(&server);
                Vec::new()
            }
            ServerState::Following | ServerState::Leading => {
                self.looking.remove(&server);
                let leading = state == ServerState::Leading;
                self.round += i64::from(leading);
                let said = [Some(ServerLine::Elected { leading, took_ms }), leading.then_some(ServerLine::Supported)];
                said.into_iter().flatten().chain([ServerLine::Serving { leading }]).map(|said| (server, said)).collect()
            }
        }
    }

    fn looks(&mut self, server: Server, zxid: Zxid) -> Vec<(Server, ServerLine)> {
        // A second vote in the same round begins another round, which the others then enter.
        if self.looking.get(&server).is_some_and(|(_, round)| *round == self.round) {
            self.round += 1;
        }
        let mut said = vec![(server, ServerLine::Looking), (server, self.vote(server, zxid))];
        for (&other, &(of_other, _)) in self.looking.iter().filter(|(other, _)| **other != server) {
            if !self.parted.contains(&(server.min(other), server.max(other))) {
                said.extend([(server, self.vote(other, of_other)), (other, self.vote(server, zxid))]);
            }
        }
        self.looking.insert(server, (zxid, self.round));
        said
    }

    fn vote(&self, from: Server, zxid: Zxid) -> ServerLine {
        ServerLine::Vote { from: to_u32(from) + 1, round: self.round, epoch: zxid >> 32, zxid }
    }
}

#[cfg(test)]
mod tests {
    use super::{Ballots, Server, ServerLine, ServerState};

    fn received_by(server: Server, said: &[(Server, ServerLine)]) -> Vec<Server> {
        let votes = said.iter().filter(|(by, _)| *by == server).filter_map(|(_, said)| match said {
            ServerLine::Vote { from, .. } => Some(*from as Server - 1),
            _ => None,
        });
        votes.collect()
    }

    #[test]
    fn who_looks_hears_everybody_who_looks_and_can_be_heard() {
        let mut ballots = Ballots::default();
        ballots.part(2, 1, true);
        let mut said = Vec::new();
        for server in [0, 1, 2] {
            said.extend(ballots.has_become(server, ServerState::NotServing, 1 << 32, 0));
        }
        assert_eq!(
            (received_by(0, &said), received_by(1, &said), received_by(2, &said)),
            (vec![0, 1, 2], vec![1, 0], vec![2, 0])
        );
        let again = ballots.part(1, 2, false);
        assert_eq!((received_by(1, &again), received_by(2, &again)), (vec![2], vec![1]));
    }

    #[test]
    fn who_votes_anew_begins_another_round_that_the_others_enter() {
        let mut ballots = Ballots::default();
        let rounds = |said: Vec<(Server, ServerLine)>| {
            let rounds = said.into_iter().filter_map(|(_, said)| match said {
                ServerLine::Vote { round, .. } => Some(round),
                _ => None,
            });
            rounds.collect::<std::collections::BTreeSet<_>>()
        };
        let mut look = |server| rounds(ballots.has_become(server, ServerState::NotServing, 7, 0));
        assert_eq!([look(0), look(1)], [[1].into(), [1].into()]);
        assert_eq!([look(0), look(1)], [[2].into(), [2].into()]);
    }

    #[test]
    fn every_leader_ends_a_round_and_the_dead_vote_no_more() {
        let mut ballots = Ballots::default();
        ballots.has_become(0, ServerState::NotServing, 7, 0);
        ballots.has_become(1, ServerState::NotServing, 8, 0);
        let won = ballots.has_become(1, ServerState::Leading, 1 << 32, 400);
        let said = [
            ServerLine::Elected { leading: true, took_ms: 400 },
            ServerLine::Supported,
            ServerLine::Serving { leading: true },
        ];
        assert_eq!(won, said.map(|said| (1, said)));
        ballots.has_become(0, ServerState::Down, 7, 0);
        let later = ballots.has_become(2, ServerState::NotServing, (1 << 32) + 5, 0);
        assert_eq!(later[1], (2, ServerLine::Vote { from: 3, round: 2, epoch: 1, zxid: (1 << 32) + 5 }));
        assert_eq!(received_by(2, &later), [2]);
    }
}
