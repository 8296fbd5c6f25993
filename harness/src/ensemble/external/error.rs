//! Why an external ensemble cannot be used, with a remedy for its operator.

use std::time::Duration;

use hustings_record::words::{first_few, plural};

use super::options::CONNECTIONS_BESIDE;

#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    #[error(
        "--connect {given} cannot be used: {why}; give all servers as HOST:PORT, like 127.0.0.1:2181,127.0.0.1:2182"
    )]
    Address { given: String, why: String },
    #[error(
        "{} cannot be reached: {}; {} running, and {}",
        first_few(.servers), first_few(.reasons), number(.servers, "is it", "are they"), are_client_ports(.servers.len(), *.tls)
    )]
    Unreachable { servers: Vec<String>, reasons: Vec<String>, tls: bool },
    #[error("{server} and this side came to no understanding by TLS: {why}; {remedy}")]
    NoTls { server: String, why: String, remedy: String },
    #[error("no port for the tunnel to servers that speak TLS can be opened: {0}; close some programs")]
    NoTunnel(std::io::Error),
    #[error(
        "{} {} no session: {why}; see that {} and this machine",
        first_few(.servers), number(.servers, "gives", "give"),
        number(.servers, "it serves, and that nothing is between it", "they serve, and that nothing is between them")
    )]
    NoSession { servers: Vec<String>, why: String },
    #[error(
        "{} {} not take this client for whom it says it is (authentication failed): {remedy}",
        first_few(.servers), number(.servers, "does", "do")
    )]
    NotTaken { servers: Vec<String>, remedy: String },
    #[error(
        "{path}, which --connect names after the last server, is not there on {}: create it (in zkCli.sh: create {path}), \
         or leave it out", first_few(.servers)
    )]
    NoRoot { path: String, servers: Vec<String> },
    #[error("{path} on {} may not be {doing}: {why}", first_few(.servers))]
    NotAllowed { path: String, servers: Vec<String>, doing: &'static str, why: String },
    #[error(
        "server {server} does not allow the four-letter word {word}; give it 4lw.commands.whitelist=* or one with srvr, \
         mntr and conf (the official image: ZOO_4LW_COMMANDS_WHITELIST), and start it again"
    )]
    NoWord { server: String, word: &'static str },
    #[error(
        "server {server} answers {word} with '{reply}', as no ZooKeeper server does; {}", are_client_ports(1, *.tls)
    )]
    Foreign { server: String, word: &'static str, reply: String, tls: bool },
    #[error(
        "server {server} cannot be used: its answer to conf {what}; correct its configuration, or name other servers"
    )]
    Conf { server: String, what: String },
    #[error(
        "{first} grants no session timeout below {least} ms (minSessionTimeout), and {second} none above {most} ms \
         (maxSessionTimeout): set the same bounds on all servers"
    )]
    NoCommonTimeout { first: String, least: u64, second: String, most: u64 },
    #[error("server {server} did not serve within {} s: {why}; see to it that a quorum of the ensemble runs", .within.as_secs())]
    NotServing { server: String, why: String, within: Duration },
    #[error(
        "the ensemble had no leader with all others following within {} s ({}); see to it that all of its servers run, \
         and that none is an observer", .within.as_secs(), first_few(.modes)
    )]
    NoQuorum { modes: Vec<String>, within: Duration },
    #[error("{first} and {second} are the same server (id {id}); name every server once in --connect")]
    Twice { first: String, second: String, id: u64 },
    #[error(
        "the ensemble has {} and --connect names {named}: {} {} missing (see the lines server.N= of its \
         configuration); name all of them, since the counters of a part cannot be reconciled with what clients see",
        counted(*.members), first_few(&ids(.missing)), number(.missing, "is", "are")
    )]
    Incomplete { members: usize, named: usize, missing: Vec<u64> },
    #[error(
        "{first} and {second} are not servers of one ensemble: their lists of servers (server.N=) differ; name the servers of \
         one ensemble in --connect"
    )]
    Apart { first: String, second: String },
    #[error(
        "server {server} takes {} from one address (maxClientCnxns={limit}), and this run may need {needed} \
         there ({} / {}, twice while a partition heals, + {CONNECTIONS_BESIDE}); set \
         maxClientCnxns=0 (the official image: ZOO_MAX_CLIENT_CNXNS), or {}",
        plural(*.limit, "connection", "connections"), plural(*.sessions, "session", "sessions"), counted(*.servers),
        fewer(*.groups)
    )]
    Connections { server: String, limit: u64, needed: u64, sessions: u64, servers: usize, groups: Option<u64> },
    #[error(
        "{} {} named in --connect and {upstreams} in --toxiproxy-upstreams; name each once, in the same order",
        counted(*.servers), if *.servers == 1 { "is" } else { "are" }
    )]
    Upstreams { servers: usize, upstreams: usize },
    #[error("the run's znodes {prefix}* could not be removed from {servers}: {why}; `hustings clean` removes them")]
    LeftBehind { prefix: String, servers: String, why: String },
}

impl ExternalError {
    /// Whether starting servers cause this error, so that a retry makes sense.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::NotServing { .. } | Self::NoQuorum { .. })
    }
}

/// The remedy by fewer candidates.
fn fewer(groups: Option<u64>) -> String {
    groups.map_or_else(
        || "run a smaller scenario".to_owned(),
        |groups| format!("run fewer candidates: --set election.groups={groups}"),
    )
}

/// The word that fits their number.
fn number<T>(of: &[T], one: &'static str, many: &'static str) -> &'static str {
    if of.len() == 1 { one } else { many }
}

fn counted(servers: usize) -> String {
    plural(servers as u64, "server", "servers")
}

/// Asks about the ports of this many servers. `tls`: they were asked by TLS.
fn are_client_ports(servers: usize, tls: bool) -> String {
    let kind = if tls { "for TLS (secureClientPort)" } else { "(one for TLS needs --tls-ca)" };
    if servers == 1 {
        format!("is that its client port {kind}?")
    } else {
        format!("are those their client ports {kind}?")
    }
}

fn ids(missing: &[u64]) -> Vec<String> {
    missing.iter().map(|id| format!("server.{id}")).collect()
}

#[cfg(test)]
mod tests {
    use super::ExternalError;

    fn named(count: usize) -> Vec<String> {
        (1..=count).map(|at| format!("zk{at}:2181")).collect()
    }

    fn unreachable(count: usize, tls: bool) -> String {
        let reasons = named(count).iter().map(|server| format!("srvr to {server}: refused")).collect();
        ExternalError::Unreachable { servers: named(count), reasons, tls }.to_string()
    }

    #[test]
    fn one_server_is_spoken_of_as_one_and_several_as_several() {
        let of = |count: usize| {
            let (servers, why) = (named(count), "x".to_owned());
            [
                ExternalError::NoSession { servers: servers.clone(), why: why.clone() }.to_string(),
                ExternalError::NotTaken { servers, remedy: why }.to_string(),
                unreachable(count, false),
                ExternalError::Upstreams { servers: count, upstreams: 3 }.to_string(),
                ExternalError::Incomplete { members: count, named: 5, missing: (0..count as u64).collect() }
                    .to_string(),
            ]
        };
        for (count, told) in [
            (
                1,
                [
                    "zk1:2181 gives no session: x; see that it serves, and that nothing is between it and this machine",
                    "zk1:2181 does not take this client",
                    "; is it running, and is that its client port (",
                    "1 server is named in --connect and 3 in",
                    "has 1 server and --connect names 5: server.0 is missing",
                ],
            ),
            (
                2,
                [
                    "zk1:2181, zk2:2181 give no session: x; see that they serve, and that nothing is between them and this",
                    "zk1:2181, zk2:2181 do not take this client",
                    "; are they running, and are those their client ports (",
                    "2 servers are named in --connect and 3 in",
                    "has 2 servers and --connect names 5: server.0, server.1 are missing",
                ],
            ),
        ] {
            for (text, told) in of(count).iter().zip(told) {
                assert!(text.contains(told), "{told:?} is not in: {text}");
            }
        }
    }

    #[test]
    fn of_hundreds_of_servers_the_first_few_are_named_and_the_others_counted() {
        let modes = named(400).iter().map(|server| format!("{server}: follower")).collect();
        let within = std::time::Duration::ZERO;
        for text in [
            unreachable(400, false),
            ExternalError::NoSession { servers: named(400), why: String::new() }.to_string(),
            ExternalError::NotTaken { servers: named(400), remedy: String::new() }.to_string(),
            ExternalError::NoRoot { path: "/x".to_owned(), servers: named(400) }.to_string(),
            ExternalError::NoQuorum { modes, within }.to_string(),
            ExternalError::Incomplete { members: 401, named: 1, missing: (1..=400).collect() }.to_string(),
        ] {
            assert!(text.contains(" and 392 more") && text.len() < 1_000, "{text}");
        }
    }

    #[test]
    fn where_tls_is_spoken_no_error_advises_to_speak_it() {
        let foreign = |tls| {
            let (server, reply) = ("zk1:2181".to_owned(), "x".to_owned());
            ExternalError::Foreign { server, word: "srvr", reply, tls }.to_string()
        };
        for text in [unreachable(1, true), unreachable(2, true), foreign(true)] {
            assert!(text.contains("for TLS (secureClientPort)") && !text.contains("--tls-ca"), "{text}");
        }
        for text in [unreachable(1, false), foreign(false)] {
            assert!(text.contains("one for TLS needs --tls-ca"), "{text}");
        }
    }
}
