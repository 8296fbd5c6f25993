//! All proxies of the process.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::error::ApiError;
use super::port::{look_up, refuse_own_upstream};
use super::relay::Relay;
use super::replacement::{Successor, replace};
use super::request::ProxyRequest;
use super::tap::Taps;
use super::toxic::Toxic;

const PROXIES_MAX: usize = 10_000;
/// All look-ups of one request together take no longer than this, since others wait meanwhile.
const LOOK_UPS_MAX: Duration = Duration::from_secs(5);

/// The API's state. One change at a time: the lock is held while waiting, because closing a port takes a moment.
#[derive(Clone)]
pub(super) struct Registry(pub(super) Arc<Mutex<Proxies>>);

pub(super) struct Proxies {
    by_name: BTreeMap<String, Relay>,
    lie: Option<String>,
    seed: u64,
    taps: Taps,
    toxics_made: u64,
}

/// Requested changes of a proxy.
#[derive(Default, Deserialize)]
pub(super) struct ProxyChange {
    listen: Option<String>,
    upstream: Option<String>,
    enabled: Option<bool>,
}

impl Registry {
    pub(super) fn new(lie: Option<String>, seed: u64, taps: Taps) -> Self {
        Self(Arc::new(Mutex::new(Proxies { by_name: BTreeMap::new(), lie, seed, taps, toxics_made: 0 })))
    }
}

impl Proxies {
    pub(super) fn get(&self, name: &str) -> Result<&Relay, ApiError> {
        self.by_name.get(name).ok_or_else(ApiError::no_proxy)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Result<&mut Relay, ApiError> {
        self.by_name.get_mut(name).ok_or_else(ApiError::no_proxy)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&String, &Relay)> {
        self.by_name.iter()
    }

    pub(super) async fn create(&mut self, request: ProxyRequest) -> Result<&Relay, ApiError> {
        let request = request.checked("")?;
        if self.by_name.contains_key(&request.name) {
            return Err(ApiError::proxy_exists());
        }
        self.room_for(1)?;
        let name = request.name.clone();
        let new = self.successor(request).await?;
        replace(&mut self.by_name, new.into_iter().collect()).await?;
        self.get(&name)
    }

    /// Creates all, and replaces those whose address or upstream differs: all of them or none.
    pub(super) async fn populate(&mut self, requests: Vec<ProxyRequest>) -> Result<Vec<String>, ApiError> {
        let mut names = Vec::with_capacity(requests.len());
        // Of several with one name, the last counts.
        let mut wanted = BTreeMap::new();
        for (at, request) in requests.into_iter().enumerate() {
            let request = request.checked(&format!(" at proxy {}", at + 1))?;
            names.push(request.name.clone());
            wanted.insert(request.name.clone(), request);
        }
        let fresh = wanted.keys().filter(|name| !self.by_name.contains_key(*name)).count();
        self.room_for(fresh)?;
        let successors = timeout(LOOK_UPS_MAX, self.successors(wanted.into_values())).await;
        let successors = successors.map_err(|_| ApiError::slow_look_ups(LOOK_UPS_MAX))??;
        replace(&mut self.by_name, successors).await?;
        Ok(names)
    }

    async fn successors(&self, requests: impl Iterator<Item = ProxyRequest>) -> Result<Vec<Successor>, ApiError> {
        let mut successors = Vec::new();
        for request in requests {
            successors.extend(self.successor(request).await?);
        }
        Ok(successors)
    }

    /// The proxy that a request asks for. None: it is there already.
    async fn successor(&self, request: ProxyRequest) -> Result<Option<Successor>, ApiError> {
        let address = address(&request.listen, request.enabled).await?;
        refuse_own_upstream(&request.name, &request.listen, address, &request.upstream)?;
        let relay = match self.by_name.get(&request.name) {
            Some(old) if old.upstream == request.upstream && old.is_at(&request.listen, address) => {
                if old.enabled() == request.enabled {
                    return Ok(None);
                }
                old.moved(request.listen, request.upstream)
            }
            Some(_) | None => {
                let lie = self.lie.as_ref().is_some_and(|end| request.name.ends_with(end.as_str()));
                Relay::new(request, lie, self.seed, self.taps.clone())
            }
        };
        Ok(Some(Successor { relay, address }))
    }

    fn room_for(&self, more: usize) -> Result<(), ApiError> {
        if self.by_name.len() + more > PROXIES_MAX {
            return Err(ApiError::too_many("proxies", PROXIES_MAX));
        }
        Ok(())
    }

    pub(super) async fn change(&mut self, name: &str, change: ProxyChange) -> Result<&Relay, ApiError> {
        let old = self.get(name)?;
        let listen = given(change.listen, &old.listen);
        let upstream = given(change.upstream, &old.upstream);
        let enabled = change.enabled.unwrap_or(old.enabled());
        let address = address(&listen, enabled).await?;
        let stays = old.upstream == upstream && old.is_at(&listen, address);
        // A proxy may always be disabled.
        if !stays || enabled {
            refuse_own_upstream(name, &listen, address, &upstream)?;
        }
        if !stays || old.enabled() != enabled {
            let successor = Successor { relay: old.moved(listen, upstream), address };
            replace(&mut self.by_name, vec![successor]).await?;
        }
        self.get(name)
    }

    pub(super) async fn delete(&mut self, name: &str) -> Result<(), ApiError> {
        let relay = self.get_mut(name)?;
        relay.stop().await;
        self.by_name.remove(name);
        Ok(())
    }

    /// Removes all toxics and opens all ports. A port that cannot be opened prevents nothing else.
    pub(super) async fn reset(&mut self) -> Result<(), ApiError> {
        let (mut first, mut others) = (None, 0);
        for relay in self.by_name.values_mut() {
            relay.remove_toxics();
            if let Err(error) = relay.start().await {
                others += usize::from(first.is_some());
                first.get_or_insert(error);
            }
        }
        match first {
            None => Ok(()),
            Some(error) if others == 0 => Err(error),
            Some(error) => Err(error.and(format!("{others} more cannot listen either"))),
        }
    }

    pub(super) fn add_toxic(&mut self, proxy: &str, body: &[u8]) -> Result<&Toxic, ApiError> {
        self.toxics_made += 1;
        let serial = self.toxics_made;
        self.get_mut(proxy)?.add_toxic(Toxic::create(body, serial)?)
    }
}

/// Where a proxy will listen. None: nowhere, since it will be disabled.
async fn address(listen: &str, enabled: bool) -> Result<Option<SocketAddr>, ApiError> {
    if enabled { look_up(listen).await.map(Some) } else { Ok(None) }
}

/// The requested value. An empty one changes nothing.
fn given(wanted: Option<String>, old: &str) -> String {
    wanted.filter(|wanted| !wanted.is_empty()).unwrap_or_else(|| old.to_owned())
}
