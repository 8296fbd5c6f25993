//! The driver's actions on links. They block, run on the caller's thread, and read each change back. They take the
//! timestamps around a change, so that waiting for the thread does not widen the interval.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use toxiproxy_rust::proxy::ProxyPack;
use tracing::warn;

use crate::process::clock;
use crate::proxy::stats::{DisconnectReply, ProxyStats};

use super::control::{Control, ListedProxy, missing, toxics};
use super::error::LinkError;
use super::layout::Link;
use super::toxics::{Toxic, Toxics};

/// Time for connections to close after a reset.
const GONE_LIMIT: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The times between which a change took effect.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChangeBounds {
    pub(super) from: u64,
    pub(super) to: u64,
}

/// Groups the links by the process that serves them.
fn by_api<'a>(controls: &'a [Control], links: &'a [Link]) -> impl Iterator<Item = (&'a Control, Vec<&'a Link>)> {
    controls.iter().enumerate().filter_map(|(api, control)| {
        let here: Vec<&Link> = links.iter().filter(|link| link.api == api).collect();
        (!here.is_empty()).then_some((control, here))
    })
}

fn handle<'a>(proxies: &'a HashMap<String, ListedProxy>, link: &Link) -> Result<&'a ListedProxy, LinkError> {
    proxies.get(&link.name).ok_or_else(|| missing(&link.name))
}

/// Adds these toxics to each link. On failure it removes them from all links.
pub(super) fn inject(controls: &[Control], links: &[Link], wanted: &[Toxic]) -> Result<ChangeBounds, LinkError> {
    let mut plan = Vec::new();
    for (control, here) in by_api(controls, links) {
        let proxies = control.all()?;
        let mut expected = BTreeMap::new();
        for link in &here {
            expected.insert(link.name.as_str(), with(handle(&proxies, link)?, wanted)?);
        }
        plan.push((control, here, proxies, expected));
    }
    let from = clock::now();
    let done = plan.into_iter().try_for_each(|(control, here, proxies, expected)| {
        for link in here {
            let proxy = handle(&proxies, link)?;
            wanted.iter().try_for_each(|toxic| control.create(proxy, toxic))?;
        }
        control.expect_toxics(expected)
    });
    let to = clock::now();
    match done {
        Ok(()) => Ok(ChangeBounds { from, to }),
        Err(error) => {
            take_back(controls, links, wanted);
            Err(error)
        }
    }
}

/// The toxics of a proxy after the injection. A toxic of the same name must not exist: the API would refuse the new
/// one, and toxiproxy_rust would not report it.
fn with(proxy: &ListedProxy, wanted: &[Toxic]) -> Result<Toxics, LinkError> {
    let ProxyPack { name, toxics: there, .. } = proxy.pack();
    if let Some(toxic) = wanted.iter().map(Toxic::name).find(|toxic| there.iter().any(|pack| pack.name == *toxic)) {
        return Err(LinkError::AlreadyThere { proxy: name.clone(), toxic });
    }
    let mut expected = toxics(proxy).ok_or_else(|| LinkError::NotApplied {
        proxy: name.clone(),
        asked: "the toxics of this run".to_owned(),
        found: "toxics of another kind".to_owned(),
    })?;
    expected.extend(wanted.iter().map(|toxic| (toxic.name(), toxic.clone())));
    Ok(expected)
}

/// Removes these toxics again, on a best-effort basis.
pub(super) fn take_back(controls: &[Control], links: &[Link], wanted: &[Toxic]) {
    for (control, here) in by_api(controls, links) {
        for (link, toxic) in here.iter().flat_map(|link| wanted.iter().map(move |toxic| (link, toxic))) {
            if let Err(error) = control.remove(&link.name, toxic) {
                warn!(link = link.name, %toxic, %error, "a fault that failed could not be taken back");
                return;
            }
        }
    }
}

/// Removes only these toxics from each link. All must exist; other toxics remain.
pub(super) fn withdraw(controls: &[Control], links: &[Link], unwanted: &[Toxic]) -> Result<(), LinkError> {
    let mut plan = Vec::new();
    for (control, here) in by_api(controls, links) {
        let proxies = control.all()?;
        let mut expected = BTreeMap::new();
        for link in &here {
            expected.insert(link.name.as_str(), without(handle(&proxies, link)?, unwanted)?);
        }
        plan.push((control, here, expected));
    }
    for (control, here, expected) in plan {
        for link in here {
            unwanted.iter().try_for_each(|toxic| control.remove(&link.name, toxic))?;
        }
        control.expect_toxics(expected)?;
    }
    Ok(())
}

/// The toxics that remain on a proxy.
fn without(proxy: &ListedProxy, unwanted: &[Toxic]) -> Result<Toxics, LinkError> {
    let mut left = toxics(proxy).unwrap_or_default();
    for toxic in unwanted {
        left.remove(&toxic.name())
            .ok_or_else(|| LinkError::NotThere { proxy: proxy.pack().name.clone(), toxic: toxic.name() })?;
    }
    Ok(left)
}

/// Removes those of these toxics that the links bear. Other toxics remain.
pub(super) fn end(controls: &[Control], links: &[Link], unwanted: &[Toxic]) -> Result<ChangeBounds, LinkError> {
    let mut plan = Vec::new();
    for (control, here) in by_api(controls, links) {
        let proxies = control.all()?;
        let (mut own, mut expected) = (Vec::new(), BTreeMap::new());
        for link in here {
            let proxy = handle(&proxies, link)?;
            let there: BTreeSet<&str> = proxy.pack().toxics.iter().map(|pack| pack.name.as_str()).collect();
            let mut left = toxics(proxy).unwrap_or_default();
            for toxic in unwanted.iter().filter(|toxic| there.contains(toxic.name().as_str())) {
                left.remove(&toxic.name());
                own.push((link, toxic));
            }
            expected.insert(link.name.as_str(), left);
        }
        plan.push((control, own, expected));
    }
    let from = clock::now();
    for (control, own, expected) in plan {
        own.into_iter().try_for_each(|(link, toxic)| control.remove(&link.name, toxic))?;
        control.expect_toxics(expected)?;
    }
    Ok(ChangeBounds { from, to: clock::now() })
}

/// Names of the links whose toxics delay or hold back answers.
pub(super) fn delayed(controls: &[Control], links: &[Link]) -> Result<BTreeSet<String>, LinkError> {
    let mut names = BTreeSet::new();
    for (control, here) in by_api(controls, links) {
        let proxies = control.all()?;
        for link in here {
            let there = toxics(handle(&proxies, link)?).unwrap_or_default();
            if there.values().any(Toxic::delays_answers) {
                names.insert(link.name.clone());
            }
        }
    }
    Ok(names)
}

/// Removes all toxics from the links.
pub(super) fn heal(controls: &[Control], links: &[Link]) -> Result<ChangeBounds, LinkError> {
    let mut plan = Vec::new();
    for (control, here) in by_api(controls, links) {
        plan.push((control, here, control.all()?));
    }
    let from = clock::now();
    for (control, here, proxies) in plan {
        for link in &here {
            control.remove_all_toxics(handle(&proxies, link)?)?;
        }
        control.expect_toxics(here.iter().map(|link| (link.name.as_str(), Toxics::new())))?;
    }
    Ok(ChangeBounds { from, to: clock::now() })
}

/// Result of a reset of connections.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionResets {
    pub(super) told: u64,
    /// Links on which some of them are still open.
    pub(super) links_left: BTreeSet<String>,
}

/// Resets all connections of the links. Embedded proxies only.
pub(super) fn reset(controls: &[Control], links: &[Link]) -> Result<(ChangeBounds, ConnectionResets), LinkError> {
    let from = clock::now();
    let mut waiting = Vec::new();
    let mut gone = ConnectionResets::default();
    for (control, here) in by_api(controls, links) {
        for link in here {
            let told: DisconnectReply = control.post(&format!("proxies/{}/disconnect", link.name))?;
            gone.told += told.reset;
            waiting.push((control, link, told.below));
        }
    }
    let deadline = Instant::now() + GONE_LIMIT;
    loop {
        let mut left = Vec::new();
        for (control, link, below) in waiting {
            let stats: ProxyStats = brief(control, link)?;
            if stats.oldest_open.is_some_and(|id| id < below) {
                left.push((control, link, below));
            }
        }
        gone.links_left = left.iter().map(|(_, link, _): &(&Control, &Link, u64)| link.name.clone()).collect();
        if left.is_empty() || Instant::now() >= deadline {
            return Ok((ChangeBounds { from, to: clock::now() }, gone));
        }
        waiting = left;
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Closes all connections by closing and reopening the ports, which a real Toxiproxy supports.
pub(super) fn reopen(controls: &[Control], links: &[Link]) -> Result<ChangeBounds, LinkError> {
    let from = clock::now();
    for (control, here) in by_api(controls, links) {
        let proxies = control.all()?;
        for enabled in [false, true] {
            for link in &here {
                control.enable(handle(&proxies, link)?, enabled)?;
            }
            let found = control.all()?;
            for link in &here {
                if handle(&found, link)?.pack().enabled != enabled {
                    return Err(LinkError::NotApplied {
                        proxy: link.name.clone(),
                        asked: format!("enabled: {enabled}"),
                        found: format!("enabled: {}", !enabled),
                    });
                }
            }
        }
    }
    Ok(ChangeBounds { from, to: clock::now() })
}

fn brief(control: &Control, link: &Link) -> Result<ProxyStats, LinkError> {
    control.get(&format!("proxies/{}/stats?brief=true", link.name))
}

/// The counters of these links, in the order of the links, without single connections. Embedded proxies only.
pub(super) fn counters(controls: &[Control], links: &[Link]) -> Result<Vec<ProxyStats>, LinkError> {
    links.iter().filter_map(|link| Some(brief(controls.get(link.api)?, link))).collect()
}

/// The counters of these links with their connections, except those closed earlier than `closed_after`.
pub(super) fn connections(
    controls: &[Control],
    links: &[Link],
    closed_after: u64,
) -> Result<Vec<ProxyStats>, LinkError> {
    let path = |link: &Link| format!("proxies/{}/stats?closed_after={closed_after}", link.name);
    links.iter().filter_map(|link| Some(controls.get(link.api)?.get(&path(link)))).collect()
}
