//! Errors of links, and how the user can fix them.

use std::net::SocketAddr;
use std::time::Duration;

use thiserror::Error;

/// Errors of the link driver.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The address of a Toxiproxy is invalid.
    #[error("--toxiproxy '{url}': {why}; give it like http://127.0.0.1:8474")]
    Url { url: String, why: String },
    /// No server answers there.
    #[error("the link proxy at {api} cannot be reached: {why}; {remedy}")]
    Unreachable { api: SocketAddr, why: String, remedy: &'static str },
    /// Another program answers.
    #[error(
        "{api} is not the API of a Toxiproxy: asked for its version, it {answer}; name that of a Toxiproxy 2, like \
         http://127.0.0.1:8474"
    )]
    Stranger { api: SocketAddr, answer: String },
    /// A Toxiproxy answers, but not Toxiproxy 2.
    #[error("the link proxy at {api} says '{got}' when asked for its version; Toxiproxy 2 is needed")]
    Version { api: SocketAddr, got: String },
    /// The embedded proxy did not start.
    #[error("cannot start the link proxy '{exe}': {why}")]
    Start { exe: String, why: String },
    /// The embedded proxy has ended.
    #[error("{who} died ({status}); its standard error says why")]
    Died { who: String, status: String },
    /// The API refused a request.
    #[error("the link proxy at {api} refused {request}: {status} {answer}; {remedy}")]
    Refused { api: SocketAddr, request: String, status: u16, answer: String, remedy: &'static str },
    /// The API's answer is invalid.
    #[error("the link proxy at {api} gave no sensible answer to {request}: {why}; is it a Toxiproxy 2?")]
    Nonsense { api: SocketAddr, request: String, why: String },
    /// The state that was read back differs from the request.
    #[error("link {proxy} is not as asked: wanted {asked}, found {found}; is another program using this proxy?")]
    NotApplied { proxy: String, asked: String, found: String },
    /// A toxic of that name already exists.
    #[error("link {proxy} bears the toxic {toxic} already; heal the link before the next fault of this kind")]
    AlreadyThere { proxy: String, toxic: String },
    /// A toxic that should be removed does not exist.
    #[error("link {proxy} does not bear the toxic {toxic}; inject the fault before it is healed")]
    NotThere { proxy: String, toxic: String },
    /// A call panicked inside the client library.
    #[error("a call to the link proxy broke off ({what}): {why}; has the proxy been stopped?")]
    Broken { what: &'static str, why: String },
    /// No answer in time.
    #[error("no answer from the link proxy within {limit:?} ({what}); is it stopped or overloaded?")]
    TimedOut { what: &'static str, limit: Duration },
    /// The host has no links.
    #[error("host {host} has no links: populate made them for hosts 0 to {last}", last = hosts.saturating_sub(1))]
    NoSuchHost { host: u16, hosts: usize },
    /// There are fewer ports than links.
    #[error(
        "links need {hosts} hosts x {servers} servers = {needed} ports, and Toxiproxy's ports {first} to {last} are {have}; \
         give it more (--toxiproxy-ports, published if it is in a container), or use fewer hosts"
    )]
    Ports { first: u16, last: u16, have: usize, hosts: usize, servers: usize, needed: usize },
    /// Other users of the same Toxiproxy occupy the ports.
    #[error(
        "links need {needed} ports, and of Toxiproxy's ports {first} to {last} others at {url} leave {free}; wait for them, or \
         give this run ports of its own (--toxiproxy-ports)"
    )]
    PortsTaken { url: String, first: u16, last: u16, free: usize, needed: usize },
    /// A link does not lead to its server.
    #[error(
        "server {server} cannot be reached over the Toxiproxy at {url}: its link from {endpoint} to {upstream} gave no answer \
         of a server that serves ({why}); name the servers as Toxiproxy reaches them (--toxiproxy-upstreams), and its ports \
         as they can be reached from here (--toxiproxy-ports)"
    )]
    NoWay { server: usize, url: String, endpoint: SocketAddr, upstream: String, why: String },
    /// A fault on single messages, on links that cannot decode traffic.
    #[error(
        "the Toxiproxy at {url} cannot read what passes on its links, and so cannot lose the answer to a create; leave \
         --toxiproxy out: the embedded proxy can"
    )]
    CannotRead { url: String },
    /// One host's connections do not fit into one proxy process.
    #[error(
        "a host with {connections} connections needs {needed} descriptors in its link proxy, and the limit is {limit}; \
         raise it (ulimit -Hn), or spread the candidates over more hosts"
    )]
    Descriptors { connections: u64, needed: u64, limit: u64 },
    /// The operating system refused a thread.
    #[error("cannot start the thread that speaks to link proxies: {0}")]
    Thread(std::io::Error),
}

impl LinkError {
    /// Whether an action had nothing to do, and did nothing: the links were as wanted already.
    #[must_use]
    pub fn is_in_effect(&self) -> bool {
        matches!(self, Self::AlreadyThere { .. } | Self::NotThere { .. })
    }

    /// The name of the process that has ended according to this error.
    #[must_use]
    pub fn gone(&self) -> Option<String> {
        match self {
            Self::Died { who, .. } => Some(who.clone()),
            Self::Unreachable { .. } => Some("toxiproxy".to_owned()),
            _ => None,
        }
    }
}
