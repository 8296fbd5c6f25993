//! All toxics of one direction of one connection, in the order of their addition, and the items ready for writing.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::active_toxic::{ActiveToxic, ConnectionEnd, Item, ToxicStep};
use super::toxic::{Stream, Toxic, ToxicKind};

/// Limits of bytes and items that wait in one direction of one connection while toxics act on it.
const BYTES_MAX: usize = 1 << 20;
const ITEMS_MAX: usize = 1024;

/// The toxics of a proxy, as its connections see them.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    pub(super) up: Vec<Arc<Toxic>>,
    pub(super) down: Vec<Arc<Toxic>>,
    /// Toxics that act before the upstream connection exists, in neither direction.
    pub(super) before: Vec<Arc<Toxic>>,
    /// Toxics that act when data is read, before it is queued in either direction.
    pub(super) reading: Vec<Arc<Toxic>>,
}

impl Chain {
    pub(super) fn way(&self, stream: Stream) -> &[Arc<Toxic>] {
        match stream {
            Stream::Upstream => &self.up,
            Stream::Downstream => &self.down,
        }
    }

    /// Whether a hold in either direction prevents every connection.
    pub(super) fn holds_all(&self) -> bool {
        self.up.iter().chain(&self.down).any(|toxic| matches!(toxic.kind, ToxicKind::Hold(_)) && toxic.toxicity >= 1.0)
    }

    /// Time for which this connection may retry to reach its upstream.
    pub(super) fn patience(&self, connection: u64, seed: u64) -> Duration {
        let all = self.before.iter().filter(|toxic| toxic.hits(connection, seed));
        let patience = all.map(|toxic| match toxic.kind {
            ToxicKind::AwaitUpstream(after) => Duration::from_millis(after.timeout.taken()),
            _ => Duration::ZERO,
        });
        patience.max().unwrap_or_default()
    }

    /// Whether a hold in either direction prevents this connection.
    pub(super) fn holds(&self, connection: u64, seed: u64) -> bool {
        self.up
            .iter()
            .chain(&self.down)
            .any(|toxic| matches!(toxic.kind, ToxicKind::Hold(_)) && toxic.hits(connection, seed))
    }
}

pub(super) struct Pipeline {
    connection: u64,
    seed: u64,
    active: Vec<ActiveToxic>,
    ready: VecDeque<Item>,
}

/// Result of a turn.
#[derive(Debug, Default)]
pub(super) struct PipelineStep {
    /// When the next item is due, if any waits for its time.
    pub(super) wake: Option<u64>,
    pub(super) dropped: usize,
    pub(super) fate: Option<ConnectionEnd>,
}

impl Pipeline {
    pub(super) fn new(connection: u64, seed: u64) -> Self {
        Self { connection, seed, active: Vec::new(), ready: VecDeque::new() }
    }

    /// Adopts a changed chain. Err: a removed toxic closes the connection.
    pub(super) fn adopt(&mut self, toxics: &[Arc<Toxic>], now: u64) -> Result<(), ConnectionEnd> {
        let mut old = std::mem::take(&mut self.active);
        let mut fate = Ok(());
        while let Some(mut gone) =
            old.iter().rposition(|s| toxics.iter().all(|t| t.serial != s.toxic.serial)).map(|at| (at, old.remove(at)))
        {
            if gone.1.hits && matches!(gone.1.toxic.kind, ToxicKind::Timeout(_)) {
                fate = Err(ConnectionEnd::Close);
            }
            // Items queued in a removed toxic follow directly after those queued in front of it.
            let next = old.get_mut(gone.0).map_or(&mut self.ready, |active| &mut active.queue);
            next.append(&mut gone.1.queue);
        }
        for toxic in toxics {
            let known = old.iter().position(|active| active.toxic.serial == toxic.serial);
            self.active.push(match known.map(|at| old.remove(at)) {
                None => ActiveToxic::new(Arc::clone(toxic), self.connection, self.seed, now),
                Some(mut known) => {
                    if !Arc::ptr_eq(&known.toxic, toxic) {
                        known.update(Arc::clone(toxic), self.connection, self.seed);
                    }
                    known
                }
            });
        }
        fate
    }

    /// Whether a hold stops all items.
    pub(super) fn held(&self) -> bool {
        self.active.iter().any(|active| active.hits && matches!(active.toxic.kind, ToxicKind::Hold(_)))
    }

    /// No toxics and no queued items: bytes can be written directly.
    pub(super) fn is_clear(&self) -> bool {
        self.active.is_empty() && self.ready.is_empty()
    }

    /// Whether more may be read. Without toxics, only once everything read has been written.
    pub(super) fn has_room(&self) -> bool {
        if self.active.is_empty() {
            return self.ready.is_empty();
        }
        let (items, bytes) = self.waiting();
        items < ITEMS_MAX && bytes < BYTES_MAX
    }

    /// Bytes queued here.
    pub(super) fn bytes(&self) -> usize {
        self.waiting().1
    }

    fn waiting(&self) -> (usize, usize) {
        let queues = self.active.iter().map(|active| &active.queue).chain([&self.ready]);
        queues.flatten().fold((0, 0), |(items, bytes), item| (items + 1, bytes + item.bytes()))
    }

    pub(super) fn push(&mut self, item: Item) {
        self.active.first_mut().map_or(&mut self.ready, |active| &mut active.queue).push_back(item);
    }

    /// Moves all items that are due.
    pub(super) fn turn(&mut self, now: u64) -> PipelineStep {
        let mut turn = PipelineStep::default();
        for at in 0..self.active.len() {
            let (before, after) = self.active.split_at_mut(at + 1);
            let Some(active) = before.last_mut() else { break };
            let next = after.first_mut().map_or(&mut self.ready, |active| &mut active.queue);
            while next.len() < ITEMS_MAX {
                match active.step(now) {
                    ToxicStep::Emit(item) => next.push_back(item),
                    ToxicStep::Dropped(bytes) => turn.dropped += bytes,
                    ToxicStep::Wait(until) => {
                        turn.wake = Some(turn.wake.map_or(until, |wake| wake.min(until)));
                        break;
                    }
                    ToxicStep::Idle => break,
                    ToxicStep::Fate(fate) => {
                        turn.fate = Some(fate);
                        return turn;
                    }
                }
            }
        }
        turn
    }

    pub(super) fn ready(&mut self) -> &mut VecDeque<Item> {
        &mut self.ready
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::proxy::active_toxic::{StreamEnd, ToxicAction};
    use crate::proxy::greeting::tests::greeting;

    const MS: u64 = 1_000_000;

    fn toxic(serial: u64, body: &str) -> Arc<Toxic> {
        Arc::new(Toxic::create(body.as_bytes(), serial).unwrap())
    }

    fn data(bytes: &[u8], at: u64) -> Item {
        Item { at, what: ToxicAction::Data(bytes.to_vec()) }
    }

    /// All output until `until`, as pieces with their output times.
    fn drain(pipeline: &mut Pipeline, mut now: u64, until: u64) -> Vec<(u64, ToxicAction)> {
        let mut out = Vec::new();
        while now <= until {
            let turn = pipeline.turn(now);
            let before = out.len();
            out.extend(pipeline.ready().drain(..).map(|item| (now, item.what)));
            match turn.wake {
                Some(wake) => now = wake.max(now + 1),
                None if out.len() == before => break,
                None => {}
            }
        }
        out
    }

    fn check(toxics: &[&str], items: Vec<Item>) -> Vec<(u64, ToxicAction)> {
        let mut pipeline = Pipeline::new(1, 0);
        let chain: Vec<_> = (1..).zip(toxics).map(|(serial, body)| toxic(serial, body)).collect();
        pipeline.adopt(&chain, 0).unwrap();
        items.into_iter().for_each(|item| pipeline.push(item));
        drain(&mut pipeline, 0, u64::MAX / 2)
    }

    fn bytes(out: &[(u64, ToxicAction)]) -> Vec<u8> {
        let data =
            out.iter().filter_map(|(_, what)| if let ToxicAction::Data(data) = what { Some(data) } else { None });
        data.flatten().copied().collect()
    }

    #[test]
    fn latency_lets_each_item_go_when_it_is_due_and_never_out_of_order() {
        let latency = r#"{"type":"latency","attributes":{"latency":50,"jitter":40}}"#;
        let out = check(&[latency], (0..20).map(|n| data(&[n], u64::from(n) * MS)).collect());
        assert_eq!(bytes(&out), (0..20).collect::<Vec<_>>());
        for (n, (at, _)) in (0..).zip(&out) {
            assert!((n * MS + 10 * MS..=19 * MS + 90 * MS).contains(at), "{n}: {at}");
        }
    }

    #[test]
    fn bandwidth_takes_as_long_as_the_line_would() {
        let out = check(&[r#"{"type":"bandwidth","attributes":{"rate":10}}"#], vec![data(&[7; 5_000], 0)]);
        assert_eq!(out.iter().map(|(at, _)| at / MS).collect::<Vec<_>>(), [100, 200, 300, 400, 500]);
    }

    #[test]
    fn a_bandwidth_of_nothing_holds_all_and_loses_nothing() {
        let mut pipeline = Pipeline::new(1, 0);
        pipeline.adopt(&[toxic(1, r#"{"type":"bandwidth","attributes":{"rate":0}}"#)], 0).unwrap();
        pipeline.push(data(b"held", 0));
        assert_eq!(drain(&mut pipeline, 0, 10_000 * MS), []);
        pipeline.adopt(&[], 10_000 * MS).unwrap();
        assert_eq!(bytes(&drain(&mut pipeline, 10_000 * MS, 10_001 * MS)), b"held");
    }

    #[test]
    fn delays_behind_each_other_add_up() {
        let of = |ms: u64| format!(r#"{{"type":"latency","attributes":{{"latency":{ms}}}}}"#);
        let chain = [of(100), of(100), of(300)];
        let chain: Vec<&str> = chain.iter().map(String::as_str).collect();
        let out = check(&chain, vec![data(b"a", 0), data(b"b", 50 * MS)]);
        assert_eq!(out.iter().map(|(at, _)| at / MS).collect::<Vec<_>>(), [500, 550]);
    }

    #[test]
    fn slices_are_of_the_asked_size_and_apart() {
        let slicer = r#"{"type":"slicer","attributes":{"average_size":10,"size_variation":3,"delay":500}}"#;
        let out = check(&[slicer], vec![data(&[1; 200], 0)]);
        let sizes = out.iter().map(|(_, what)| if let ToxicAction::Data(data) = what { data.len() } else { 0 });
        assert!(sizes.take(out.len() - 1).all(|size| (7..=13).contains(&size)), "{out:?}");
        assert!(out.windows(2).all(|pair| pair[1].0 - pair[0].0 >= 500_000));
    }

    #[test]
    fn limit_data_closes_right_after_its_last_byte() {
        let limit = r#"{"type":"limit_data","attributes":{"bytes":5}}"#;
        for items in [vec![data(b"1234567", 0)], vec![data(b"123", 0), data(b"45", 0)], vec![data(b"12345", 0)]] {
            let out = check(&[limit], items);
            assert_eq!(bytes(&out), b"12345");
            assert_eq!(out.last().map(|(_, what)| what), Some(&ToxicAction::End(StreamEnd::Close)));
        }
        let out = check(&[r#"{"type":"limit_data"}"#], vec![data(b"1", 0)]);
        assert_eq!(out.into_iter().map(|(_, what)| what).collect::<Vec<_>>(), [ToxicAction::End(StreamEnd::Close)]);
    }

    #[test]
    fn a_timeout_closes_when_it_is_over_or_removed() {
        let mut pipeline = Pipeline::new(1, 0);
        let timeout = toxic(1, r#"{"type":"timeout","attributes":{"timeout":5}}"#);
        pipeline.adopt(&[timeout], 0).unwrap();
        pipeline.push(data(b"lost", 0));
        let turn = pipeline.turn(MS);
        assert_eq!((turn.dropped, turn.wake, turn.fate), (4, Some(5 * MS), None));
        assert_eq!(pipeline.turn(5 * MS).fate, Some(ConnectionEnd::Close));
        assert_eq!(pipeline.adopt(&[], 0), Err(ConnectionEnd::Close));
    }

    /// All output of a plain greeting for this input, cut in two at `cut`, followed by the end of the connection.
    fn greeted(sent: &[u8], cut: usize) -> Vec<u8> {
        let end = Item { at: 2, what: ToxicAction::End(StreamEnd::Eof) };
        let out = check(&[r#"{"type":"plain_greeting"}"#], vec![data(&sent[..cut], 0), data(&sent[cut..], 1), end]);
        assert_eq!(out.last().map(|(_, what)| what), Some(&ToxicAction::End(StreamEnd::Eof)));
        bytes(&out)
    }

    #[test]
    fn a_greeting_loses_its_address_wherever_it_is_cut_and_nothing_else_changes() {
        let named = greeting(-65_536, 2, 15, "127.0.0.1:23888");
        let sent = [&named[..], b"votes"].concat();
        let plain = [&2_i64.to_be_bytes()[..], b"votes"].concat();
        for cut in 0..=sent.len() {
            assert_eq!(greeted(&sent, cut), plain, "cut at {cut}");
        }
        for other in [&plain, &greeting(-65_534, 2, 15, "127.0.0.1:23888"), &named[..30].to_vec(), &Vec::new()] {
            for cut in 0..=other.len() {
                assert_eq!(greeted(other, cut), *other, "cut at {cut}");
            }
        }
    }

    #[test]
    fn a_greeting_waits_to_be_whole_is_counted_and_comes_once() {
        let named = greeting(-65_535, 5, 15, "127.0.0.1:23888");
        let mut pipeline = Pipeline::new(1, 0);
        pipeline.adopt(&[toxic(1, r#"{"type":"plain_greeting"}"#)], 0).unwrap();
        for byte in &named[..named.len() - 1] {
            pipeline.push(data(&[*byte], 0));
            assert_eq!(drain(&mut pipeline, 0, 0), []);
        }
        pipeline.push(data(&named[named.len() - 1..], 0));
        assert_eq!(pipeline.turn(0).dropped, named.len() - 8);
        pipeline.push(data(&named, 0));
        assert_eq!(bytes(&drain(&mut pipeline, 0, 0)), [&5_i64.to_be_bytes()[..], &named].concat());
    }

    proptest! {
        /// Toxics that drop nothing lose no data, even if chains change while data is in transit.
        #[test]
        fn changing_chains_keep_every_byte_in_order(
            steps in prop::collection::vec((0_u8..64, prop::collection::vec(any::<u8>(), 0..400), 0_u64..50), 1..30),
        ) {
            let bodies = [
                r#"{"type":"latency","attributes":{"latency":20,"jitter":20}}"#,
                r#"{"type":"bandwidth","attributes":{"rate":5}}"#,
                r#"{"type":"slicer","attributes":{"average_size":9,"size_variation":8,"delay":300}}"#,
                r#"{"type":"slow_close","attributes":{"delay":9}}"#,
                r#"{"type":"latency","toxicity":0.5,"attributes":{"latency":3}}"#,
                r#"{"type":"plain_greeting"}"#,
            ];
            let all: Vec<_> = (1..).zip(bodies).map(|(serial, body)| toxic(serial, body)).collect();
            let mut pipeline = Pipeline::new(1, 0);
            let (mut now, mut sent, mut out) = (0, Vec::new(), Vec::new());
            for (mask, chunk, wait) in steps {
                let chosen = all.iter().enumerate().filter(|(at, _)| mask & (1 << at) != 0);
                let chain: Vec<_> = chosen.map(|(_, toxic)| Arc::clone(toxic)).collect();
                pipeline.adopt(&chain, now).unwrap();
                pipeline.push(data(&chunk, now));
                sent.extend(chunk);
                out.extend(drain(&mut pipeline, now, now + wait * MS));
                now += wait * MS;
            }
            pipeline.push(Item { at: now, what: ToxicAction::End(StreamEnd::Eof) });
            out.extend(drain(&mut pipeline, now, u64::MAX / 2));
            prop_assert_eq!(bytes(&out), sent);
            prop_assert_eq!(out.last().map(|(_, what)| what), Some(&ToxicAction::End(StreamEnd::Eof)));
            prop_assert_eq!(pipeline.bytes(), 0);
        }
    }
}
