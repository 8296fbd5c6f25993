//! The faults' effects on the applications' sessions: connections lost and restored, sessions lost for good, and terms
//! that ended for a lost connection and resumed. The last are the cost of stepping down on a disconnect.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::section::Section;
use super::words::{moment, under_way};
use crate::index::{Ending, Fault, Index};
use crate::stats::spans::Span;
use crate::stats::{Distribution, Samples};
use hustings_record::words::duration;
use hustings_record::{Event, EvidenceSource, Nanos, Phase, RevokeReason, SessionEnd, SessionState};

/// Limit of lost sessions listed individually.
const LISTED_MAX: usize = 8;

/// What became of the candidates' sessions in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsSection {
    /// Those that were there: established before its end, and not over before it began.
    pub established: u64,
    /// Connections lost, and found again under the same session.
    pub disconnected: u64,
    pub reconnected: u64,
    /// Sessions expired or closed with no fault on their own host or candidate.
    pub lost: u64,
    /// Connection lost → found again.
    pub reconnect: Option<Distribution>,
    /// Connections that servers kept, and answered, under sessions that had ended, and that were cut for it.
    pub severed: u64,
    /// Leads given up for a lost connection and taken back in the same incarnation.
    pub interrupted_terms: u64,
}

impl Section for SessionsSection {
    const NAME: &'static str = "sessions";
    const ABOUT: &'static str = "Connections of candidates that were lost and found, and sessions that ended.";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Wire];

    fn applies(index: &Index<'_>) -> bool {
        index.info.has_candidates() && disturbed(index)
    }

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let window = window(index);
        let mut result = Self { established: there(index, window), ..Self::default() };
        let mut reconnect = Samples::default();
        let owners = owners(index);
        let mut told = 0;
        for (&session, states) in &index.candidates.states {
            let mut gone: Option<Nanos> = None;
            for &(t, change) in states.iter().filter(|s| window.0 <= s.0 && s.0 < window.1) {
                match change {
                    SessionState::Disconnected => {
                        result.disconnected += u64::from(gone.is_none());
                        gone.get_or_insert(t);
                    }
                    SessionState::Connected => {
                        if let Some(since) = gone.take() {
                            result.reconnected += 1;
                            reconnect.push(t - since);
                        }
                    }
                    SessionState::Ended(how) => {
                        gone = None;
                        if explained(index, session, owners.get(&session), t) {
                            continue;
                        }
                        result.lost += 1;
                        told += 1;
                        if told <= LISTED_MAX {
                            let host = index.candidates.sessions.get(&session).map(|&host| index.host_name(host));
                            finding.note(format!(
                                "session {session:#x} of {} was lost at {} ({}){}",
                                host.unwrap_or_else(|| "no known host".into()),
                                moment(index, t),
                                ending(how),
                                under_way(index.faults.on_servers_at(t)),
                            ));
                        }
                    }
                }
            }
            if let Some(since) = gone.filter(|_| still_there(index, session)) {
                reconnect.censor(window.1 - since);
            }
        }
        if result.established == 0 {
            finding.inconclusive("no session was there in the measured window: what befell them is not known".into());
        }
        result.severed = severed(index, &mut finding);
        result.reconnect = reconnect.distribution();
        result.interrupted_terms = interrupted(index, window);
        let again = result.reconnect.as_ref().and_then(|d| d.p50).map_or_else(String::new, |p50| {
            let longest = result.reconnect.as_ref().map_or(0, |d| d.max);
            format!(" (p50 {}, longest {})", duration(p50), duration(longest))
        });
        finding.headline(format!(
            "{} sessions: {} connections lost, {} found again{again}; {} sessions lost with no fault on their own host; {} terms \
             interrupted, {} leads changed hands unplanned",
            result.established,
            result.disconnected,
            result.reconnected,
            result.lost,
            result.interrupted_terms,
            index.losses.unplanned.len(),
        ));
        finding.section = result;
        finding
    }
}

/// Reports connections that were cut because a server still answered on them after their sessions' end.
fn severed<S>(index: &Index<'_>, finding: &mut Finding<S>) -> u64 {
    let severed = index.few.iter().filter_map(|(_, event)| {
        let Event::Severed { t, session, answered_ns } = event else { return None };
        Some((*t, *session, *answered_ns))
    });
    let severed: Vec<_> = severed.collect();
    for &(t, session, answered_ns) in severed.iter().take(LISTED_MAX) {
        finding.note(format!(
            "a server still answered session {session:#x} {} after its end; its connection was cut at {}",
            duration(answered_ns),
            moment(index, t),
        ));
    }
    severed.len() as u64
}

/// Whether there is anything to report: a fault on servers, or a connection lost in the measured window.
fn disturbed(index: &Index<'_>) -> bool {
    let window = window(index);
    let lost =
        |&(t, change): &(Nanos, SessionState)| change == SessionState::Disconnected && window.0 <= t && t < window.1;
    index.info.fault_kind.hits_servers()
        || index.faults.on_servers().next().is_some()
        || index.candidates.states.values().flatten().any(lost)
}

/// From the beginning of *measure* to that of *tear-down*: before, candidates enrol, and after, they leave by order.
fn window(index: &Index<'_>) -> Span {
    (index.phases.get(&Phase::Measure).copied().unwrap_or(index.span.0), index.observed_until())
}

fn ending(how: SessionEnd) -> &'static str {
    match how {
        SessionEnd::Expired => "expired",
        SessionEnd::Closed => "closed",
        SessionEnd::AuthFailed => "refused",
    }
}

/// Sessions that existed at some time of `window`.
fn there(index: &Index<'_>, window: Span) -> u64 {
    let sessions = index.cell.events().filter_map(|(_, event)| match event {
        Event::Session { t, session, .. } if *t < window.1 => Some(*session),
        _ => None,
    });
    let is_over = |session: &i64| index.candidates.ended_at(*session).is_some_and(|ended| ended < window.0);
    sessions.filter(|session| !is_over(session)).collect::<std::collections::BTreeSet<_>>().len() as u64
}

/// The candidates of each session, enrolled under it or not.
fn owners(index: &Index<'_>) -> BTreeMap<i64, Vec<u32>> {
    let all = index.presence.incarnations.iter();
    by_session(all.flat_map(|(&cand, begun)| begun.iter().map(move |&(_, session)| (session, cand))))
}

/// The candidates enrolled under each session.
pub(super) fn candidates_of_sessions(index: &Index<'_>) -> BTreeMap<i64, Vec<u32>> {
    let all = index.candidates.stands.iter();
    by_session(all.flat_map(|(&cand, stands)| stands.iter().map(move |stand| (stand.session, cand))))
}

fn by_session(candidates: impl Iterator<Item = (i64, u32)>) -> BTreeMap<i64, Vec<u32>> {
    let mut of: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
    candidates.for_each(|(session, cand)| of.entry(session).or_default().push(cand));
    of
}

/// Whether a fault on the session's own host, or on a candidate under it, accounts for its end. Faults on servers hit neither.
pub(super) fn explained(index: &Index<'_>, session: i64, cands: Option<&Vec<u32>>, at: Nanos) -> bool {
    let under_way = |f: &Fault<'_>| f.explains((at, at));
    let host = index.candidates.sessions.get(&session);
    // A fault on single candidates names their hosts too, but does not affect the others there.
    let whole = index.faults.all.iter().filter(|f| f.kind.hits_hosts());
    let on_host = whole.into_iter().any(|f| host.is_some_and(|h| f.hosts.contains(h)) && under_way(f));
    on_host || cands.into_iter().flatten().any(|&cand| index.faults.on_cand_in(cand, (at, at)).any(under_way))
}

/// Whether no process of the session's host died: an ended process does not reconnect.
fn still_there(index: &Index<'_>, session: i64) -> bool {
    let host = index.candidates.sessions.get(&session).copied();
    !index.lives.all.iter().any(|life| life.host == host && host.is_some() && life.died.is_some())
}

/// Terms ended for a lost connection that the same incarnation resumed without another leader in between.
fn interrupted(index: &Index<'_>, window: Span) -> u64 {
    let mut count = 0;
    for places in index.terms.by_group.values() {
        let terms: Vec<_> = places.iter().map(|&p| &index.terms.all[p]).filter(|t| t.granted.is_some()).collect();
        let again = terms.windows(2).filter(|pair| {
            pair[0].incarnation() == pair[1].incarnation()
                && pair[0].ending == Ending::Revoked(RevokeReason::SteppedDown)
                && window.0 <= pair[0].ended.0
                && pair[0].ended.0 < window.1
        });
        count += again.count() as u64;
    }
    count
}
