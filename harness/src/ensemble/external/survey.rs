//! Surveys external servers: their identity, whether they serve, and whether they have capacity for a run.

use std::net::SocketAddr;
use std::time::Duration;

use futures::future::join_all;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, sleep, timeout};

use super::conf::{Conf, ConfFlaw};
use super::error::ExternalError;
use super::options::{CONNECTIONS_BESIDE, ExternalOptions};
use super::server_route;
use crate::access::{Tls, is_of_tls};
use crate::ensemble::four_letter::{self, FourLetterError};

const POLL: Duration = Duration::from_millis(250);
const ASK_WITHIN: Duration = Duration::from_secs(5);
/// Bound of a test connection, for choosing among the addresses of a name.
const CONNECT_WITHIN: Duration = Duration::from_secs(1);

/// One server: its given name, and its replies.
#[derive(Clone, Debug)]
pub(super) struct NamedServer {
    pub(super) name: String,
    pub(super) addr: SocketAddr,
    /// Its address for the links' proxies, if that differs from the clients'.
    pub(super) upstream: Option<String>,
    pub(super) mode: String,
    pub(super) version: String,
    pub(super) conf: Conf,
}

struct ServerPlace {
    name: String,
    addr: SocketAddr,
    upstream: Option<String>,
}

/// The servers in the order of their ids, once they serve. Waits for servers that are starting.
pub(super) async fn survey(options: &ExternalOptions) -> Result<Vec<NamedServer>, ExternalError> {
    let places = places(options).await?;
    let until = Instant::now() + options.within;
    let mut servers = loop {
        match look(&places, options.access.tls.as_ref(), options.within).await {
            Ok(servers) => break servers,
            Err(error) if error.may_pass() && Instant::now() < until => sleep(POLL).await,
            Err(error) => return Err(error),
        }
    };
    servers.sort_by_key(|server| server.conf.id);
    Ok(servers)
}

/// Checks that each of these servers takes as many connections as the run may need.
pub(super) fn check_connections(options: &ExternalOptions, servers: &[NamedServer]) -> Result<(), ExternalError> {
    let needed = connections_needed(options.sessions, servers.len());
    let least = servers.iter().filter_map(|server| Some((server.conf.connections_max?, server))).min_by_key(|of| of.0);
    match least {
        Some((limit, server)) if limit < needed => Err(ExternalError::Connections {
            server: server.name.clone(),
            limit,
            needed,
            sessions: options.sessions,
            servers: servers.len(),
            groups: groups_within(limit, servers.len(), options.group_size),
        }),
        Some(_) | None => Ok(()),
    }
}

/// The most groups of this size for which a limit of connections to each of these servers suffices. `None`: it suffices
/// for none.
fn groups_within(limit: u64, servers: usize, group_size: u64) -> Option<u64> {
    let sessions = limit.saturating_sub(CONNECTIONS_BESIDE) / 2 * servers as u64;
    sessions.checked_div(group_size).filter(|groups| *groups > 0)
}

/// Connections from this machine that a run may need at each of these servers. Clients choose their servers at random.
/// While a partition heals, old and new connections coexist.
#[must_use]
pub fn connections_needed(sessions: u64, servers: usize) -> u64 {
    2 * sessions.div_ceil(servers.max(1) as u64) + CONNECTIONS_BESIDE
}

async fn places(options: &ExternalOptions) -> Result<Vec<ServerPlace>, ExternalError> {
    let named = options.connect.len();
    if named == 0 {
        return Err(ExternalError::Address { given: "''".to_owned(), why: "no server is named".to_owned() });
    }
    if let Some(upstreams) = &options.upstreams
        && upstreams.len() != named
    {
        return Err(ExternalError::Upstreams { servers: named, upstreams: upstreams.len() });
    }
    let mut places = Vec::new();
    for (at, name) in options.connect.iter().enumerate() {
        let addr = resolve(name).await.map_err(|why| ExternalError::Address { given: name.clone(), why })?;
        let upstream = options.upstreams.as_ref().and_then(|all| all.get(at)).cloned();
        places.push(ServerPlace { name: name.clone(), addr, upstream });
    }
    Ok(places)
}

/// The first address of a name that accepts a connection, else its first one.
async fn resolve(name: &str) -> Result<SocketAddr, String> {
    let all: Vec<SocketAddr> = lookup_host(name).await.map_err(|e| e.to_string())?.collect();
    if all.len() > 1 {
        for addr in &all {
            if matches!(timeout(CONNECT_WITHIN, TcpStream::connect(addr)).await, Ok(Ok(_))) {
                return Ok(*addr);
            }
        }
    }
    all.first().copied().ok_or_else(|| "the name has no address".to_owned())
}

async fn look(places: &[ServerPlace], tls: Option<&Tls>, within: Duration) -> Result<Vec<NamedServer>, ExternalError> {
    let seen = join_all(places.iter().map(|place| async move { (place, answers(place, tls).await) })).await;
    let silent = seen.iter().filter_map(|(place, answers)| Some((place, answers.as_ref().err()?)));
    let (mut servers, mut reasons) = (Vec::new(), Vec::new());
    for (place, error) in silent {
        let server = place.name.clone();
        match (error, tls) {
            (FourLetterError::Refused { word, .. }, _) => return Err(ExternalError::NoWord { server, word }),
            (FourLetterError::Io { source, .. }, Some(tls)) if is_of_tls(source) => {
                return Err(ExternalError::NoTls { server, why: source.to_string(), remedy: tls.remedy(source) });
            }
            (error, _) => {
                servers.push(server);
                reasons.push(error.to_string());
            }
        }
    }
    if !servers.is_empty() {
        return Err(ExternalError::Unreachable { servers, reasons, tls: tls.is_some() });
    }
    let answered = seen.into_iter().filter_map(|(place, answers)| Some((place, answers.ok()?)));
    let servers: Result<Vec<NamedServer>, _> =
        answered.map(|(place, answers)| read(place, &answers, tls, within)).collect();
    let servers = servers?;
    one_ensemble(&servers)?;
    common_timeout(&servers)?;
    quorum(&servers, within)?;
    Ok(servers)
}

/// Replies of a server to `srvr`, `conf` and `mntr`.
async fn answers(place: &ServerPlace, tls: Option<&Tls>) -> Result<[String; 3], FourLetterError> {
    let ask = |word| server_route::ask(tls, (place.addr, &place.name), word, ASK_WITHIN);
    Ok([ask("srvr").await?, ask("conf").await?, ask("mntr").await?])
}

fn read(
    place: &ServerPlace,
    [srvr, conf, mntr]: &[String; 3],
    tls: Option<&Tls>,
    within: Duration,
) -> Result<NamedServer, ExternalError> {
    let server = || place.name.clone();
    for text in [srvr, conf, mntr] {
        let why = match text.trim() {
            "" => {
                let cause = tls.map_or("ports do that speak TLS (--tls-ca)", Tls::cause_of_silence);
                format!("it closes the connection without an answer, as {cause}")
            }
            idle if idle.contains("not currently serving requests") => four_letter::shown(idle),
            _ => continue,
        };
        return Err(ExternalError::NotServing { server: server(), why, within });
    }
    let foreign = |word, text: &str| {
        let reply = four_letter::shown(text.lines().next().unwrap_or_default());
        ExternalError::Foreign { server: server(), word, reply, tls: tls.is_some() }
    };
    let mode = four_letter::mode(srvr).map(four_letter::shown).ok_or_else(|| foreign("srvr", srvr))?;
    let version = four_letter::version(srvr).unwrap_or_else(|| "unknown".to_owned());
    if four_letter::parse_mntr(mntr).is_empty() {
        return Err(foreign("mntr", mntr));
    }
    let conf = Conf::parse(conf).map_err(|flaw| match flaw {
        ConfFlaw::Foreign => foreign("conf", conf),
        ConfFlaw::Unusable(what) => ExternalError::Conf { server: server(), what },
    })?;
    Ok(NamedServer { name: server(), addr: place.addr, upstream: place.upstream.clone(), mode, version, conf })
}

/// Checks that these are all servers of one ensemble, each once.
fn one_ensemble(servers: &[NamedServer]) -> Result<(), ExternalError> {
    let Some((first, others)) = servers.split_first() else { return Ok(()) };
    if let Some(other) = others.iter().find(|other| other.conf.members != first.conf.members) {
        return Err(ExternalError::Apart { first: first.name.clone(), second: other.name.clone() });
    }
    for (at, one) in servers.iter().enumerate() {
        if let Some(other) = servers[..at].iter().find(|other| other.conf.id == one.conf.id) {
            // Standalone servers have no distinct ids.
            return Err(if one.conf.members.is_empty() && one.addr != other.addr {
                ExternalError::Apart { first: other.name.clone(), second: one.name.clone() }
            } else {
                ExternalError::Twice { first: other.name.clone(), second: one.name.clone(), id: one.conf.id }
            });
        }
    }
    let named = |id: &u64| servers.iter().any(|server| server.conf.id == *id);
    let missing: Vec<u64> = first.conf.members.iter().filter(|id| !named(id)).copied().collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(ExternalError::Incomplete { members: first.conf.members.len(), named: servers.len(), missing })
}

/// Checks that some session timeout is granted by all of these servers.
fn common_timeout(servers: &[NamedServer]) -> Result<(), ExternalError> {
    let strictest = servers.iter().max_by_key(|server| server.conf.timeout_ms_min);
    let shortest = servers.iter().min_by_key(|server| server.conf.timeout_ms_max);
    let (Some(first), Some(second)) = (strictest, shortest) else { return Ok(()) };
    let (least, most) = (first.conf.timeout_ms_min, second.conf.timeout_ms_max);
    if least <= most {
        return Ok(());
    }
    Err(ExternalError::NoCommonTimeout { first: first.name.clone(), least, second: second.name.clone(), most })
}

/// Checks for one standalone server, or one leader with all others following.
fn quorum(servers: &[NamedServer], within: Duration) -> Result<(), ExternalError> {
    let count = |mode| servers.iter().filter(|server| server.mode == mode).count();
    let serves = match servers.len() {
        1 => count("standalone") + count("leader") == 1,
        n => count("leader") == 1 && count("follower") == n - 1,
    };
    if serves {
        return Ok(());
    }
    let modes: Vec<String> = servers.iter().map(|server| format!("{}: {}", server.name, server.mode)).collect();
    Err(ExternalError::NoQuorum { modes, within })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{
        Conf, ExternalError, NamedServer, ServerPlace, common_timeout, connections_needed, groups_within, one_ensemble,
        quorum, read,
    };

    fn server(name: &str, id: u64, members: &[u64], mode: &str) -> NamedServer {
        let conf = Conf {
            id,
            tick_ms: 500,
            connections_max: None,
            timeout_ms_min: 1_000,
            timeout_ms_max: 10_000,
            members: members.iter().copied().collect(),
        };
        let addr = format!("127.0.0.1:{}", 2_180 + name.len()).parse().expect("an address");
        let (mode, version) = (mode.to_owned(), "3.8.0".to_owned());
        NamedServer { name: name.to_owned(), addr, upstream: None, mode, version, conf }
    }

    #[test]
    fn a_part_of_an_ensemble_is_refused_with_what_is_missing() {
        let all = [1, 2, 3];
        let part = [server("a", 3, &all, "follower"), server("bb", 1, &all, "leader")];
        let told = one_ensemble(&part).expect_err("a part").to_string();
        assert!(
            told.contains("3 servers") && told.contains("names 2") && told.contains("server.2 is missing"),
            "{told}"
        );
        let whole = [part[0].clone(), part[1].clone(), server("ccc", 2, &all, "follower")];
        assert!(one_ensemble(&whole).is_ok());
        assert!(quorum(&whole, Duration::ZERO).is_ok());
    }

    #[test]
    fn a_server_named_twice_and_servers_of_two_ensembles_are_told_apart() {
        let twice = [server("a", 1, &[1, 2], "leader"), server("bb", 1, &[1, 2], "leader")];
        assert!(matches!(one_ensemble(&twice), Err(ExternalError::Twice { id: 1, .. })));
        let alone = [server("a", 0, &[], "standalone"), server("bb", 0, &[], "standalone")];
        assert!(matches!(one_ensemble(&alone), Err(ExternalError::Apart { .. })));
        let two = [server("a", 1, &[1], "leader"), server("bb", 2, &[2], "leader")];
        assert!(matches!(one_ensemble(&two), Err(ExternalError::Apart { .. })));
    }

    #[test]
    fn an_observer_or_a_second_leader_is_no_quorum() {
        let all = [1, 2];
        for modes in [["leader", "leader"], ["leader", "observer"], ["follower", "follower"]] {
            let servers = [server("a", 1, &all, modes[0]), server("bb", 2, &all, modes[1])];
            let told = quorum(&servers, Duration::ZERO).expect_err("no quorum").to_string();
            assert!(told.contains(&format!("bb: {}", modes[1])), "{told}");
        }
    }

    #[test]
    fn servers_that_share_no_session_timeout_are_refused_by_name() {
        let all = [1, 2];
        let mut servers = [server("a", 1, &all, "leader"), server("bb", 2, &all, "follower")];
        assert!(common_timeout(&servers).is_ok());
        servers[0].conf.timeout_ms_min = 2_000;
        servers[1].conf.timeout_ms_max = 1_500;
        let told = common_timeout(&servers).expect_err("none in common").to_string();
        assert!(
            told.starts_with("a grants no session timeout below 2000 ms") && told.contains("bb none above 1500 ms"),
            "{told}"
        );
    }

    #[test]
    fn what_a_server_says_of_itself_is_short_and_does_nothing_on_a_terminal() {
        let place = || ServerPlace { name: "a".to_owned(), addr: ([127, 0, 0, 1], 1).into(), upstream: None };
        let odd = format!("x\u{1b}[2J\u{7}\u{202e}{}", "y".repeat(100_000));
        let conf =
            "tickTime=500\nmaxClientCnxns=0\nminSessionTimeout=1000\nmaxSessionTimeout=10000\nserverId=0\n".to_owned();
        let answers = |srvr: String, mntr: String| read(&place(), &[srvr, conf.clone(), mntr], None, Duration::ZERO);
        let acts = |c: char| c.is_control() || c == '\u{202e}';
        let srvr = format!("Zookeeper version: 3.{odd}\nMode: {odd}\n");
        let found = answers(srvr.clone(), "zk_a\t1\n".to_owned()).expect("it answers");
        for shown in [&found.version, &found.mode] {
            assert!(!shown.contains(acts) && shown.chars().count() <= 80, "{shown:?}");
        }
        for (srvr, mntr) in [
            (odd.clone(), String::from("zk_a\t1\n")),
            (srvr, odd.clone()),
            (format!("not currently serving requests {odd}"), String::from("zk_a\t1\n")),
        ] {
            let told = answers(srvr, mntr).expect_err("refused").to_string();
            assert!(!told.contains(acts) && told.chars().count() < 400, "{told:?}");
        }
    }

    #[test]
    fn the_share_of_one_server_is_counted_twice_with_some_beside() {
        assert_eq!(connections_needed(100, 3) - connections_needed(0, 3), 68);
    }

    #[test]
    fn as_many_groups_as_are_advised_fit_and_one_more_does_not() {
        for (limit, servers, size) in [(60, 3, 5), (60, 1, 3), (71, 3, 3), (1_000, 5, 7)] {
            let groups = groups_within(limit, servers, size).expect("some");
            assert!(connections_needed(groups * size, servers) <= limit, "{limit} {servers} {size}");
            assert!(connections_needed((groups + 1) * size, servers) > limit, "{limit} {servers} {size}");
        }
        assert_eq!([groups_within(33, 3, 5), groups_within(20, 3, 5), groups_within(60, 3, 0)], [None; 3]);
    }
}
