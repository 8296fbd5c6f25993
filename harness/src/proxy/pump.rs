//! Transfers one direction of one connection: socket, pipeline, socket. Buffers exist only while bytes wait in them.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::Shutdown;
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::process::clock;
use crate::process::lock::lock;

use super::active_toxic::{ConnectionEnd, Item, StreamEnd, ToxicAction};
use super::connection::ProxyConnection;
use super::counters::Counters;
use super::pipeline::{Chain, Pipeline};
use super::shared::ProxyShared;
use super::toxic::Stream;

/// Turns of one pump before others run.
const BURST: usize = 16;
const SCRATCH_BYTES: usize = 64 * 1024;

thread_local! {
    /// Shared by all reads.
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH_BYTES]);
}

/// How a direction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DirectionEnd {
    /// Its end was forwarded; or its receiver has gone, which the other direction will detect.
    Finished,
    /// The whole connection ends.
    Fate(ConnectionEnd),
}

pub(super) struct Pump<'a> {
    connection: &'a ProxyConnection,
    shared: &'a ProxyShared,
    /// Counters of this direction: the connection's and the proxy's.
    counters: [&'a Counters; 2],
    stream: Stream,
    source: &'a TcpStream,
    sink: &'a TcpStream,
    chain: watch::Receiver<Arc<Chain>>,
    /// The chain that the pipeline has adopted.
    adopted: Option<Arc<Chain>>,
    pipeline: Pipeline,
    at_end: bool,
}

/// Events that a pump waits for.
struct PumpInterest {
    read: bool,
    write: bool,
    wake: Option<u64>,
}

enum Advance {
    Done(DirectionEnd),
    Wait(PumpInterest),
    Again,
}

enum PumpFlow {
    /// Data moved.
    Moved,
    /// Nothing to do.
    Nothing,
    /// The socket accepts or provides no more data for now.
    Blocked,
    Ended(DirectionEnd),
}

impl<'a> Pump<'a> {
    pub(super) fn new(
        connection: &'a ProxyConnection,
        stream: Stream,
        (source, sink): (&'a TcpStream, &'a TcpStream),
        shared: &'a ProxyShared,
        chain: watch::Receiver<Arc<Chain>>,
    ) -> Self {
        let pipeline = Pipeline::new(connection.id, shared.seed);
        let counters = [connection.way(stream), shared.way(stream)];
        Self { connection, shared, counters, stream, source, sink, chain, adopted: None, pipeline, at_end: false }
    }

    pub(super) async fn run(mut self) -> DirectionEnd {
        loop {
            if let Err(fate) = self.adopt() {
                return DirectionEnd::Fate(fate);
            }
            let advance = if self.pipeline.held() {
                Advance::Wait(PumpInterest { read: false, write: false, wake: None })
            } else {
                self.advance()
            };
            self.counters[0].queued(self.pipeline.bytes());
            match advance {
                Advance::Done(outcome) => return outcome,
                Advance::Again => tokio::task::yield_now().await,
                Advance::Wait(wait) => self.wait(wait).await,
            }
        }
    }

    /// Checks before any read or write whether a hold stops this direction.
    fn adopt(&mut self) -> Result<(), ConnectionEnd> {
        let chain = Arc::clone(&self.chain.borrow_and_update());
        if self.adopted.as_ref().is_some_and(|adopted| Arc::ptr_eq(adopted, &chain)) {
            return Ok(());
        }
        self.adopted = Some(Arc::clone(&chain));
        let adopted = self.pipeline.adopt(chain.way(self.stream), clock::now());
        self.connection.held(self.stream, self.pipeline.held());
        adopted
    }

    async fn wait(&mut self, wait: PumpInterest) {
        let sleep = async {
            match wait.wake {
                Some(at) => tokio::time::sleep(Duration::from_nanos(at.saturating_sub(clock::now()))).await,
                None => std::future::pending().await,
            }
        };
        // The next read or write detects socket errors.
        tokio::select! {
            _ = self.chain.changed() => {}
            _ = self.source.readable(), if wait.read => {}
            _ = self.sink.writable(), if wait.write => {}
            () = sleep, if wait.wake.is_some() => {}
        }
    }

    fn advance(&mut self) -> Advance {
        for _ in 0..BURST {
            let now = clock::now();
            let turn = self.pipeline.turn(now);
            if turn.dropped > 0 {
                self.count_dropped(turn.dropped);
            }
            if let Some(fate) = turn.fate {
                self.count_dropped(self.pipeline.bytes());
                return Advance::Done(DirectionEnd::Fate(fate));
            }
            let written = self.flush(now);
            if let PumpFlow::Ended(outcome) = written {
                return Advance::Done(outcome);
            }
            let wants = !self.at_end && self.pipeline.has_room();
            let read = if wants { self.fill(now) } else { PumpFlow::Nothing };
            if let PumpFlow::Ended(outcome) = read {
                return Advance::Done(outcome);
            }
            if !matches!(written, PumpFlow::Moved) && !matches!(read, PumpFlow::Moved) {
                let write = matches!(written, PumpFlow::Blocked);
                return Advance::Wait(PumpInterest { read: wants, write, wake: turn.wake });
            }
        }
        Advance::Again
    }

    /// Reads once.
    fn fill(&mut self, now: u64) -> PumpFlow {
        SCRATCH.with_borrow_mut(|scratch| match self.source.try_read(scratch) {
            Ok(0) => self.push_end(StreamEnd::Eof, now),
            Ok(n) => {
                let data = scratch.get(..n).unwrap_or_default();
                if let Some(tap) = &self.connection.tap {
                    tap.take(self.stream, data);
                }
                if self.stream == Stream::Upstream {
                    lock(&self.connection.reading).up(data);
                    return self.take(data, now);
                }
                self.connection.saw(data);
                match self.kept_back(data) {
                    None => self.take(data, now),
                    Some(passes) => {
                        self.count_dropped(data.len() - passes);
                        match self.take(data.get(..passes).unwrap_or_default(), now) {
                            PumpFlow::Ended(outcome) => PumpFlow::Ended(outcome),
                            PumpFlow::Moved | PumpFlow::Nothing | PumpFlow::Blocked => {
                                self.push_end(StreamEnd::Close, now)
                            }
                        }
                    }
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => PumpFlow::Blocked,
            Err(error) if error.kind() == ErrorKind::Interrupted => PumpFlow::Moved,
            Err(_) => self.push_end(StreamEnd::Reset, now),
        })
    }

    /// If an answer in these bytes must be held back: how many of them may pass.
    fn kept_back(&self, data: &[u8]) -> Option<usize> {
        let keeps = |created| {
            let chain = self.chain.borrow();
            !chain.reading.is_empty() && self.shared.loses(&chain.reading, self.connection.id, &created)
        };
        lock(&self.connection.reading).down(data, keeps)
    }

    fn push_end(&mut self, end: StreamEnd, now: u64) -> PumpFlow {
        self.at_end = true;
        self.pipeline.push(Item { at: now, what: ToxicAction::End(end) });
        PumpFlow::Moved
    }

    /// Writes directly if nothing is queued. Only the rest is queued.
    fn take(&mut self, data: &[u8], now: u64) -> PumpFlow {
        let mut rest = data;
        if self.pipeline.is_clear() {
            match self.write(data, now) {
                Ok(n) => rest = data.get(n..).unwrap_or_default(),
                Err(outcome) => return PumpFlow::Ended(outcome),
            }
        }
        if !rest.is_empty() {
            self.pipeline.push(Item { at: now, what: ToxicAction::Data(rest.to_vec()) });
        }
        PumpFlow::Moved
    }

    fn flush(&mut self, now: u64) -> PumpFlow {
        let mut flow = PumpFlow::Nothing;
        while let Some(Item { at, what }) = self.pipeline.ready().pop_front() {
            match what {
                ToxicAction::End(StreamEnd::Eof) => return PumpFlow::Ended(self.pass_eof()),
                ToxicAction::End(StreamEnd::Reset) => {
                    return PumpFlow::Ended(DirectionEnd::Fate(ConnectionEnd::Reset));
                }
                ToxicAction::End(StreamEnd::Close) => {
                    return PumpFlow::Ended(DirectionEnd::Fate(ConnectionEnd::Close));
                }
                ToxicAction::Data(mut data) => {
                    let n = match self.write(&data, now) {
                        Ok(n) => n,
                        Err(outcome) => return PumpFlow::Ended(outcome),
                    };
                    if n < data.len() {
                        data.drain(..n);
                        self.pipeline.ready().push_front(Item { at, what: ToxicAction::Data(data) });
                        return PumpFlow::Blocked;
                    }
                    flow = PumpFlow::Moved;
                }
            }
        }
        flow
    }

    /// Writes until the socket accepts no more. Err: the receiver has gone.
    fn write(&self, data: &[u8], now: u64) -> Result<usize, DirectionEnd> {
        let mut done = 0;
        while let Some(rest @ [_, ..]) = data.get(done..) {
            match self.sink.try_write(rest) {
                Ok(n) => done += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.count_dropped(rest.len() + self.pipeline.bytes());
                    return Err(DirectionEnd::Finished);
                }
            }
        }
        if done > 0 {
            self.counters.iter().for_each(|c| c.forwarded(done, now));
        }
        Ok(done)
    }

    /// Half-closes the sink. If it is already closed, nothing is necessary.
    fn pass_eof(&self) -> DirectionEnd {
        match rustix::net::shutdown(self.sink, Shutdown::Write).map_err(io::Error::from) {
            Ok(()) => DirectionEnd::Finished,
            Err(error) if error.kind() == ErrorKind::NotConnected => DirectionEnd::Finished,
            Err(_) => DirectionEnd::Fate(ConnectionEnd::Close),
        }
    }

    fn count_dropped(&self, bytes: usize) {
        self.counters.iter().for_each(|c| c.dropped(bytes));
    }
}
