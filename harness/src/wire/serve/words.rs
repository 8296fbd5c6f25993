//! Four-letter words, answered in the format of the version that the servers report.

use hustings_record::{Holdings, ServerState};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use hustings_workloads::model::Server;

use super::VERSION;
use super::core::ServedEnsemble;

const IDLE: &str = "This ZooKeeper instance is not currently serving requests\n";

/// The answer to the four-letter word at the start of a connection. None if it is not such a word.
pub(super) fn answer(core: &ServedEnsemble, server: Server, word: [u8; 4]) -> Option<String> {
    let serves = core.state(server).serves();
    let text = match &word {
        b"ruok" => return Some("imok".to_owned()),
        b"isro" if serves => "rw".to_owned(),
        b"isro" => "null".to_owned(),
        b"envi" if serves => format!("Environment:\nzookeeper.version={}\nhost.name=127.0.0.1\n", version()),
        b"conf" if serves => conf(core, server),
        b"srvr" if serves => srvr(core, server, ""),
        b"stat" if serves => srvr(core, server, &format!("Clients:\n{}\n", clients(core, server, false))),
        b"cons" if serves => clients(core, server, true) + "\n",
        b"mntr" if serves => mntr(core, server),
        b"dump" if serves => dump(&core.holdings(server)),
        b"wchp" if serves => watches_by_path(&core.holdings(server)),
        b"wchc" if serves => watches_by_session(&core.holdings(server)),
        b"wchs" if serves => count_of_watches(&core.holdings(server)),
        b"srst" if serves => {
            core.members[server].reset_counts();
            "Server stats reset.\n".to_owned()
        }
        b"crst" if serves => {
            core.members[server].lines.borrow().values().for_each(|line| line.reset_counts());
            "Connection stats reset.\n".to_owned()
        }
        b"wchc" | b"wchs" | b"srst" | b"crst" | b"dump" | b"wchp" | b"envi" | b"conf" | b"srvr" | b"stat" | b"cons"
        | b"mntr" => IDLE.to_owned(),
        _ => return None,
    };
    Some(text)
}

fn version() -> String {
    format!("{VERSION}-hustings, built on {}", env!("CARGO_PKG_VERSION"))
}

fn mode(state: ServerState) -> &'static str {
    match state {
        ServerState::Leading => "leader",
        ServerState::Following => "follower",
        ServerState::Standalone => "standalone",
        ServerState::Down | ServerState::NotServing | ServerState::Silent => "looking",
    }
}

fn srvr(core: &ServedEnsemble, server: Server, clients: &str) -> String {
    let (role, metrics) = (core.state(server), core.metrics(server));
    let count = |name: &str| metrics.get(name).copied().unwrap_or_default();
    let mut text = format!(
        "Zookeeper version: {}\n{clients}Latency min/avg/max: 0/0.0/0\nReceived: {}\nSent: {}\nConnections: {}\nOutstanding: {}\n\
         Zxid: 0x{:x}\nMode: {}\nNode count: {}\n",
        version(),
        count("packets_received"),
        count("packets_sent"),
        count("num_alive_connections"),
        count("outstanding_requests"),
        core.last_zxid(server),
        mode(role),
        count("znode_count"),
    );
    if role == ServerState::Leading {
        text.push_str("Proposal sizes last/min/max: -1/-1/-1\n");
    }
    text
}

fn clients(core: &ServedEnsemble, server: Server, in_full: bool) -> String {
    let mut text = String::new();
    for line in core.members[server].lines.borrow().values() {
        let _ = write!(
            text,
            " /{}[1](queued={},recved={},sent={}",
            line.peer,
            line.unanswered(),
            line.received.get(),
            line.sent.get()
        );
        if in_full && line.timeout_ms.get() > 0 {
            let _ = write!(text, ",sid=0x{:x},to={}", line.session.get(), line.timeout_ms.get());
        }
        text.push_str(")\n");
    }
    text
}

fn conf(core: &ServedEnsemble, server: Server) -> String {
    let options = &core.options;
    let alone = core.members.len() == 1;
    let mut text = format!(
        "clientPort={}\nsecureClientPort=-1\ntickTime={}\nmaxClientCnxns=0\nminSessionTimeout={}\nmaxSessionTimeout={}\n\
         clientPortListenBacklog=-1\nserverId={}\n",
        core.members[server].address.port(),
        options.tick_ms,
        options.timeout_min_ms,
        options.timeout_max_ms,
        if alone { 0 } else { server + 1 },
    );
    if !alone {
        let _ = write!(text, "syncLimit={}\nelectionAlg=3\npeerType=0\nmembership: \n", options.sync_limit);
        for (id, member) in (1..).zip(&core.members) {
            // Servers communicate within their process.
            let _ = writeln!(text, "server.{id}=127.0.0.1:0:0:participant;{}", member.address);
        }
        text.push_str("version=0\n");
    }
    text
}

fn dump(holdings: &Holdings) -> String {
    let mut text = format!("SessionTracker dump:\nGlobal Sessions({}):\n", holdings.sessions.len());
    for session in &holdings.sessions {
        let _ = writeln!(text, "0x{session:x}");
    }
    let mut owned: BTreeMap<i64, Vec<&str>> = BTreeMap::new();
    holdings.ephemerals.iter().for_each(|(path, session)| owned.entry(*session).or_default().push(path));
    let _ = writeln!(text, "ephemeral nodes dump:\nSessions with Ephemerals ({}):", owned.len());
    for (session, paths) in owned {
        let _ = writeln!(text, "0x{session:x}:");
        paths.iter().for_each(|path| text.extend(["\t", path, "\n"]));
    }
    text + "Connections dump:\n"
}

fn watches_by_session(holdings: &Holdings) -> String {
    let mut by_session: BTreeMap<i64, Vec<&str>> = BTreeMap::new();
    for (path, sessions) in &holdings.watches {
        sessions.iter().for_each(|session| by_session.entry(*session).or_default().push(path));
    }
    let mut text = String::new();
    for (session, paths) in by_session {
        let _ = writeln!(text, "0x{session:x}");
        paths.iter().for_each(|path| text.extend(["\t", path, "\n"]));
    }
    text + "\n"
}

fn count_of_watches(holdings: &Holdings) -> String {
    let watchers: BTreeSet<i64> = holdings.watches.values().flat_map(|sessions| sessions.iter().copied()).collect();
    let total: usize = holdings.watches.values().map(|sessions| sessions.len()).sum();
    format!("{} connections watching {} paths\nTotal watches:{total}\n", watchers.len(), holdings.watches.len())
}

fn watches_by_path(holdings: &Holdings) -> String {
    let mut text = String::new();
    for (path, sessions) in &holdings.watches {
        let _ = writeln!(text, "{path}");
        for session in sessions {
            let _ = writeln!(text, "\t0x{session:x}");
        }
    }
    text + "\n"
}

fn mntr(core: &ServedEnsemble, server: Server) -> String {
    let role = core.state(server);
    let mut text = format!("zk_version\t{}\nzk_server_state\t{}\n", version(), mode(role));
    if role == ServerState::Leading {
        let followers = (0..core.members.len()).filter(|other| core.state(*other) == ServerState::Following).count();
        let _ = writeln!(text, "zk_synced_followers\t{followers}");
    }
    for (name, value) in core.metrics(server) {
        let _ = writeln!(text, "zk_{name}\t{value}");
    }
    text
}
