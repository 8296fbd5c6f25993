//! One server of the ensemble as observed: spells of one state each, with the brackets of their beginnings, the
//! absences that they form, and its own log.

use crate::stats::spans::Span;
use hustings_record::{Nanos, ServerLine, ServerState};

/// Limit on the difference between a log's time of day, put on the common clock, and a poll's time.
pub const LOG_SLACK_NS: Nanos = 50_000_000;

/// A span in which a server was observed in one state.
#[derive(Clone, Copy, Debug)]
pub struct ServerStateSpan {
    pub state: ServerState,
    /// The zxid that it reported when this state was first observed.
    pub zxid: Option<i64>,
    pub began: Span,
    /// The end of the watch if it lasted until then.
    pub ended: Span,
}

impl ServerStateSpan {
    /// Whether the server was part of the quorum.
    #[must_use]
    pub fn serves(&self) -> bool {
        matches!(self.state, ServerState::Leading | ServerState::Following | ServerState::Standalone)
    }

    /// Whether it led the ensemble, which a single server does alone.
    #[must_use]
    pub fn leads(&self) -> bool {
        matches!(self.state, ServerState::Leading | ServerState::Standalone)
    }

    /// When it was in this state for certain.
    #[must_use]
    pub fn certain(&self) -> Option<Span> {
        (self.began.1 < self.ended.0).then_some((self.began.1, self.ended.0))
    }

    /// The epoch of its last zxid.
    #[must_use]
    pub fn epoch(&self) -> Option<u64> {
        self.zxid.map(|zxid| zxid.cast_unsigned() >> 32)
    }
}

/// A span in which a server did not serve, for any reason.
#[derive(Clone, Copy, Debug)]
pub struct UnavailableSpan {
    pub began: Span,
    /// None: it was still away when the watch ended.
    pub ended: Option<Span>,
    /// When it first reported that it does not serve.
    pub looking: Option<Span>,
    /// How long it certainly reported that.
    pub said_ns: Nanos,
    /// It was not observed to serve before.
    pub first: bool,
}

#[derive(Default)]
pub struct ServerHistory<'a> {
    /// In order of time.
    pub state_spans: Vec<ServerStateSpan>,
    pub absences: Vec<UnavailableSpan>,
    /// Lines of its log, in order of time.
    pub log: Vec<(Nanos, &'a ServerLine)>,
    /// The longest time from one sample to the next.
    pub longest_gap: Nanos,
    /// How many samples are recorded one by one, and the longest time between two of them.
    pub looked: Option<(u64, Nanos)>,
    /// Total number of samples.
    pub looks: Option<u64>,
}

impl ServerHistory<'_> {
    /// The server's lines from `from` to `to`, both included.
    pub fn lines(&self, from: Nanos, to: Nanos) -> impl DoubleEndedIterator<Item = &(Nanos, &ServerLine)> {
        let first = self.log.partition_point(|l| l.0 < from);
        let last = self.log.partition_point(|l| l.0 <= to);
        self.log[first..last.max(first)].iter()
    }

    /// Whether it is the only server of its ensemble.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.state_spans.iter().any(|s| s.state == ServerState::Standalone)
    }

    /// Whether it certainly was in `state` at `t`.
    #[must_use]
    pub fn certainly(&self, state: ServerState, t: Nanos) -> bool {
        self.state_spans.iter().any(|s| s.state == state && s.certain().is_some_and(|c| c.0 <= t && t <= c.1))
    }
}

/// One spell per state. A leader with a new epoch has been elected again, whatever was missed in between.
pub(super) fn state_spans(states: &[(Span, ServerState, Option<i64>)], until: Nanos) -> Vec<ServerStateSpan> {
    let mut state_spans: Vec<ServerStateSpan> = Vec::with_capacity(states.len());
    for &(began, state, zxid) in states {
        let next = ServerStateSpan { state, zxid, began, ended: (until, until) };
        if let Some(last) = state_spans.last_mut() {
            let anew = state == ServerState::Leading && last.epoch() != next.epoch();
            if last.state == state && !anew {
                continue;
            }
            last.ended = began;
        }
        state_spans.push(next);
    }
    state_spans
}

pub(super) fn absences(state_spans: &[ServerStateSpan]) -> Vec<UnavailableSpan> {
    let mut absences: Vec<UnavailableSpan> = Vec::new();
    let mut away = false;
    for (place, state_span) in state_spans.iter().enumerate() {
        if state_span.serves() {
            if let Some(last) = absences.last_mut().filter(|_| away) {
                last.ended = Some(state_span.began);
            }
            away = false;
            continue;
        }
        if !away {
            let first = place == 0;
            absences.push(UnavailableSpan { began: state_span.began, ended: None, looking: None, said_ns: 0, first });
            away = true;
        }
        if let Some(absence) = absences.last_mut().filter(|_| state_span.state == ServerState::NotServing) {
            absence.looking.get_or_insert(state_span.began);
            absence.said_ns += state_span.certain().map_or(0, |c| c.1 - c.0);
        }
    }
    absences
}
