//! What passes on the connections of this process's proxies, told as it passes to whoever writes it down. Nobody listens unless a
//! cell wants it; and who does not keep up loses what comes meanwhile, which is counted: links wait for nobody.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use hustings_record::Nanos;
use tokio::sync::mpsc;

use super::toxic::Stream;
use crate::process::clock;
use crate::process::lock::lock;
use crate::witness::{Conversation, Happened, Said};

/// Things that may wait to be written down.
const WAITING_MAX: usize = 1 << 16;

/// One thing that happened on a connection of a proxy.
#[derive(Debug)]
pub struct Tapped {
    pub t: Nanos,
    pub proxy: Arc<str>,
    pub connection: u64,
    pub what: Happened,
}

/// Whether anybody listens, for all proxies of a process.
#[derive(Clone, Debug, Default)]
pub struct Taps(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    listener: Mutex<Option<mpsc::Sender<Tapped>>>,
    lost: AtomicU64,
}

impl Taps {
    /// From now on whatever happens on new connections is told.
    pub(crate) fn begin(&self) -> mpsc::Receiver<Tapped> {
        let (tell, told) = mpsc::channel(WAITING_MAX);
        *lock(&self.0.listener) = Some(tell);
        self.0.lost.store(0, Relaxed);
        told
    }

    /// Nothing is told any more. Gives how much was lost since it began.
    pub(crate) fn end(&self) -> u64 {
        *lock(&self.0.listener) = None;
        self.0.lost.swap(0, Relaxed)
    }

    /// The tap of a new connection, if anybody listens.
    pub(super) fn open(&self, proxy: &Arc<str>, connection: u64) -> Option<Tap> {
        let to = lock(&self.0.listener).clone()?;
        let tap = Tap { to, taps: self.clone(), proxy: proxy.clone(), connection, conversation: Mutex::default() };
        tap.tell(Happened::Opened);
        Some(tap)
    }
}

/// Reads along on one connection, and tells.
#[derive(Debug)]
pub(super) struct Tap {
    to: mpsc::Sender<Tapped>,
    taps: Taps,
    proxy: Arc<str>,
    connection: u64,
    conversation: Mutex<Conversation>,
}

impl Tap {
    /// Takes what is about to pass.
    pub(super) fn take(&self, stream: Stream, data: &[u8]) {
        let mut conversation = lock(&self.conversation);
        let tell = |said: Said| self.tell(Happened::Said(said));
        match stream {
            Stream::Upstream => conversation.up(data, tell),
            Stream::Downstream => conversation.down(data, tell),
        }
    }

    fn tell(&self, what: Happened) {
        let tapped = Tapped { t: clock::now(), proxy: self.proxy.clone(), connection: self.connection, what };
        if self.to.try_send(tapped).is_err() {
            self.taps.0.lost.fetch_add(1, Relaxed);
        }
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        let sound = lock(&self.conversation).is_sound();
        self.tell(Happened::Ended { sound });
    }
}
