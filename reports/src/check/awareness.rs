//! How long a leader may believe after it lost ownership: as long as it could not know, and a moment longer.

use super::tolerance::Tolerance;
use crate::index::{Index, Stall, Term};
use crate::stats::spans::{Span, union, without};
use hustings_record::{Event, Nanos, SessionState, StepDown};

/// From its notification until its belief ends, with tolerance for a busy machine.
const ACTS_NS: Nanos = 500_000_000;
/// The same for a client that detects the end of its session itself, or during a server fault.
const FINDS_OUT_NS: Nanos = 1_000_000_000;

pub(super) struct AwarenessJudge<'i, 'a> {
    index: &'i Index<'a>,
    tolerance: Tolerance<'i, 'a>,
}

/// Parts of a belief in which its holder could have known that it did not own leadership.
pub(super) struct AwareSpans<'i> {
    pub(super) longest: Span,
    /// The stall that explains all of them, if one does.
    pub(super) stall: Option<&'i Stall>,
}

impl<'i, 'a> AwarenessJudge<'i, 'a> {
    pub(super) fn of(index: &'i Index<'a>) -> Self {
        Self { index, tolerance: Tolerance::of(index) }
    }

    /// Within `span` the holder of the term believed and did not own.
    pub(super) fn aware(&self, term: &Term<'_>, span: Span) -> Option<AwareSpans<'i>> {
        // The tolerance is fixed at the start of `span`: later faults must not extend it.
        let notified = ACTS_NS + self.tolerance.notified((span.0, span.0)) + self.index.polls();
        let mut unaware = vec![(span.0, span.0 + notified)];
        unaware.extend(self.deaf(term, span).map(|(from, to)| (from, to.saturating_add(notified))));
        unaware.extend(self.disconnected(term, span).into_iter().map(|(from, to)| (from, to.saturating_add(notified))));
        unaware.extend(self.severed(term, span).map(|at| (span.0, at + notified)));
        // Servers that are hit, or have no quorum, notify no client. A fault after the time it should know explains
        // nothing.
        let knows_by =
            union(unaware.clone()).iter().find(|excused| span.0 <= excused.1).map_or(span.0, |first| first.1);
        let hit = self.index.servers_hit_within((span.0, knows_by));
        unaware.extend(hit.then(|| (span.0, span.0 + self.expiry() + FINDS_OUT_NS)));
        let longest =
            |unaware: &[Span]| without(span, &union(unaware.to_vec())).into_iter().max_by_key(|left| left.1 - left.0);
        let left = longest(&unaware)?;
        let stalls: Vec<&Stall> =
            self.index.lives.stalls_in(&[term.host], span).filter(|stall| stall.own > 0).collect();
        // A long stall delays what would have notified it. Short ones delay it by no more than they last.
        let limit = self.index.stall_limit();
        let long = stalls.iter().filter(|stall| stall.own > limit);
        unaware.extend(long.map(|stall| (stall.from, stall.to.saturating_add(notified))));
        let short: Nanos = stalls.iter().filter(|stall| stall.own <= limit).map(|stall| stall.own).sum();
        let explained = longest(&unaware).is_none_or(|left| left.1 - left.0 <= short);
        let stall = stalls.into_iter().max_by_key(|stall| stall.own).filter(|_| explained);
        Some(AwareSpans { longest: left, stall })
    }

    /// Faults that withhold notifications from it, each from its order until it is over.
    fn deaf(&self, term: &Term<'_>, span: Span) -> impl Iterator<Item = Span> {
        let faults = self.index.faults.on_cand_in(term.cand, span);
        let deaf = faults.filter(move |fault| fault.kind.facts().suppresses_watch_events && fault.acts_in(span));
        deaf.map(|fault| (fault.active.0, fault.over()))
    }

    /// Times without a connection, each limited by how long its policy lets it believe. A client that reconnects, or
    /// knows that its session has ended, knows of the loss.
    fn disconnected(&self, term: &Term<'_>, span: Span) -> Vec<Span> {
        let states = self.index.candidates.states.get(&term.session).map_or(&[][..], Vec::as_slice);
        let lost = states.iter().enumerate().filter(|(_, state)| state.1 == SessionState::Disconnected);
        let believes = self.believes_on();
        let spans = lost.map(|(place, &(at, _))| {
            let knows = states[place + 1..].iter().find(|state| state.1 != SessionState::Disconnected);
            (at, knows.map_or(Nanos::MAX, |state| state.0).min(at.saturating_add(believes)))
        });
        spans.filter(|lost| lost.0 <= span.1).collect()
    }

    /// How long belief lasts after a lost connection; without a declared policy, until the session has ended.
    fn believes_on(&self) -> Nanos {
        let index = self.index;
        let policy = index.info.step_down.unwrap_or(StepDown::OnExpiry);
        policy.delay_ns(index.timeout_or_asked() / 1_000_000).unwrap_or(self.expiry() + FINDS_OUT_NS - ACTS_NS)
    }

    fn expiry(&self) -> Nanos {
        3 * self.index.timeout_or_asked() / 2
    }

    /// When its connection was cut, which a server had kept after the session's end.
    fn severed(&self, term: &Term<'_>, span: Span) -> impl Iterator<Item = Nanos> {
        let (session, until) = (term.session, span.1);
        self.index.few.iter().filter_map(move |(_, event)| match event {
            Event::Severed { t, session: of, .. } if *of == session && *t <= until => Some(*t),
            _ => None,
        })
    }
}
