//! What passes on the links of a cell, written down as what the candidates behind them did.

use std::collections::BTreeMap;
use std::time::Duration;

use hustings_record::Event;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::process::clock;
use crate::proxy::{TapEvent, Taps};
use crate::recording::journal::Journal;
use crate::witness::{HostSlots, Slots};

/// Quiet slots are looked for so often.
const LOOK: Duration = Duration::from_millis(10);

/// Who is behind the links of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkHosts {
    /// The host at the end of each proxy, by the proxy's name.
    pub proxies: BTreeMap<String, u16>,
    pub hosts: BTreeMap<u16, HostSlots>,
}

/// Writes down what passes, for one cell.
pub(crate) struct Recorder {
    taps: Taps,
    tapped: mpsc::Receiver<TapEvent>,
    proxies: BTreeMap<String, u16>,
    hosts: BTreeMap<u16, Slots>,
}

impl Recorder {
    /// Listens from now on.
    pub(crate) fn begin(taps: &Taps, witnessed: LinkHosts) -> Self {
        let hosts = witnessed.hosts.into_iter().map(|(host, of_host)| (host, Slots::new(of_host))).collect();
        Self { taps: taps.clone(), tapped: taps.begin(), proxies: witnessed.proxies, hosts }
    }

    /// Writes down whatever comes; never ends.
    pub(crate) async fn write(&mut self, journal: &Journal) {
        let mut look = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                Some(tapped) = self.tapped.recv() => self.take(tapped, journal),
                _ = look.tick() => {
                    let now = clock::now();
                    self.hosts.values_mut().for_each(|slots| slots.settle(now, &mut |event| journal.push(&event)));
                }
            }
        }
    }

    /// Writes down what is still on its way, and listens no more.
    pub(crate) fn end(mut self, journal: &Journal) {
        let lost = self.taps.end();
        while let Ok(tapped) = self.tapped.try_recv() {
            self.take(tapped, journal);
        }
        let unsound = self.hosts.values().filter(|slots| !slots.is_sound()).count() as u64;
        if lost + unsound > 0 {
            journal.push(&Event::Unwitnessed { t: clock::now(), lost, unsound });
        }
    }

    fn take(&mut self, tapped: TapEvent, journal: &Journal) {
        let host = self.proxies.get(&*tapped.proxy).and_then(|host| self.hosts.get_mut(host));
        if let Some(slots) = host {
            slots.take(tapped.t, tapped.connection, &tapped.what, &mut |event| journal.push(&event));
        }
    }
}
