//! Reports traffic on the connections of this process's proxies to a recorder. Reporting is off unless a cell requests
//! it. If the recorder is too slow, events are dropped and counted: links never wait.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use hustings_record::Nanos;
use tokio::sync::mpsc;

use super::toxic::Stream;
use crate::process::clock;
use crate::process::lock::lock;
use crate::witness::{Conversation, DecodedMessage, RelayEvent};

/// Maximum number of events that wait to be recorded.
const WAITING_MAX: usize = 1 << 16;

/// One event on a connection of a proxy.
#[derive(Debug)]
pub struct TapEvent {
    pub t: Nanos,
    pub proxy: Arc<str>,
    pub connection: u64,
    pub what: RelayEvent,
}

/// The recorder of all proxies of a process, if any.
#[derive(Clone, Debug, Default)]
pub struct Taps(Arc<TapState>);

#[derive(Debug, Default)]
struct TapState {
    listener: Mutex<Option<mpsc::Sender<TapEvent>>>,
    lost: AtomicU64,
}

impl Taps {
    /// Reports all events on new connections from now on.
    pub(crate) fn begin(&self) -> mpsc::Receiver<TapEvent> {
        let (tell, told) = mpsc::channel(WAITING_MAX);
        *lock(&self.0.listener) = Some(tell);
        self.0.lost.store(0, Relaxed);
        told
    }

    /// Stops reporting. Returns the number of events lost since it began.
    pub(crate) fn end(&self) -> u64 {
        *lock(&self.0.listener) = None;
        self.0.lost.swap(0, Relaxed)
    }

    /// The tap of a new connection, if recording is on.
    pub(super) fn open(&self, proxy: &Arc<str>, connection: u64) -> Option<Tap> {
        let to = lock(&self.0.listener).clone()?;
        let tap = Tap { to, taps: self.clone(), proxy: proxy.clone(), connection, conversation: Mutex::default() };
        tap.tell(RelayEvent::Opened);
        Some(tap)
    }
}

/// Decodes the traffic of one connection and reports it.
#[derive(Debug)]
pub(super) struct Tap {
    to: mpsc::Sender<TapEvent>,
    taps: Taps,
    proxy: Arc<str>,
    connection: u64,
    conversation: Mutex<Conversation>,
}

impl Tap {
    /// Processes data before it is forwarded.
    pub(super) fn take(&self, stream: Stream, data: &[u8]) {
        let mut conversation = lock(&self.conversation);
        let tell = |said: DecodedMessage| self.tell(RelayEvent::Said(said));
        match stream {
            Stream::Upstream => conversation.up(data, tell),
            Stream::Downstream => conversation.down(data, tell),
        }
    }

    fn tell(&self, what: RelayEvent) {
        let tapped = TapEvent { t: clock::now(), proxy: self.proxy.clone(), connection: self.connection, what };
        if self.to.try_send(tapped).is_err() {
            self.taps.0.lost.fetch_add(1, Relaxed);
        }
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        let failure = lock(&self.conversation).failure().map(str::to_owned);
        self.tell(RelayEvent::Ended { failure });
    }
}
