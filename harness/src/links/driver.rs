//! The links of a run: creation, queries, removal. Their faults are in separate files.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use hustings_record::numbers::{to_u16, to_u32};

use crate::process::clock;
use crate::process::lock::lock;
use crate::proxy::stats::ProxyStats;
use crate::recording::archive::AddSegment;
use crate::sidecar::LinkHosts;
use crate::witness::HostSlots;

use super::caller::Caller;
use super::control::Control;
use super::error::LinkError;
use super::fleet::Fleet;
use super::layout::{Layout, Link};
use super::touches::{self, Touches};
use super::{actions, layout};

/// Limit of every call to the proxies' APIs.
pub(super) const CALL_LIMIT: Duration = Duration::from_secs(10);
/// Limit for a link's answer before a fault. A working link answers at once.
pub(super) const BEFORE_LIMIT: Duration = Duration::from_millis(500);
/// A Toxiproxy that takes this long for the simplest answer is treated as stopped.
const SLUGGISH: Duration = Duration::from_millis(500);
/// Name of the embedded proxies' segments.
const WRITER: &str = "proxy";
/// Limit for the answer of a healed link.
pub(super) const HEALED_LIMIT: Duration = Duration::from_secs(2);
/// A session whose connection was closed this long ago is over: ten minutes, in nanoseconds.
const SESSION_MAX_NS: u64 = 600 * 1_000_000_000;
/// ZooKeeper's four-letter word. A server that does not allow it says so, which is also an answer.
const QUESTION: &[u8] = b"ruok";

/// A Toxiproxy that this run did not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalToxiproxy {
    /// URL of its API, like http://127.0.0.1:8474.
    pub url: String,
    /// Address on which its proxies listen, as seen from Toxiproxy.
    pub bind: IpAddr,
    /// Address at which hosts reach its proxies. None: `bind`.
    pub reach: Option<IpAddr>,
    /// First port of its proxies, which use consecutive ports. None: any free ports.
    pub first_port: Option<u16>,
    /// Last port of its proxies. None: the last port that exists.
    pub last_port: Option<u16>,
    /// Name prefix of its proxies, because other users may share it.
    pub names: String,
}

impl ExternalToxiproxy {
    /// A Toxiproxy on this machine, on any free ports.
    #[must_use]
    pub fn local(url: &str) -> Self {
        let bind = Ipv4Addr::LOCALHOST.into();
        Self { url: url.to_owned(), bind, reach: None, first_port: None, last_port: None, names: String::new() }
    }

    /// The Toxiproxy whose API is at `url`. If `ports` is given, it may run in a container that publishes them. In that
    /// case, or on another machine, its proxies listen on all addresses, and hosts reach them at the API's address.
    ///
    /// # Errors
    /// The address is invalid.
    pub fn at(url: &str, ports: Option<(u16, u16)>) -> Result<Self, LinkError> {
        let reach = resolve(url)?.ip();
        let (first_port, last_port) = ports.unzip();
        if ports.is_none() && reach.is_loopback() {
            return Ok(Self { bind: reach, ..Self::local(url) });
        }
        let bind = Ipv4Addr::UNSPECIFIED.into();
        Ok(Self { bind, reach: Some(reach), first_port, last_port, ..Self::local(url) })
    }

    /// Checks that it has enough ports for the links of this many hosts and servers.
    ///
    /// # Errors
    /// [`LinkError::Ports`], with the arithmetic.
    pub fn check_room(&self, hosts: usize, servers: usize) -> Result<(), LinkError> {
        let Some(first) = self.first_port else { return Ok(()) };
        let last = self.last_port.unwrap_or(u16::MAX);
        let (needed, have) = (hosts.saturating_mul(servers), usize::from(last.saturating_sub(first)) + 1);
        if needed <= have { Ok(()) } else { Err(LinkError::Ports { first, last, have, hosts, servers, needed }) }
    }
}

/// All links of a run.
#[derive(Debug)]
pub struct RunLinks {
    // Dropped first: the processes must be killed before the thread that started them ends.
    pub(super) fleet: Mutex<Fleet>,
    pub(super) caller: Caller,
    pub(super) place: ExternalToxiproxy,
    pub(super) processes: usize,
    pub(super) embedded: bool,
    pub(super) layout: Mutex<Layout>,
    pub(super) question: Vec<u8>,
    /// Whether each link answered before its last fault.
    pub(super) answered: Mutex<BTreeMap<String, bool>>,
}

impl RunLinks {
    /// Starts this many embedded proxies. With `lie` they accept toxics and ignore them, to test that this is detected.
    ///
    /// # Errors
    /// They cannot be started, or do not answer.
    pub async fn start_embedded(exe: &Path, processes: usize, lie: bool) -> Result<Self, LinkError> {
        let caller = Caller::start()?;
        let exe = exe.to_owned();
        let start = move |controls: &mut Vec<Control>| {
            let (fleet, apis) = Fleet::start(&exe, processes, lie)?;
            for api in apis {
                controls.push(Control::connect(api)?);
            }
            Ok(fleet)
        };
        let fleet = caller.call("start the link proxies", CALL_LIMIT * 2, start).await?;
        Ok(Self::new(caller, fleet, ExternalToxiproxy::local("embedded"), processes.max(1), true))
    }

    /// Uses a running Toxiproxy.
    ///
    /// # Errors
    /// The address is invalid, no server answers there, or the server is not Toxiproxy 2.
    pub async fn external(place: ExternalToxiproxy) -> Result<Self, LinkError> {
        let caller = Caller::start()?;
        let url = place.url.clone();
        let connect = move |controls: &mut Vec<Control>| {
            let control = Control::connect(resolve(&url)?)?;
            let embedded = control.embedded;
            controls.push(control);
            Ok(embedded)
        };
        let embedded = caller.call("ask for its version", CALL_LIMIT, connect).await?;
        Ok(Self::new(caller, Fleet::default(), place, 1, embedded))
    }

    fn new(caller: Caller, fleet: Fleet, place: ExternalToxiproxy, processes: usize, embedded: bool) -> Self {
        let (layout, answered) = (Mutex::default(), Mutex::default());
        let fleet = Mutex::new(fleet);
        Self { fleet, caller, place, processes, embedded, layout, question: QUESTION.to_vec(), answered }
    }

    /// Probes send this instead of ZooKeeper's `ruok`. Any answer counts.
    pub fn ask(&mut self, question: &[u8]) {
        self.question = question.to_vec();
    }

    /// Process ids of the embedded proxies.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.fleet().pids()
    }

    /// The names of proxies that are stopped.
    ///
    /// # Errors
    /// A proxy has ended, or the external Toxiproxy cannot be reached.
    pub(crate) async fn check_alive(&self) -> Result<Vec<String>, LinkError> {
        let mut idle = self.fleet().check_alive(WRITER)?;
        // A proxy that is not in the fleet can only be queried, even if it runs on this machine.
        if self.fleet().pids().is_empty() {
            let ask = |controls: &mut Vec<Control>| {
                let asked = Instant::now();
                controls.iter().try_for_each(Control::answers)?;
                Ok(asked.elapsed())
            };
            match self.caller.call("ask whether it is there", CALL_LIMIT, ask).await {
                Ok(took) if took > SLUGGISH => idle.push("toxiproxy".to_owned()),
                // The thread is busy with many links, one after the other.
                Ok(_) | Err(LinkError::TimedOut { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(idle)
    }

    /// Kills the embedded proxy of this name. It is given up, and no caller must wait for its answers.
    pub(crate) fn give_up(&self, who: &str) {
        self.fleet().kill(WRITER, who);
    }

    /// Every embedded proxy records its own stalls in its own segment. `segment` returns the segment of a writer.
    ///
    /// # Errors
    /// A segment cannot be created.
    pub(crate) fn begin_cell(
        &self,
        cell: u32,
        segment: AddSegment<'_>,
        slots_of_hosts: Option<BTreeMap<u16, HostSlots>>,
    ) -> anyhow::Result<()> {
        let proxies = || {
            let layout = self.layout();
            layout.hosts.iter().flatten().map(|link| (link.name.clone(), link.ends.0)).collect()
        };
        let witnessed = slots_of_hosts.map(|hosts| LinkHosts { proxies: proxies(), hosts });
        self.fleet().begin_cell(WRITER, cell, segment, witnessed.as_ref())
    }

    /// Ends these segments.
    ///
    /// # Errors
    /// A segment could not be written to its end.
    pub(crate) fn end_cell(&self) -> anyhow::Result<()> {
        self.fleet().end_cell()
    }

    fn fleet(&self) -> MutexGuard<'_, Fleet> {
        lock(&self.fleet)
    }

    /// The API's address, as it was given.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.place.url
    }

    /// Whether partitions heal transparently, bytes are counted, and touches are known.
    #[must_use]
    pub fn is_embedded(&self) -> bool {
        self.embedded
    }

    /// Creates one link per host and server, named by number: the hosts' names are unused. Servers are given as the
    /// proxies reach them, `host:port`. The proxies resolve names at every client connection. `direct`: addresses at
    /// which this process reaches the same servers past all links. A server behind a cut link must answer there.
    ///
    /// # Errors
    /// There are too few ports, the API refuses them (a port is taken), or the read-back differs.
    pub async fn populate(
        &self,
        hosts: &[String],
        servers: &[impl ToString],
        direct: &[SocketAddr],
    ) -> Result<(), LinkError> {
        self.place.check_room(hosts.len(), servers.len())?;
        let mut wanted = vec![Vec::new(); self.processes];
        let mut ports = self.free_ports(hosts.len() * servers.len()).await?.map(Vec::into_iter);
        for host in 0..hosts.len() {
            for (server, upstream) in servers.iter().enumerate() {
                let port = ports.as_mut().and_then(Iterator::next).unwrap_or(0);
                let listen = SocketAddr::new(self.place.bind, port).to_string();
                let proxy = (layout::name(&self.place.names, host, server), listen, upstream.to_string());
                if let Some(here) = wanted.get_mut(layout::process_of(host, self.processes)) {
                    here.push(proxy);
                }
            }
        }
        let names = wanted.iter().map(|here| here.iter().map(|(name, ..)| name.clone()).collect()).collect();
        let populate = move |controls: &mut Vec<Control>| {
            controls.iter().zip(&wanted).map(|(control, here)| control.populate(here)).collect::<Result<Vec<_>, _>>()
        };
        let listening = match self.caller.call("make the links", CALL_LIMIT, populate).await {
            Ok(listening) => listening,
            Err(error) => {
                // Some links may exist. Report only the first error.
                let _ = self.caller.call("take the links away", CALL_LIMIT, take_away(names)).await;
                return Err(error);
            }
        };
        let link = |host: usize, server: usize| {
            let (api, name) = (layout::process_of(host, self.processes), layout::name(&self.place.names, host, server));
            let mut endpoint = *listening.get(api)?.get(&name)?;
            endpoint.set_ip(self.place.reach.unwrap_or(self.place.bind));
            Some(Link { api, name, endpoint, ends: (to_u16(host), to_u32(server + 1)) })
        };
        let of = |host| (0..servers.len()).filter_map(|server| link(host, server)).collect();
        let hosts = (0..hosts.len()).map(of).collect();
        *self.layout() = Layout { hosts, direct: direct.to_vec() };
        Ok(())
    }

    /// This many of the ports that its proxies may use, excluding ports of its other proxies. None: any port.
    async fn free_ports(&self, needed: usize) -> Result<Option<Vec<u16>>, LinkError> {
        let Some(first) = self.place.first_port else { return Ok(None) };
        let look = |controls: &mut Vec<Control>| {
            let all = controls.iter().map(Control::all).collect::<Result<Vec<_>, _>>()?;
            let listens = all.iter().flatten().map(|(_, proxy)| &proxy.pack().listen);
            Ok(listens.filter_map(|listen| Some(listen.parse::<SocketAddr>().ok()?.port())).collect::<BTreeSet<_>>())
        };
        let taken = self.caller.call("ask which ports are taken", CALL_LIMIT, look).await?;
        let last = self.place.last_port.unwrap_or(u16::MAX);
        let free: Vec<u16> = (first..=last).filter(|port| !taken.contains(port)).take(needed).collect();
        if free.len() < needed {
            return Err(LinkError::PortsTaken { url: self.place.url.clone(), first, last, free: free.len(), needed });
        }
        Ok(Some(free))
    }

    /// Addresses that the host connects to, in the order of the servers. Empty for a host without links.
    #[must_use]
    pub fn endpoints(&self, host: u16) -> Vec<SocketAddr> {
        self.layout().of(host).map(endpoints).unwrap_or_default()
    }

    /// The counters of all links with their connections, by link name. Empty for a real Toxiproxy.
    ///
    /// # Errors
    /// The API cannot be reached.
    pub async fn stats(&self) -> Result<BTreeMap<String, ProxyStats>, LinkError> {
        let links = self.layout().hosts.concat();
        let names: Vec<_> = links.iter().map(|link| link.name.clone()).collect();
        Ok(names.into_iter().zip(self.connections(links, 0).await?).collect())
    }

    /// When each session of these hosts last sent bytes to a server.
    ///
    /// # Errors
    /// The API cannot be reached.
    pub async fn touches(&self, hosts: &[u16]) -> Result<Touches, LinkError> {
        if !self.embedded {
            let explanation = "a real Toxiproxy does not tell when bytes passed".to_owned();
            return Ok(Touches { list: Vec::new(), explanation });
        }
        let since = clock::now().saturating_sub(SESSION_MAX_NS);
        let links = self.layout().links(hosts)?;
        Ok(touches::touches(&self.connections(links, since).await?))
    }

    /// Removes all links.
    ///
    /// # Errors
    /// Some links remain, or the API cannot be reached.
    pub async fn depopulate(&self) -> Result<(), LinkError> {
        let links = std::mem::take(&mut *self.layout()).hosts.concat();
        let mut names = vec![Vec::new(); self.processes];
        for link in links {
            names[link.api].push(link.name);
        }
        self.caller.call("take the links away", CALL_LIMIT, take_away(names)).await
    }

    /// Removes all links and ends the embedded proxies. The proxies end even if the removal fails.
    ///
    /// # Errors
    /// As for [`Self::depopulate`].
    pub async fn close(self) -> Result<(), LinkError> {
        self.depopulate().await
    }

    pub(super) fn layout(&self) -> MutexGuard<'_, Layout> {
        lock(&self.layout)
    }

    pub(super) async fn connections(&self, links: Vec<Link>, closed_after: u64) -> Result<Vec<ProxyStats>, LinkError> {
        if !self.embedded {
            return Ok(Vec::new());
        }
        let count = move |controls: &mut Vec<Control>| actions::connections(controls, &links, closed_after);
        self.caller.call("read the counters", CALL_LIMIT, count).await
    }
}

/// Deletes the links of each process.
fn take_away(names: Vec<Vec<String>>) -> impl FnOnce(&mut Vec<Control>) -> Result<(), LinkError> + Send {
    move |controls| controls.iter().zip(&names).try_for_each(|(control, here)| control.depopulate(here))
}

pub(super) fn endpoints(links: &[Link]) -> Vec<SocketAddr> {
    links.iter().map(|link| link.endpoint).collect()
}

pub(super) fn resolve(url: &str) -> Result<SocketAddr, LinkError> {
    let wrong = |why: String| LinkError::Url { url: url.to_owned(), why };
    let full = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let parsed = reqwest::Url::parse(&full).map_err(|e| wrong(e.to_string()))?;
    // The parser drops white space and reads numbers as addresses.
    let host = parsed.host_str().unwrap_or_default();
    if !full.to_lowercase().contains(host) || full.contains(|sign: char| sign.is_whitespace() || sign.is_control()) {
        return Err(wrong(format!("it would be read as {host}; write it as http://HOST:PORT")));
    }
    if parsed.scheme() != "http" || parsed.path() != "/" {
        return Err(wrong("only http://HOST:PORT will do".to_owned()));
    }
    let addresses = parsed.socket_addrs(|| Some(8474)).map_err(|e| wrong(e.to_string()))?;
    addresses.first().copied().ok_or_else(|| wrong("the host has no address".to_owned()))
}
