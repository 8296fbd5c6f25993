//! Parses a server's log for the ensemble's elections and the server's own pauses. Lines begin with their time (RFC
//! 3339, UTC); the format between that and the searched words depends on the logging library.

use std::time::SystemTime;

use hustings_record::ServerLine;

/// One relevant line, and when it was logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    pub at: SystemTime,
    pub line: ServerLine,
}

/// Number of lines of a log's end in an error message.
const TAIL_LINES: usize = 15;

/// The last lines of a log, indented, without stack frames.
pub(super) fn tail(text: &str) -> String {
    let frame = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("at ") && line.ends_with(')') || line.starts_with("... ") && line.ends_with(" more")
    };
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty() && !frame(line)).collect();
    let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    last.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// The relevant lines of a log, in order.
#[must_use]
pub fn lines_that_matter(text: &str) -> Vec<LogLine> {
    text.lines().filter_map(one).collect()
}

fn one(text: &str) -> Option<LogLine> {
    let (time, rest) = text.split_once(' ')?;
    let line = says(rest)?;
    let at = humantime::parse_rfc3339(time).ok()?;
    Some(LogLine { at, line })
}

fn says(text: &str) -> Option<ServerLine> {
    if text.ends_with("QuorumPeer - LOOKING") || text.ends_with("] - LOOKING") {
        return Some(ServerLine::Looking);
    }
    if let Some((_, state)) = text.split_once("Peer state changed: ") {
        return match state.trim() {
            "leading - broadcast" => Some(ServerLine::Serving { leading: true }),
            "following - broadcast" => Some(ServerLine::Serving { leading: false }),
            _ => None,
        };
    }
    for (words, leading) in
        [("LEADING - LEADER ELECTION TOOK - ", true), ("FOLLOWING - LEADER ELECTION TOOK - ", false)]
    {
        if let Some((_, took)) = text.split_once(words) {
            let took_ms = took.split_whitespace().next()?.parse().ok()?;
            return Some(ServerLine::Elected { leading, took_ms });
        }
    }
    if let Some((_, paused)) = text.split_once("Detected pause in JVM or host machine (eg GC): pause of approximately ")
    {
        let ms = paused.split_whitespace().next()?.parse().ok()?;
        return Some(ServerLine::Paused { ms });
    }
    if text.contains("Have quorum of supporters") {
        return Some(ServerLine::Supported);
    }
    vote(text)
}

/// A notification counts if it is a looking server's vote for itself: that shows its round, epoch and zxid.
fn vote(text: &str) -> Option<ServerLine> {
    let (_, fields) = text.split_once("Notification: ")?;
    let of = |name: &str| {
        let mut parts = fields.split([';', ',']).filter_map(|part| part.trim().split_once(':'));
        parts.find(|(key, _)| *key == name).map(|(_, value)| value.trim())
    };
    let from: u32 = of("n.sid")?.parse().ok()?;
    let leader: u32 = of("n.leader")?.parse().ok()?;
    if of("n.state")? != "LOOKING" || leader != from {
        return None;
    }
    let (round, epoch, zxid) = (hex(of("n.round")?)?, hex(of("n.peerEpoch")?)?, hex(of("n.zxid")?)?);
    Some(ServerLine::Vote { from, round, epoch, zxid })
}

/// Java prints a negative number as the unsigned one with the same bits.
fn hex(text: &str) -> Option<i64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok().map(u64::cast_signed)
}

#[cfg(test)]
mod tests {
    use hustings_record::ServerLine;

    use super::lines_that_matter;

    const CLASS: &str =
        "[QuorumPeer[myid=1](plain=127.0.0.1:1)(secure=disabled)] INFO org.apache.zookeeper.server.quorum";

    fn read(text: &str) -> Vec<ServerLine> {
        lines_that_matter(text).into_iter().map(|line| line.line).collect()
    }

    #[test]
    fn an_election_is_read_from_looking_to_serving() {
        let text = format!(
            "2026-11-21T15:31:49.863Z {CLASS}.QuorumPeer - LOOKING\n\
             2026-11-21T15:31:49.885Z {CLASS}.FastLeaderElection - New election. My id = 1, proposed zxid=0x0\n\
             2026-11-21T15:31:50.850Z {CLASS}.Learner - FOLLOWING - LEADER ELECTION TOOK - 965 MS\n\
             2026-11-21T15:31:50.988Z {CLASS}.QuorumPeer - Peer state changed: following - synchronization\n\
             2026-11-21T15:31:51.217Z {CLASS}.QuorumPeer - Peer state changed: following - broadcast\n\
             2026-11-21T15:31:52.217Z {CLASS}.Leader - LEADING - LEADER ELECTION TOOK - 284 MS\n\
             2026-11-21T15:31:52.270Z {CLASS}.Leader - Have quorum of supporters, sids: [[2, 3],[2, 3]]; starting up\n\
             2026-11-21T15:31:52.300Z {CLASS}.QuorumPeer - Peer state changed: leading - broadcast\n"
        );
        assert_eq!(
            read(&text),
            [
                ServerLine::Looking,
                ServerLine::Elected { leading: false, took_ms: 965 },
                ServerLine::Serving { leading: false },
                ServerLine::Elected { leading: true, took_ms: 284 },
                ServerLine::Supported,
                ServerLine::Serving { leading: true },
            ]
        );
    }

    #[test]
    fn of_the_votes_those_for_oneself_are_kept() {
        let said = |sid, state, leader| {
            format!(
                "2026-11-21T15:31:50.584123456Z 2026-11-21 15:31:50,584 [myid:1] - INFO  [WorkerReceiver[myid=1]:o.a.z.s.q.FastLeaderElection$Messenger$WorkerReceiver@389] - \
                 Notification: my state:LOOKING; n.sid:{sid}, n.state:{state}, n.leader:{leader}, n.round:0x1, n.peerEpoch:0x2, \
                 n.zxid:0x200000013, message format version:0x2, n.config version:0x0"
            )
        };
        let vote = ServerLine::Vote { from: 2, round: 1, epoch: 2, zxid: 0x2_0000_0013 };
        assert_eq!(read(&said(2, "LOOKING", 2)), [vote]);
        assert_eq!(read(&said(1, "LOOKING", 2)), []);
        assert_eq!(read(&said(2, "LEADING", 2)), []);
    }

    #[test]
    fn a_pause_is_read_with_its_length() {
        let text = "2026-11-21T15:31:49.863Z [JVM Pause Monitor] WARN org.apache.zookeeper.server.util.JvmPauseMonitor - Detected pause in JVM or \
                    host machine (eg GC): pause of approximately 23 ms, total pause: info level: 0, warn level: 4 \nNo GCs detected\n";
        assert_eq!(read(text), [ServerLine::Paused { ms: 23 }]);
        assert_eq!(read(&text.replace("23", "many")), []);
    }

    #[test]
    fn anything_else_is_passed_over() {
        let odd = [
            "",
            "x",
            "2026-11-21T15:31:49.863Z",
            "yesterday INFO QuorumPeer - LOOKING",
            "\tat java.base/x",
            "é Notification: n.sid:",
        ];
        assert_eq!(read(&odd.join("\n")), []);
        assert_eq!(read("2026-11-21T15:31:49.863Z a Notification: n.sid:99999999999, n.state:LOOKING, n.leader:1"), []);
    }
}
