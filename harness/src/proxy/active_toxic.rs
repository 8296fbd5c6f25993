//! One active toxic on one direction of one connection. Sans-IO: items enter, and leave when they are due.

use std::collections::VecDeque;
use std::sync::Arc;

use hustings_record::numbers::{to_usize, whole};

use super::greeting::{self, Greeting};
use super::toxic::{Bandwidth, Latency, LimitData, Slicer, Toxic, ToxicKind, mix, unit};

const MS: u64 = 1_000_000;
const US: u64 = 1_000;

/// An item in transit, with the time at which it arrived.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) at: u64,
    pub(super) what: ToxicAction,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ToxicAction {
    Data(Vec<u8>),
    End(StreamEnd),
}

/// The last item of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamEnd {
    /// The sender sends no more.
    Eof,
    /// The sender reset the connection.
    Reset,
    /// A toxic closes the connection after all earlier items have passed.
    Close,
}

/// The connection ends at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionEnd {
    Close,
    Reset,
}

/// The next step of an active toxic.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ToxicStep {
    Emit(Item),
    /// It has dropped this many bytes, and may have more steps.
    Dropped(usize),
    /// No step before this time, unless an item arrives.
    Wait(u64),
    /// No step until an item arrives.
    Idle,
    Fate(ConnectionEnd),
}

pub(super) struct ActiveToxic {
    pub(super) toxic: Arc<Toxic>,
    /// Whether it affects this connection.
    pub(super) hits: bool,
    pub(super) queue: VecDeque<Item>,
    /// When it became active on this connection.
    since: u64,
    /// When the first queued item may leave, once that is known.
    due: Option<u64>,
    /// Until then, the simulated line is busy with the last item.
    busy_until: u64,
    /// Bytes forwarded so far.
    passed: u64,
    /// The first bytes have been checked.
    greeted: bool,
    /// State of its own sequence of random numbers.
    random: u64,
}

impl ActiveToxic {
    pub(super) fn new(toxic: Arc<Toxic>, connection: u64, seed: u64, now: u64) -> Self {
        let hits = toxic.hits(connection, seed);
        let random = mix(seed ^ mix(connection ^ mix(toxic.serial)));
        Self {
            toxic,
            hits,
            queue: VecDeque::new(),
            since: now,
            due: None,
            busy_until: 0,
            passed: 0,
            greeted: false,
            random,
        }
    }

    /// The same toxic with other attributes. The due time of queued items is recalculated.
    pub(super) fn update(&mut self, toxic: Arc<Toxic>, connection: u64, seed: u64) {
        self.hits = toxic.hits(connection, seed);
        self.toxic = toxic;
        self.due = None;
    }

    pub(super) fn step(&mut self, now: u64) -> ToxicStep {
        if !self.hits {
            return self.emit();
        }
        match self.toxic.kind {
            ToxicKind::Latency(latency) => self.latency(latency, now),
            ToxicKind::Bandwidth(bandwidth) => self.bandwidth(bandwidth, now),
            ToxicKind::SlowClose(slow) => self.slow_close(slow.delay.taken(), now),
            ToxicKind::Timeout(after) => self.timeout(after.timeout.taken(), now),
            ToxicKind::ResetPeer(after) => self.reset_peer(after.timeout.taken(), now),
            ToxicKind::Slicer(slicer) => self.slicer(slicer, now),
            ToxicKind::LimitData(limit) => self.limit_data(limit),
            ToxicKind::Hold(_) => ToxicStep::Idle,
            ToxicKind::PlainGreeting(_) => self.plain_greeting(),
            // `AwaitUpstream` is over when data arrives. `LoseReply` acts when data is read.
            ToxicKind::AwaitUpstream(_) | ToxicKind::LoseReply(_) | ToxicKind::Noop(_) => self.emit(),
        }
    }

    fn emit(&mut self) -> ToxicStep {
        self.due = None;
        self.queue.pop_front().map_or(ToxicStep::Idle, ToxicStep::Emit)
    }

    fn emit_at(&mut self, due: u64, now: u64) -> ToxicStep {
        if due <= now {
            return self.emit();
        }
        self.due = Some(due);
        ToxicStep::Wait(due)
    }

    fn latency(&mut self, latency: Latency, now: u64) -> ToxicStep {
        let Some(front) = self.queue.front() else { return ToxicStep::Idle };
        let at = front.at;
        let due = self.due.unwrap_or_else(|| {
            let swing = (self.draw() * 2.0 - 1.0) * latency.jitter.taken() as f64;
            let delay_ms = (latency.latency.signed() + swing).max(0.0);
            at + whole(delay_ms * MS as f64)
        });
        // The next toxic counts from the due time, so that successive delays add up.
        match self.emit_at(due, now) {
            ToxicStep::Emit(item) => ToxicStep::Emit(Item { at: item.at.max(due), ..item }),
            step => step,
        }
    }

    /// Splits data into slices of 0.1 s. Each leaves when a line of this rate would have carried it.
    fn bandwidth(&mut self, bandwidth: Bandwidth, now: u64) -> ToxicStep {
        let bytes_per_ms = bandwidth.rate.taken();
        let slice = usize::try_from(bytes_per_ms.saturating_mul(100)).unwrap_or(usize::MAX);
        let Some(front) = self.queue.front() else { return ToxicStep::Idle };
        let ToxicAction::Data(data) = &front.what else { return self.emit() };
        if bytes_per_ms == 0 {
            return ToxicStep::Idle;
        }
        let bytes = data.len().min(slice) as u64;
        let due = self.due.unwrap_or_else(|| self.busy_until.max(now) + bytes * MS / bytes_per_ms);
        if due > now {
            self.due = Some(due);
            return ToxicStep::Wait(due);
        }
        self.busy_until = due;
        self.emit_part(slice)
    }

    fn slow_close(&mut self, delay_ms: u64, now: u64) -> ToxicStep {
        match self.queue.front().map(|item| &item.what) {
            Some(ToxicAction::End(_)) => {
                let due = self.due.unwrap_or(now + delay_ms * MS);
                self.emit_at(due, now)
            }
            _ => self.emit(),
        }
    }

    fn timeout(&mut self, after_ms: u64, now: u64) -> ToxicStep {
        let mut dropped = 0;
        while let Some(item) = self.queue.pop_front() {
            dropped += item.bytes();
        }
        let due = self.since + after_ms * MS;
        match (dropped, after_ms) {
            (1.., _) => ToxicStep::Dropped(dropped),
            (0, 0) => ToxicStep::Idle,
            (0, _) if due <= now => ToxicStep::Fate(ConnectionEnd::Close),
            (0, _) => ToxicStep::Wait(due),
        }
    }

    fn reset_peer(&mut self, after_ms: u64, now: u64) -> ToxicStep {
        if self.queue.is_empty() {
            return ToxicStep::Idle;
        }
        let due = self.due.unwrap_or(now + after_ms * MS);
        self.due = Some(due);
        if due <= now { ToxicStep::Fate(ConnectionEnd::Reset) } else { ToxicStep::Wait(due) }
    }

    fn slicer(&mut self, slicer: Slicer, now: u64) -> ToxicStep {
        if self.queue.is_empty() {
            return ToxicStep::Idle;
        }
        if self.busy_until > now {
            return ToxicStep::Wait(self.busy_until);
        }
        let (average, variation) = (slicer.average_size.taken(), slicer.size_variation.taken());
        if average == 0 {
            return self.emit();
        }
        let swing = (self.draw() * 2.0 - 1.0) * variation as f64;
        let size = to_usize(whole((average as f64 + swing).round().max(1.0)));
        self.busy_until = now + slicer.delay.taken() * US;
        self.emit_part(size)
    }

    fn limit_data(&mut self, limit: LimitData) -> ToxicStep {
        let left = usize::try_from(limit.bytes.whole().saturating_sub(self.passed)).unwrap_or(usize::MAX);
        let Some(front) = self.queue.front() else { return ToxicStep::Idle };
        let at = front.at;
        if !matches!(front.what, ToxicAction::Data(_)) {
            return self.emit();
        }
        if left == 0 {
            let dropped = self.queue.drain(..).map(|item| item.bytes()).sum();
            self.queue.push_back(Item { at, what: ToxicAction::End(StreamEnd::Close) });
            return ToxicStep::Dropped(dropped);
        }
        let step = self.emit_part(left);
        if let ToxicStep::Emit(item) = &step {
            self.passed += item.bytes() as u64;
        }
        if self.passed >= limit.bytes.whole() && self.queue.is_empty() {
            self.queue.push_back(Item { at, what: ToxicAction::End(StreamEnd::Close) });
        }
        step
    }

    /// Waits until the first bytes can be classified. Replaces a greeting with addresses by the server's id alone.
    fn plain_greeting(&mut self) -> ToxicStep {
        if self.greeted {
            return self.emit();
        }
        let ended = self.join_data();
        let Some(Item { what: ToxicAction::Data(data), .. }) = self.queue.front_mut() else { return self.emit() };
        match greeting::read(data) {
            Greeting::Torn if !ended => ToxicStep::Idle,
            Greeting::Torn | Greeting::Other => {
                self.greeted = true;
                self.emit()
            }
            Greeting::Named { bytes, server } => {
                self.greeted = true;
                let plain = server.to_be_bytes();
                data.splice(..bytes, plain);
                ToxicStep::Dropped(bytes - plain.len())
            }
        }
    }

    /// Joins all queued data into one item. True if an end is queued behind it.
    fn join_data(&mut self) -> bool {
        while let Some(Item { what: ToxicAction::Data(more), .. }) = self.queue.get_mut(1) {
            let more = std::mem::take(more);
            self.queue.remove(1);
            if let Some(Item { what: ToxicAction::Data(first), .. }) = self.queue.front_mut() {
                first.extend(more);
            }
        }
        self.queue.len() > 1
    }

    /// Emits at most `bytes` of the first item.
    fn emit_part(&mut self, bytes: usize) -> ToxicStep {
        self.due = None;
        if let Some(Item { at, what: ToxicAction::Data(data) }) = self.queue.front_mut()
            && data.len() > bytes
        {
            let rest = data.split_off(bytes);
            let part = Item { at: *at, what: ToxicAction::Data(std::mem::replace(data, rest)) };
            return ToxicStep::Emit(part);
        }
        self.emit()
    }

    /// [0, 1)
    fn draw(&mut self) -> f64 {
        self.random = self.random.wrapping_add(1);
        unit(mix(self.random))
    }
}

impl Item {
    pub(super) fn bytes(&self) -> usize {
        match &self.what {
            ToxicAction::Data(data) => data.len(),
            ToxicAction::End(_) => 0,
        }
    }
}
