//! What the servers log of their elections, in the words of ZooKeeper's own logs, which reports read.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hustings_workloads::model::{Micros, Role, Server, Zxid};

use super::super::super::utc::Epoch;

/// The oldest lines go when there are more.
const LINES_MAX: usize = 10_000;

/// The logs of all servers; they outlive kills, as files do.
#[derive(Debug)]
pub(super) struct Logs {
    /// When the model's time began.
    began: Epoch,
    of: Vec<RefCell<VecDeque<String>>>,
    /// Servers that look for a leader, with their last zxid.
    looking: RefCell<BTreeMap<Server, Zxid>>,
    parted: RefCell<BTreeSet<(Server, Server)>>,
    round: Cell<u64>,
}

impl Logs {
    pub(super) fn new(servers: usize) -> Self {
        Self {
            began: Epoch::now(),
            of: (0..servers).map(|_| RefCell::default()).collect(),
            looking: RefCell::default(),
            parted: RefCell::default(),
            round: Cell::new(1),
        }
    }

    pub(super) fn text(&self, server: Server) -> String {
        self.of[server].borrow().iter().fold(String::new(), |text, line| text + line + "\n")
    }

    /// From now on the servers hear each other, or do not.
    pub(super) fn part(&self, now: Micros, a: Server, b: Server, parted: bool) {
        let pair = (a.min(b), a.max(b));
        let mut all = self.parted.borrow_mut();
        if parted {
            all.insert(pair)
        } else {
            all.remove(&pair)
        };
        drop(all);
        // Those who look tell each other again.
        let both = self.looking.borrow().get(&a).copied().zip(self.looking.borrow().get(&b).copied());
        if let Some((of_a, of_b)) = both.filter(|_| !parted) {
            self.vote(now, a, b, of_b);
            self.vote(now, b, a, of_a);
        }
    }

    /// A server has become this; `took_ms`: since it began to look for a leader.
    pub(super) fn has_become(&self, now: Micros, server: Server, role: Role, (zxid, took_ms): (Zxid, u64)) {
        let (name, state) = match role {
            Role::Down => {
                self.looking.borrow_mut().remove(&server);
                return;
            }
            Role::Looking => return self.looks(now, server, zxid),
            Role::Standalone => return,
            Role::Following => ("FOLLOWING", "following"),
            Role::Leading => ("LEADING", "leading"),
        };
        self.looking.borrow_mut().remove(&server);
        if role == Role::Leading {
            self.round.set(self.round.get() + 1);
        }
        self.say(now, server, &format!("{name} - LEADER ELECTION TOOK - {took_ms} MS"));
        self.say(now, server, &format!("Peer state changed: {state} - broadcast"));
    }

    fn looks(&self, now: Micros, server: Server, zxid: Zxid) {
        let others = self.looking.borrow().clone();
        self.looking.borrow_mut().insert(server, zxid);
        self.say(now, server, "QuorumPeer - LOOKING");
        self.vote(now, server, server, zxid);
        for (other, of_other) in others {
            let pair = (server.min(other), server.max(other));
            if other != server && !self.parted.borrow().contains(&pair) {
                self.vote(now, server, other, of_other);
                self.vote(now, other, server, zxid);
            }
        }
    }

    /// `server` hears that `from` votes for itself.
    fn vote(&self, now: Micros, server: Server, from: Server, zxid: Zxid) {
        let (id, epoch, round) = (from + 1, zxid >> 32, self.round.get());
        self.say(
            now,
            server,
            &format!(
                "Notification: my state:LOOKING; n.sid:{id}, n.state:LOOKING, n.leader:{id}, n.round:0x{round:x}, \
                 n.peerEpoch:0x{epoch:x}, n.zxid:0x{zxid:x}"
            ),
        );
    }

    fn say(&self, now: Micros, server: Server, what: &str) {
        let mut lines = self.of[server].borrow_mut();
        if lines.len() >= LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(format!("{} [myid={}] {what}", self.began.plus(now), server + 1));
    }
}

#[cfg(test)]
mod tests {
    use hustings_reports::record::ServerLine;
    use hustings_workloads::model::Role;

    use super::Logs;
    use crate::ensemble::log::election_lines;

    #[test]
    fn the_winners_log_tells_whose_votes_it_heard() {
        let logs = Logs::new(3);
        logs.part(0, 1, 2, true);
        for server in [0, 1, 2] {
            logs.has_become(1_000, server, Role::Looking, ((1 << 32) + server as i64, 0));
        }
        logs.has_become(401_000, 1, Role::Leading, (2 << 32, 400));
        let read = election_lines(&logs.text(1));
        let (first, last) = (read.first().expect("lines"), read.last().expect("lines"));
        assert_eq!(last.at.duration_since(first.at).expect("later").as_millis(), 400);
        let lines: Vec<ServerLine> = read.into_iter().map(|line| line.line).collect();
        let vote = |from: u32| ServerLine::Vote { from, round: 1, epoch: 1, zxid: (1 << 32) + i64::from(from) - 1 };
        let expected = [
            ServerLine::Looking,
            vote(2),
            vote(1),
            ServerLine::Elected { leading: true, took_ms: 400 },
            ServerLine::Serving { leading: true },
        ];
        assert_eq!(lines, expected);
    }
}
