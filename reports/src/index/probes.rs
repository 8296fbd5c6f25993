//! The probes' writes: when the ensemble acknowledged none, whichever server they went through.

use crate::stats::spans::Span;
use hustings_record::{CellRecord, Event, Nanos};

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
    /// None: the record does not say, the probes did not end in order.
    pub acknowledged: Option<u64>,
    /// In order of time.
    pub gaps: Vec<WriteGap>,
}

impl Probes {
    /// None: no probe wrote in this cell.
    pub(super) fn new(cell: &CellRecord) -> Option<Self> {
        let mut began: Option<(Nanos, Nanos)> = None;
        let (mut acknowledged, mut gaps) = (None, Vec::new());
        for (_, event) in cell.events() {
            match event {
                Event::WriteProbe { t, every_ns } => {
                    let before = began.unwrap_or((*t, *every_ns));
                    began = Some((before.0.min(*t), before.1.max(*every_ns)));
                }
                Event::WriteGap { from, to, ended } => gaps.push(WriteGap { from: *from, to: *to, ended: *ended }),
                Event::WriteProbed { acknowledged: n, .. } => {
                    acknowledged = Some(acknowledged.unwrap_or(0_u64).saturating_add(*n));
                }
                _ => {}
            }
        }
        gaps.sort_by_key(|g| (g.from, g.to));
        began.map(|(began, every)| Self { began, every, acknowledged, gaps })
    }

    /// The longest of all.
    #[must_use]
    pub fn longest(&self) -> Option<&WriteGap> {
        self.gaps.iter().max_by_key(|g| (g.length(), g.ended))
    }

    /// The longest that shares a moment with `window`.
    #[must_use]
    pub fn longest_within(&self, window: Span) -> Option<&WriteGap> {
        let met = self.gaps.iter().filter(|g| g.from <= window.1 && g.to >= window.0);
        met.max_by_key(|g| (g.length(), g.ended))
    }
}
