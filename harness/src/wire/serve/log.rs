//! The servers' logs of their elections, in the format of ZooKeeper's logs, which reports parse.

use std::cell::RefCell;
use std::collections::VecDeque;

use hustings_record::{ServerLine, ServerState};
use hustings_workloads::model::{Ballots, Micros, Server, Zxid};

use crate::process::utc::Epoch;

/// With more lines, the oldest are removed.
const LINES_MAX: usize = 10_000;

/// The logs of all servers. Like files, they survive kills.
#[derive(Debug)]
pub(super) struct Logs {
    /// Start of the model's time.
    began: Epoch,
    of: Vec<RefCell<VecDeque<String>>>,
    ballots: RefCell<Ballots>,
}

impl Logs {
    pub(super) fn new(servers: usize) -> Self {
        let of = (0..servers).map(|_| RefCell::default()).collect();
        Self { began: Epoch::now(), of, ballots: RefCell::default() }
    }

    pub(super) fn text(&self, server: Server) -> String {
        self.of[server].borrow().iter().fold(String::new(), |text, line| text + line + "\n")
    }

    /// From now on, these servers are partitioned from each other, or no longer are.
    pub(super) fn part(&self, now: Micros, a: Server, b: Server, parted: bool) {
        let said = self.ballots.borrow_mut().part(a, b, parted);
        said.into_iter().for_each(|(server, said)| self.say(now, server, &words(said)));
    }

    /// A server has entered this state. `took_ms`: time since it began to look for a leader.
    pub(super) fn has_become(&self, now: Micros, server: Server, state: ServerState, (zxid, took_ms): (Zxid, u64)) {
        let said = self.ballots.borrow_mut().has_become(server, state, zxid, took_ms);
        said.into_iter().for_each(|(server, said)| self.say(now, server, &words(said)));
    }

    fn say(&self, now: Micros, server: Server, what: &str) {
        let mut lines = self.of[server].borrow_mut();
        if lines.len() >= LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(format!("{} [myid={}] {what}", self.began.plus(now), server + 1));
    }
}

fn words(said: ServerLine) -> String {
    match said {
        ServerLine::Looking => "QuorumPeer - LOOKING".to_owned(),
        ServerLine::Vote { from, round, epoch, zxid } => {
            format!(
                "Notification: my state:LOOKING; n.sid:{from}, n.state:LOOKING, n.leader:{from}, n.round:0x{round:x}, \
                 n.peerEpoch:0x{epoch:x}, n.zxid:0x{zxid:x}"
            )
        }
        ServerLine::Elected { leading, took_ms } => {
            let name = if leading { "LEADING" } else { "FOLLOWING" };
            format!("{name} - LEADER ELECTION TOOK - {took_ms} MS")
        }
        ServerLine::Supported => "Leader - Have quorum of supporters".to_owned(),
        ServerLine::Serving { leading } => {
            format!("Peer state changed: {} - broadcast", if leading { "leading" } else { "following" })
        }
        ServerLine::Paused { ms } => {
            format!("Detected pause in JVM or host machine (eg GC): pause of approximately {ms} ms")
        }
    }
}

#[cfg(test)]
mod tests {
    use hustings_record::{ServerLine, ServerState};

    use super::Logs;
    use crate::ensemble::log::lines_that_matter;

    #[test]
    fn the_winners_log_tells_whose_votes_it_heard() {
        let logs = Logs::new(3);
        logs.part(0, 1, 2, true);
        for server in [0, 1, 2] {
            logs.has_become(1_000, server, ServerState::NotServing, ((1 << 32) + server as i64, 0));
        }
        logs.has_become(401_000, 1, ServerState::Leading, (2 << 32, 400));
        let read = lines_that_matter(&logs.text(1));
        let (first, last) = (read.first().expect("lines"), read.last().expect("lines"));
        assert_eq!(last.at.duration_since(first.at).expect("later").as_millis(), 400);
        let lines: Vec<ServerLine> = read.into_iter().map(|line| line.line).collect();
        let vote = |from: u32| ServerLine::Vote { from, round: 1, epoch: 1, zxid: (1 << 32) + i64::from(from) - 1 };
        let expected = [
            ServerLine::Looking,
            vote(2),
            vote(1),
            ServerLine::Elected { leading: true, took_ms: 400 },
            ServerLine::Supported,
            ServerLine::Serving { leading: true },
        ];
        assert_eq!(lines, expected);
    }
}
