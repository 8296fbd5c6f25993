//! Why an external ensemble cannot be used, with a remedy for its operator.

use std::time::Duration;

use super::options::CONNECTIONS_BESIDE;

#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    #[error(
        "--connect {given} cannot be used: {why}; give all servers as HOST:PORT, like 127.0.0.1:2181,127.0.0.1:2182"
    )]
    Address { given: String, why: String },
    #[error("{} cannot be reached: {}; is it running, and is that its client port (one for TLS needs --tls-ca)?", list(.0.iter().map(|(s, _)| s)), list(.0.iter().map(|(_, w)| w)))]
    Unreachable(Vec<(String, String)>),
    #[error(
        "{server} and this side came to no understanding by TLS: {why}; see that its port is the one for TLS (secureClientPort), \
         that --tls-ca vouches for it and is not out of date, that --connect calls it by the name in its certificate \
         (--tls-no-hostname-check takes any), that its certificate is not that of the authority itself (CaUsedAsEndEntity: make one \
         with basicConstraints=CA:FALSE), and that --tls-cert and --tls-key are given where it wants to know its clients"
    )]
    NoTls { server: String, why: String },
    #[error("no port for the tunnel to servers that speak TLS can be opened: {0}; close some programs")]
    NoTunnel(std::io::Error),
    #[error("{servers} give no session: {why}; see that they serve, and that nothing is between them and this machine")]
    NoSession { servers: String, why: String },
    #[error("{servers} do not take this client for whom it says it is (authentication failed): {remedy}")]
    NotTaken { servers: String, remedy: String },
    #[error(
        "{path}, which --connect names after the last server, is not there on {servers}: create it (in zkCli.sh: create {path}), \
         or leave it out"
    )]
    NoRoot { path: String, servers: String },
    #[error("{path} on {servers} may not be {doing}: {why}")]
    NotAllowed { path: String, servers: String, doing: &'static str, why: String },
    #[error(
        "server {server} does not allow the four-letter word {word}; give it 4lw.commands.whitelist=* or one with srvr, \
         mntr and conf (the official image: ZOO_4LW_COMMANDS_WHITELIST), and start it again"
    )]
    NoWord { server: String, word: &'static str },
    #[error(
        "server {server} answers {word} with '{reply}', as no ZooKeeper server does; is that a client port, and one without TLS (with TLS: --tls-ca)?"
    )]
    Foreign { server: String, word: &'static str, reply: String },
    #[error("server {server} did not serve within {} s: {why}; see to it that a quorum of the ensemble runs", .within.as_secs())]
    NotServing { server: String, why: String, within: Duration },
    #[error(
        "the ensemble had no leader with all others following within {} s ({modes}); see to it that all of its servers run, \
         and that none is an observer", .within.as_secs()
    )]
    NoQuorum { modes: String, within: Duration },
    #[error("{first} and {second} are the same server (id {id}); name every server once in --connect")]
    Twice { first: String, second: String, id: u64 },
    #[error(
        "the ensemble has {members} servers and --connect names {named}: {} missing (see the lines server.N= of its \
         configuration); name all of them, since the counters of a part cannot be reconciled with what clients see",
        ids(.missing)
    )]
    Incomplete { members: usize, named: usize, missing: Vec<u64> },
    #[error(
        "{first} and {second} are not servers of one ensemble: their lists of servers (server.N=) differ; name the servers of \
         one ensemble in --connect"
    )]
    Apart { first: String, second: String },
    #[error(
        "server {server} takes {limit} connections from one address (maxClientCnxns={limit}), and this run may need {needed} \
         there ({sessions} sessions / {servers} servers, twice while a partition heals, + {CONNECTIONS_BESIDE}); set \
         maxClientCnxns=0 (the official image: ZOO_MAX_CLIENT_CNXNS), or {}", fewer(*.groups)
    )]
    Connections { server: String, limit: u64, needed: u64, sessions: u64, servers: usize, groups: Option<u64> },
    #[error(
        "{servers} servers are named in --connect and {upstreams} in --toxiproxy-upstreams; name each once, in the same order"
    )]
    Upstreams { servers: usize, upstreams: usize },
    #[error("the run's znodes {prefix}* could not be removed from {servers}: {why}; `hustings clean` removes them")]
    LeftBehind { prefix: String, servers: String, why: String },
}

impl ExternalError {
    /// Whether starting servers cause this error, so that a retry makes sense.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::NotServing { .. } | Self::NoQuorum { .. })
    }
}

/// The remedy by fewer candidates.
fn fewer(groups: Option<u64>) -> String {
    groups.map_or_else(
        || "run a smaller scenario".to_owned(),
        |groups| format!("run fewer candidates: --set election.groups={groups}"),
    )
}

fn list<'a>(words: impl Iterator<Item = &'a String>) -> String {
    words.map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn ids(missing: &[u64]) -> String {
    let ids: Vec<String> = missing.iter().map(|id| format!("server.{id}")).collect();
    format!("{} {}", ids.join(", "), if ids.len() == 1 { "is" } else { "are" })
}
