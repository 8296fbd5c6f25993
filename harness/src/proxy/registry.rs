//! All proxies of the process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use tokio::sync::Mutex;

use super::error::ApiError;
use super::relay::Relay;
use super::request::ProxyRequest;
use super::tap::Taps;
use super::toxic::Toxic;

const PROXIES_MAX: usize = 10_000;

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
        self.put(request).await
    }

    /// Creates all, and replaces those whose address or upstream differs. All requests are validated first.
    pub(super) async fn populate(&mut self, requests: Vec<ProxyRequest>) -> Result<Vec<String>, ApiError> {
        let mut checked = Vec::with_capacity(requests.len());
        for (at, request) in requests.into_iter().enumerate() {
            checked.push(request.checked(&format!(" at proxy {}", at + 1))?);
        }
        let wanted = checked.iter().map(|request| &request.name);
        let fresh = wanted.filter(|name| !self.by_name.contains_key(*name)).collect::<BTreeSet<_>>().len();
        if self.by_name.len() + fresh > PROXIES_MAX {
            return Err(ApiError::too_many("proxies", PROXIES_MAX));
        }
        let mut names = Vec::with_capacity(checked.len());
        for request in checked {
            names.push(request.name.clone());
            if let Some(old) = self.by_name.get_mut(&request.name) {
                if old.listen == request.listen && old.upstream == request.upstream {
                    switch(old, request.enabled).await?;
                    continue;
                }
                old.stop().await;
                self.by_name.remove(&request.name);
            }
            self.put(request).await?;
        }
        Ok(names)
    }

    async fn put(&mut self, request: ProxyRequest) -> Result<&Relay, ApiError> {
        if self.by_name.len() >= PROXIES_MAX {
            return Err(ApiError::too_many("proxies", PROXIES_MAX));
        }
        let lie = self.lie.as_ref().is_some_and(|end| request.name.ends_with(end.as_str()));
        let (name, enabled) = (request.name.clone(), request.enabled);
        let mut relay = Relay::new(request, lie, self.seed, self.taps.clone());
        if enabled {
            relay.start().await?;
        }
        Ok(self.by_name.entry(name).insert_entry(relay).into_mut())
    }

    pub(super) async fn change(&mut self, name: &str, change: ProxyChange) -> Result<&Relay, ApiError> {
        let relay = self.get_mut(name)?;
        let was_enabled = relay.enabled();
        let moved = change.listen.is_some_and(|listen| replaced(&mut relay.listen, listen))
            | change.upstream.is_some_and(|upstream| replaced(&mut relay.upstream, upstream));
        if moved {
            relay.stop().await;
        }
        switch(relay, change.enabled.unwrap_or(was_enabled)).await?;
        Ok(relay)
    }

    pub(super) async fn delete(&mut self, name: &str) -> Result<(), ApiError> {
        let relay = self.get_mut(name)?;
        relay.stop().await;
        self.by_name.remove(name);
        Ok(())
    }

    /// Opens all ports and removes all toxics.
    pub(super) async fn reset(&mut self) -> Result<(), ApiError> {
        for relay in self.by_name.values_mut() {
            relay.start().await?;
            relay.remove_toxics();
        }
        Ok(())
    }

    pub(super) fn add_toxic(&mut self, proxy: &str, body: &[u8]) -> Result<&Toxic, ApiError> {
        self.toxics_made += 1;
        let serial = self.toxics_made;
        self.get_mut(proxy)?.add_toxic(Toxic::create(body, serial)?)
    }
}

async fn switch(relay: &mut Relay, enabled: bool) -> Result<(), ApiError> {
    if enabled {
        relay.start().await
    } else {
        relay.stop().await;
        Ok(())
    }
}

/// Sets `field` and returns whether it changed. An empty value changes nothing.
fn replaced(field: &mut String, wanted: String) -> bool {
    let differs = !wanted.is_empty() && *field != wanted;
    if differs {
        *field = wanted;
    }
    differs
}
