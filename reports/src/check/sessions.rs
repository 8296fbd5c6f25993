//! What the faults cost the applications' sessions: connections lost and found again, sessions lost for good, and leads that
//! were given up for a lost connection and taken back: the price of stepping down on a disconnect.

use std::collections::BTreeMap;

use super::{Finding, moment, time};
use crate::index::{Ending, Index};
use crate::record::{Event, Nanos, PhaseName, Reason, SessionChange};
use crate::stats::Samples;
use crate::stats::spans::Span;
use crate::summary::{CellSummary, Sessions};

/// Lost sessions that are told one by one.
const TOLD_MAX: usize = 8;

/// Whether there is anything to tell: a fault on servers, or a connection lost in the measured window.
pub(super) fn disturbed(index: &Index<'_>) -> bool {
    let window = window(index);
    let lost =
        |&(t, change): &(Nanos, SessionChange)| change == SessionChange::Disconnected && window.0 <= t && t < window.1;
    index.info.fault_kind.hits_servers()
        || index.faults.all.iter().any(|f| f.kind.hits_servers())
        || index.candidates.states.values().flatten().any(lost)
}

pub(super) fn check(index: &Index<'_>, summary: &mut CellSummary) -> Finding {
    let mut finding = Finding::default();
    let window = window(index);
    let mut result = Sessions { established: established(index), ..Sessions::default() };
    let mut reconnect = Samples::default();
    let stood = candidates_of_sessions(index);
    let mut told = 0;
    for (&session, states) in &index.candidates.states {
        let mut gone: Option<Nanos> = None;
        for &(t, change) in states.iter().filter(|s| window.0 <= s.0 && s.0 < window.1) {
            match change {
                SessionChange::Disconnected => {
                    result.disconnected += u64::from(gone.is_none());
                    gone.get_or_insert(t);
                }
                SessionChange::Connected => {
                    if let Some(since) = gone.take() {
                        result.reconnected += 1;
                        reconnect.push(t - since);
                    }
                }
                SessionChange::Expired | SessionChange::Closed | SessionChange::AuthFailed => {
                    gone = None;
                    if explained(index, session, stood.get(&session), t) {
                        continue;
                    }
                    result.lost += 1;
                    told += 1;
                    if told <= TOLD_MAX {
                        let host = index.candidates.sessions.get(&session).map(|&host| index.host_name(host));
                        finding.note(format!(
                            "session {session:#x} of {} was lost at {} ({change:?}){}",
                            host.unwrap_or_else(|| "no known host".into()),
                            moment(index, t),
                            under_way(index, t),
                        ));
                    }
                }
            }
        }
        if let Some(since) = gone.filter(|_| still_there(index, session)) {
            reconnect.censor(window.1 - since);
        }
    }
    result.reconnect = reconnect.distribution();
    result.interrupted_terms = interrupted(index, window);
    let again = result.reconnect.as_ref().and_then(|d| d.p50).map_or_else(String::new, |p50| {
        let longest = result.reconnect.as_ref().map_or(0, |d| d.max);
        format!(" (p50 {}, longest {})", time(p50), time(longest))
    });
    finding.headline(format!(
        "{} sessions: {} connections lost, {} found again{again}; {} sessions lost with no fault on their own host; {} terms \
         interrupted, {} leads changed hands unplanned",
        result.established,
        result.disconnected,
        result.reconnected,
        result.lost,
        result.interrupted_terms,
        summary.handovers.unplanned,
    ));
    summary.sessions = result;
    finding
}

/// From the beginning of *measure* to that of *tear-down*: before, candidates enrol, and after, they leave by order.
fn window(index: &Index<'_>) -> Span {
    (index.phases.get(&PhaseName::Measure).copied().unwrap_or(index.span.0), index.observed_until())
}

fn established(index: &Index<'_>) -> u64 {
    let sessions = index.cell.events().filter_map(|(_, event)| match event {
        Event::Session { session, .. } => Some(*session),
        _ => None,
    });
    sessions.collect::<std::collections::BTreeSet<_>>().len() as u64
}

fn candidates_of_sessions(index: &Index<'_>) -> BTreeMap<i64, Vec<u32>> {
    let mut stood: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
    for (&cand, stands) in &index.candidates.stands {
        for stand in stands {
            stood.entry(stand.session).or_default().push(cand);
        }
    }
    stood
}

/// Whether a fault on the session's own host, or on a candidate under it, accounts for its end. Faults on servers hit neither.
fn explained(index: &Index<'_>, session: i64, stood: Option<&Vec<u32>>, at: Nanos) -> bool {
    let under_way = |f: &crate::index::Fault<'_>| f.t <= at && at <= f.explains_until;
    let host = index.candidates.sessions.get(&session);
    let on_host = index.faults.all.iter().any(|f| host.is_some_and(|h| f.hosts.contains(h)) && under_way(f));
    on_host || stood.into_iter().flatten().any(|&cand| index.faults.of_cand(cand).any(under_way))
}

/// The server fault that was under way, in words.
pub(super) fn under_way(index: &Index<'_>, at: Nanos) -> String {
    let faults = index.faults.all.iter().filter(|f| f.kind.hits_servers() && f.verified());
    let last = faults.filter(|f| f.t <= at && at <= f.explains_until).max_by_key(|f| f.t);
    last.map_or_else(String::new, |fault| {
        let servers: Vec<String> = fault.servers.iter().map(u32::to_string).collect();
        let whom = if servers.is_empty() { String::new() } else { format!(" on server {}", servers.join(", ")) };
        format!("; {} number {}{whom} was under way", fault.kind, fault.id)
    })
}

/// Whether the session's host was not killed: nobody reconnects from the dead.
fn still_there(index: &Index<'_>, session: i64) -> bool {
    let host = index.candidates.sessions.get(&session).copied();
    !index.lives.all.iter().any(|life| life.host == host && host.is_some() && life.died.is_some())
}

/// Leads given up for a lost connection that the same incarnation took back, nobody else having led in between.
fn interrupted(index: &Index<'_>, window: Span) -> u64 {
    let mut count = 0;
    for places in index.terms.by_group.values() {
        let terms: Vec<_> = places.iter().map(|&p| &index.terms.all[p]).filter(|t| t.granted.is_some()).collect();
        let again = terms.windows(2).filter(|pair| {
            pair[0].incarnation() == pair[1].incarnation()
                && pair[0].ending == Ending::Revoked(Reason::SteppedDown)
                && window.0 <= pair[0].ended.0
                && pair[0].ended.0 < window.1
        });
        count += again.count() as u64;
    }
    count
}
