//! A rule that an external program broke, and whether stalls kept it from following it.

use crate::index::Index;
use crate::stats::spans::{Span, total, within};
use hustings_record::numbers::nanos;
use hustings_record::{Misbehaviour, Nanos};

/// A rule that a program broke.
pub(super) struct BrokenRule {
    pub(super) t: Nanos,
    /// The name of its host.
    pub(super) host: String,
    pub(super) cand: Option<u32>,
    pub(super) what: Misbehaviour,
    pub(super) text: String,
    /// For how long stalls kept it from following the rule, if they may be why it did not.
    pub(super) kept: Option<Nanos>,
}

/// Stalls that hold up the closing of a session take more than this share of the time since the order, unless one is over T/10.
const HELD_UP_SHARE: Nanos = 10;

/// For how long stalls kept a program from doing in time what it had to since `span` began, if they may be why it did not: its own
/// waits for a processor, stalls of the process beside it, and of those that its sessions depend on. Without them, more than T/10 of
/// the time that the protocol gives has to be missing. A program that ends before that may have given up closing a session that
/// stalls held up, one of over T/10 or many for over T/10 and a tenth of the time: no program can wait for that as long as it takes.
pub(super) fn kept_from_it(index: &Index<'_>, host: Option<u16>, what: Misbehaviour, span: Span) -> Option<Nanos> {
    let hosts: Vec<u16> = host.into_iter().collect();
    let stalls = within(&index.lives.stall_spans(&hosts, span), span);
    let (kept, lasted, limit) = (total(&stalls), span.1.saturating_sub(span.0), index.stall_limit());
    let is_why = match what.time_given() {
        Some(given) => (nanos(given) + kept).saturating_sub(lasted) > limit,
        None if what == Misbehaviour::LeftBehind => {
            stalls.iter().any(|stall| stall.1 - stall.0 > limit) || kept > limit.max(lasted / HELD_UP_SHARE)
        }
        None => false,
    };
    is_why.then_some(kept)
}
