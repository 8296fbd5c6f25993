//! The probes' writes: spans in which the ensemble acknowledged none of them, through any server.

use super::control_plane::PlacedEvent;
use crate::stats::spans::Span;
use hustings_record::{Event, Nanos};

/// No write was acknowledged between two acknowledgements, or until the probes ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteGap {
    pub from: Nanos,
    pub to: Nanos,
    /// The probes ended before a write was acknowledged again.
    pub ended: bool,
}

impl WriteGap {
    fn length(&self) -> Nanos {
        self.to - self.from
    }
}

#[derive(Clone, Debug)]
pub struct Probes {
    pub began: Nanos,
    /// Time from an acknowledgement to the next write.
    pub every: Nanos,
    /// None: not recorded, because the probes did not end in order.
    pub acknowledged: Option<u64>,
    /// In order of time.
    pub gaps: Vec<WriteGap>,
    /// How the acknowledgements contradict the record's other figures, if they do.
    pub contradicted: Option<String>,
}

/// Compares the acknowledgements with their number and the gaps between them. Gaps shorter than eight times the probes'
/// interval are not recorded.
fn contradiction(acks: &[Nanos], gaps: &[WriteGap], said: u64, whole: (Nanos, Nanos, Nanos)) -> Option<String> {
    let (began, until, every) = whole;
    if acks.len() as u64 != said {
        return Some(format!("{said} writes of the probes were acknowledged, and {} times of it are told", acks.len()));
    }
    let times: Vec<Nanos> = [began].into_iter().chain(acks.iter().copied()).chain([until]).collect();
    let lengths = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let longest = lengths.max().filter(|longest| *longest >= 8 * every).unwrap_or(0);
    let told = gaps.iter().map(WriteGap::length).max().unwrap_or(0);
    (longest != told)
        .then(|| format!("the longest gap between the probes' writes is {longest} ns, and {told} ns is told"))
}

impl Probes {
    /// None: no probe wrote in this cell.
    pub(super) fn new(few: &[PlacedEvent<'_>]) -> Option<Self> {
        let mut began: Option<(Nanos, Nanos)> = None;
        let (mut acknowledged, mut gaps, mut acks, mut until) = (None, Vec::new(), Vec::new(), 0);
        for &(_, event) in few {
            match event {
                Event::WriteProbe { t, every_ns } => {
                    let before = began.unwrap_or((*t, *every_ns));
                    began = Some((before.0.min(*t), before.1.max(*every_ns)));
                }
                Event::WriteGap { from, to, ended } => gaps.push(WriteGap { from: *from, to: *to, ended: *ended }),
                Event::WritesAcknowledged { t, then } => {
                    let mut at = *t;
                    acks.push(at);
                    acks.extend(then.iter().map(|gap| {
                        at = at.saturating_add(*gap);
                        at
                    }));
                }
                Event::WriteProbed { t, acknowledged: n } => {
                    until = until.max(*t);
                    acknowledged = Some(acknowledged.unwrap_or(0_u64).saturating_add(*n));
                }
                _ => {}
            }
        }
        gaps.sort_by_key(|g| (g.from, g.to));
        acks.sort_unstable();
        began.map(|(began, every)| {
            let (said, whole) = (acknowledged, (began, until, every));
            let contradicted =
                said.filter(|_| !acks.is_empty()).and_then(|said| contradiction(&acks, &gaps, said, whole));
            Self { began, every, acknowledged, gaps, contradicted }
        })
    }

    /// The longest gap of all.
    #[must_use]
    pub fn longest(&self) -> Option<&WriteGap> {
        self.gaps.iter().max_by_key(|g| (g.length(), g.ended))
    }

    /// The longest gap that overlaps `window`.
    #[must_use]
    pub fn longest_within(&self, window: Span) -> Option<&WriteGap> {
        let met = self.gaps.iter().filter(|g| g.from <= window.1 && g.to >= window.0);
        met.max_by_key(|g| (g.length(), g.ended))
    }
}
