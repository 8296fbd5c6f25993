//! Blocking access to one proxy process through its API. It uses toxiproxy_rust where possible, and reads results back,
//! because that library hides the API's answers. Other requests use plain HTTP, and so do all where that library would
//! send what is for this machine to a proxy of the environment.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;
use std::{fmt, iter};

use hustings_record::Direction;
use hustings_record::words::quoted;
use hustings_reports::render::clean_short;
use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toxiproxy_rust::client::Client;
use toxiproxy_rust::proxy::{Proxy, ProxyPack};

use super::error::LinkError;
use super::stranger::{self, VersionAnswer, version_at};
use super::toxics::{self, Toxic, Toxics};
use crate::process::http_proxy;

const HTTP_LIMIT: Duration = Duration::from_secs(5);
const SHOWN_CHARS_MAX: usize = 80;
/// The longest part of a refusal that is shown.
const ANSWER_CHARS_MAX: usize = 300;
/// On other hosts, the client library obeys `http_proxy`. All other requests ignore it.
const NO_PROXY: &str = "is it running? If http_proxy is set, NO_PROXY must name that host";
const SILENT: &str = "it does not answer in time: is it stopped, or does a firewall drop what is sent there?";

pub(super) struct Control {
    pub(super) api: SocketAddr,
    /// It supports the embedded proxy's extensions.
    pub(super) embedded: bool,
    /// None: its requests would not get to the API.
    client: Option<Client>,
    http: reqwest::blocking::Client,
}

/// A proxy in the API's list.
pub(super) enum ListedProxy {
    /// The client library acts on it.
    Library(Proxy),
    Plain(ProxyPack),
}

impl ListedProxy {
    pub(super) fn pack(&self) -> &ProxyPack {
        match self {
            Self::Library(proxy) => &proxy.proxy_pack,
            Self::Plain(pack) => pack,
        }
    }

    /// Path of its resource in the API.
    fn path(&self) -> String {
        format!("proxies/{}", self.pack().name)
    }
}

/// The client library always uses the environment's proxies, which cannot reach this machine's API.
fn library_client(api: SocketAddr) -> Option<Client> {
    let is_misled = api.ip().to_canonical().is_loopback() && http_proxy::is_named();
    (!is_misled).then(|| Client::new(api))
}

impl Control {
    /// Requests the version, which also shows whether a proxy answers.
    pub(super) fn connect(api: SocketAddr) -> Result<Self, LinkError> {
        let unreachable = |why: String| LinkError::Unreachable { api, why, remedy: NO_PROXY };
        let http = reqwest::blocking::Client::builder().no_proxy().timeout(HTTP_LIMIT).tcp_nodelay(true);
        let http = http.build().map_err(|e| unreachable(e.to_string()))?;
        let mut control = Self { api, embedded: false, client: library_client(api), http };
        // toxiproxy_rust panics when a connection breaks. This request reports the usual causes first.
        let answer = control.version().map_err(|error| or_stranger(api, error))?;
        let text = control.client.as_ref().map_or(Ok(answer), Client::version).map_err(unreachable)?;
        match stranger::version(&text) {
            None => return Err(LinkError::Stranger { api, answer: stranger::answers(&text) }),
            Some(version) if !version.starts_with("2.") && !version.starts_with("git") => {
                let got = clean_short(&text, SHOWN_CHARS_MAX);
                return Err(LinkError::Version { api, got });
            }
            Some(_) => {}
        }
        let value: Option<Value> = serde_json::from_str(&text).ok();
        control.embedded = value.as_ref().is_some_and(|v| v["hustings"].is_string());
        Ok(control)
    }

    /// Checks whether the proxy answers.
    pub(super) fn answers(&self) -> Result<(), LinkError> {
        self.version().map(drop)
    }

    fn version(&self) -> Result<String, LinkError> {
        self.send(&Method::GET, "version", None)
    }

    /// Replaces the client after a panic.
    pub(super) fn renew(&mut self) {
        self.client = library_client(self.api);
    }

    /// Creates the proxies (name, listen, upstream) without toxics. Returns their listen addresses.
    pub(super) fn populate(
        &self,
        wanted: &[(String, String, String)],
    ) -> Result<BTreeMap<String, SocketAddr>, LinkError> {
        let packs =
            || wanted.iter().map(|(n, l, u)| ProxyPack::new(n.clone(), l.clone(), u.clone())).collect::<Vec<_>>();
        if self.client.as_ref().is_none_or(|client| client.populate(packs()).is_err()) {
            // The library hides the reason. The same request over HTTP returns it.
            let body = serde_json::to_value(packs()).map_err(|e| self.nonsense("populate", e))?;
            self.send(&Method::POST, "populate", Some(&body))?;
        }
        let mut found = self.all()?;
        let mut listening = BTreeMap::new();
        for (name, _, upstream) in wanted {
            let proxy = found.remove(name).ok_or_else(|| missing(name))?;
            self.remove_all_toxics(&proxy)?;
            let pack = proxy.pack();
            if pack.upstream != *upstream || !pack.enabled {
                let found = format!("a proxy to {}, enabled: {}", pack.upstream, pack.enabled);
                let asked = format!("a proxy to {upstream}, enabled: true");
                return Err(LinkError::NotApplied { proxy: name.clone(), asked, found });
            }
            let address = pack.listen.parse().map_err(|e| self.nonsense("populate", e))?;
            listening.insert(name.clone(), address);
        }
        self.expect_toxics(wanted.iter().map(|(name, ..)| (name.as_str(), Toxics::new())))?;
        Ok(listening)
    }

    /// Deletes the proxies and checks that they are gone. A proxy that is already gone is no error.
    pub(super) fn depopulate(&self, names: &[String]) -> Result<(), LinkError> {
        let found = self.all()?;
        for proxy in names.iter().filter_map(|name| found.get(name)) {
            match proxy {
                ListedProxy::Library(proxy) => proxy.delete().map_err(|why| self.unreachable(why))?,
                ListedProxy::Plain(_) => self.delete(&proxy.path())?,
            }
        }
        let left = self.all()?;
        match names.iter().find(|name| left.contains_key(*name)) {
            None => Ok(()),
            Some(name) => {
                let (asked, found) = ("no such proxy".to_owned(), "a proxy".to_owned());
                Err(LinkError::NotApplied { proxy: name.clone(), asked, found })
            }
        }
    }

    /// All proxies.
    pub(super) fn all(&self) -> Result<HashMap<String, ListedProxy>, LinkError> {
        let Some(client) = &self.client else {
            let found: HashMap<String, ProxyPack> = self.get("proxies")?;
            return Ok(found.into_iter().map(|(name, pack)| (name, ListedProxy::Plain(pack))).collect());
        };
        let found = client.all().map_err(|why| self.unreachable(why))?;
        Ok(found.into_iter().map(|(name, proxy)| (name, ListedProxy::Library(proxy))).collect())
    }

    /// Creates a toxic. Read it back to know whether the API accepted it.
    pub(super) fn create(&self, proxy: &ListedProxy, toxic: &Toxic) -> Result<(), LinkError> {
        let stream = toxic.stream.to_owned();
        match (proxy, toxic.kind.as_str()) {
            (ListedProxy::Library(proxy), "timeout") => {
                proxy.with_timeout(stream, toxic.attribute("timeout"), 1.0);
            }
            (ListedProxy::Library(proxy), "latency") => {
                proxy.with_latency(stream, toxic.attribute("latency"), toxic.attribute("jitter"), 1.0);
            }
            (ListedProxy::Library(proxy), "bandwidth") => {
                proxy.with_bandwidth(stream, toxic.attribute("rate"), 1.0);
            }
            (ListedProxy::Library(_) | ListedProxy::Plain(_), _) => {
                let body = json!({ "type": toxic.kind, "stream": stream, "name": toxic.name(), "attributes": toxic.attributes });
                self.send(&Method::POST, &format!("{}/toxics", proxy.path()), Some(&body))?;
            }
        }
        Ok(())
    }

    /// Removes all toxics of a proxy.
    pub(super) fn remove_all_toxics(&self, proxy: &ListedProxy) -> Result<(), LinkError> {
        match proxy {
            ListedProxy::Library(proxy) => proxy.delete_all_toxics().map_err(|why| self.unreachable(why)),
            ListedProxy::Plain(pack) => {
                let path = proxy.path();
                pack.toxics.iter().try_for_each(|toxic| self.delete(&format!("{path}/toxics/{}", toxic.name)))
            }
        }
    }

    /// Opens or closes a proxy's port.
    pub(super) fn enable(&self, proxy: &ListedProxy, enabled: bool) -> Result<(), LinkError> {
        match proxy {
            ListedProxy::Library(proxy) => {
                let changed = if enabled { proxy.enable() } else { proxy.disable() };
                changed.map_err(|why| self.unreachable(why))
            }
            ListedProxy::Plain(_) => {
                self.send(&Method::POST, &proxy.path(), Some(&json!({ "enabled": enabled }))).map(drop)
            }
        }
    }

    /// Removes one toxic. A missing toxic is no error.
    pub(super) fn remove(&self, proxy: &str, toxic: &Toxic) -> Result<(), LinkError> {
        self.delete(&format!("proxies/{proxy}/toxics/{}", toxic.name()))
    }

    /// Deletes a resource of the API. A missing one is no error.
    fn delete(&self, path: &str) -> Result<(), LinkError> {
        match self.send(&Method::DELETE, path, None) {
            Err(LinkError::Refused { status: 404, .. }) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Checks by reading back that each of these proxies has exactly these toxics.
    pub(super) fn expect_toxics<'a>(
        &self,
        expected: impl IntoIterator<Item = (&'a str, Toxics)>,
    ) -> Result<(), LinkError> {
        let found = self.all()?;
        for (name, asked) in expected {
            let there = toxics(found.get(name).ok_or_else(|| missing(name))?);
            if there.as_ref() != Some(&asked) {
                let found = there.map_or_else(|| "toxics of another kind".to_owned(), |there| list(&there));
                return Err(LinkError::NotApplied { proxy: name.to_owned(), asked: list(&asked), found });
            }
        }
        Ok(())
    }

    /// Reads a JSON document.
    pub(super) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, LinkError> {
        let text = self.send(&Method::GET, path, None)?;
        serde_json::from_str(&text).map_err(|why| self.nonsense(path, why))
    }

    /// Posts without a body and reads the answer.
    pub(super) fn post<T: DeserializeOwned>(&self, path: &str) -> Result<T, LinkError> {
        let text = self.send(&Method::POST, path, None)?;
        serde_json::from_str(&text).map_err(|why| self.nonsense(path, why))
    }

    fn send(&self, method: &Method, path: &str, body: Option<&Value>) -> Result<String, LinkError> {
        let mut request = self.http.request(method.clone(), format!("http://{}/{path}", self.api));
        if let Some(body) = body {
            request = request.json(body);
        }
        let failed =
            |why: reqwest::Error| LinkError::Unreachable { api: self.api, why: reason(&why), remedy: remedy(&why) };
        let answer = request.send().map_err(failed)?;
        let status = answer.status();
        let text = answer.text().map_err(failed)?;
        if status.is_success() {
            return Ok(text);
        }
        let remedy = match status.as_u16() {
            409 => "something of that name is there already: heal the link, or choose another proxy",
            404 => "the proxy has forgotten its links: was it restarted?",
            500 => "if a port is taken, stop who has it or choose other ports",
            _ => "is it a Toxiproxy 2?",
        };
        let answer = clean_short(text.trim(), ANSWER_CHARS_MAX);
        let request = format!("{method} /{path}");
        Err(LinkError::Refused { api: self.api, request, status: status.as_u16(), answer, remedy })
    }

    fn unreachable(&self, why: String) -> LinkError {
        // The client library joins nested causes into one line. The last one is sufficient.
        let innermost = why.rsplit_once("error: ").map_or(&*why, |(_, innermost)| innermost);
        LinkError::Unreachable { api: self.api, why: innermost.to_owned(), remedy: NO_PROXY }
    }

    fn nonsense(&self, request: &str, why: impl fmt::Display) -> LinkError {
        LinkError::Nonsense { api: self.api, request: request.to_owned(), why: why.to_string() }
    }
}

/// The toxics of a proxy. None if some are not ours (another toxicity, or an unknown stream).
pub(super) fn toxics(proxy: &ListedProxy) -> Option<Toxics> {
    let known = proxy.pack().toxics.iter().map(|pack| {
        let stream = toxics::streams(Direction::Both).iter().copied().find(|stream| pack.stream == *stream)?;
        let attributes = pack.attributes.iter().map(|(name, value)| (name.clone(), *value)).collect();
        (pack.toxicity == 1.0).then(|| (pack.name.clone(), Toxic { kind: pack.r#type.clone(), stream, attributes }))
    });
    known.collect()
}

pub(super) fn missing(name: &str) -> LinkError {
    let (asked, found) = ("a proxy".to_owned(), "no such proxy".to_owned());
    LinkError::NotApplied { proxy: name.to_owned(), asked, found }
}

fn list(toxics: &Toxics) -> String {
    if toxics.is_empty() {
        return "no toxic".to_owned();
    }
    toxics.values().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The error of the first request, or that another program answers it.
fn or_stranger(api: SocketAddr, error: LinkError) -> LinkError {
    let answer = match &error {
        LinkError::Refused { status, answer, .. } => Some(format!("answers {status} {}", quoted(answer))),
        _ => match version_at(api) {
            Some(VersionAnswer::Other(answer)) => Some(answer),
            Some(VersionAnswer::Toxiproxy(_)) | None => None,
        },
    };
    answer.map_or(error, |answer| LinkError::Stranger { api, answer })
}

/// An error and its causes, the innermost last.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(Some(error), |&error| error.source())
}

/// The innermost reason: "connection refused" rather than "error sending request".
fn reason(error: &reqwest::Error) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

/// What may be wrong where the API cannot be reached, by the kind of the error.
fn remedy(error: &reqwest::Error) -> &'static str {
    match causes(error).find_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind())) {
        Some(ErrorKind::ConnectionRefused) => {
            "nothing listens there: is it running, and is that the address of its API?"
        }
        Some(ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable) => {
            "no way leads there from this machine: is that the address of its API?"
        }
        Some(ErrorKind::TimedOut) => SILENT,
        Some(_) | None if error.is_timeout() => SILENT,
        Some(_) | None => "is it running, and is that the address of its API?",
    }
}
