//! The ensemble's own elections, from the states of its servers. An election begins when no quorum is observed to be
//! served any more. It ends when one server leads and a majority serves with it. Logs refine the times, where there are
//! any.

use std::collections::BTreeMap;

use super::server::{LOG_SLACK_NS, ServerHistory, ServerStateSpan, UnavailableSpan};
use crate::stats::spans::{Span, union};
use hustings_record::{Nanos, ServerLine, ServerState};

/// An election of a leader by the servers.
#[derive(Clone, Debug)]
pub struct Election {
    /// The previous leader. None: none was observed.
    pub old: Option<u32>,
    /// The quorum ceased to be served between these times; or the first sample of the servers.
    pub lost: Span,
    /// The quorum was served again between these times. None: not by the end of the watch.
    pub ended: Option<Span>,
    pub winner: Option<u32>,
    /// The epoch of the winner's first zxid.
    pub epoch: Option<u64>,
    /// How long no quorum was served: minimum and maximum.
    pub outage: (Nanos, Nanos),
    /// By the server's id: servers that were away, or not there yet.
    pub roles: BTreeMap<u32, Role>,
}

/// The role of one server in an election.
#[derive(Clone, Copy, Debug)]
pub struct Role {
    /// When it ceased to serve; its first sample if it was never observed to serve before.
    pub left: Span,
    /// When it first reported that it does not serve.
    pub looking: Option<Span>,
    /// When it served again.
    pub back: Option<Span>,
    /// Times from its log: it began to look for a leader, had found one, served.
    pub looked: Option<Nanos>,
    pub elected: Option<(Nanos, u64)>,
    /// When a majority followed it, and it began to serve as their leader.
    pub supported: Option<Nanos>,
    pub served: Option<Nanos>,
}

/// The quorum was not observed to be served, but the leader stayed the same: the span, and the minimum duration.
pub type UnservedSpan = (Span, Nanos);

/// Whether a leader and a majority were observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuorumService {
    By(u32),
    Perhaps,
    No,
}

/// Span between two times at which the quorum was served for certain.
struct QuorumGap {
    before: Option<u32>,
    after: Option<u32>,
    span: Span,
    /// The parts in which it was certainly not served.
    none: Vec<Span>,
}

/// All elections, all lulls, and when certainly no quorum was served.
pub(super) fn elections(
    servers: &BTreeMap<u32, ServerHistory<'_>>,
    size: u32,
    until: Nanos,
) -> (Vec<Election>, Vec<UnservedSpan>, Vec<Span>) {
    let (mut elections, mut lulls, mut unserved) = (Vec::new(), Vec::new(), Vec::new());
    for gap in gaps(servers, size, until) {
        unserved.extend(&gap.none);
        // A single server leads without an election.
        if size > 1 && is_election(servers, &gap) {
            elections.push(election(servers, &gap, until));
        } else if gap.before.is_some() {
            let least = gap.none.iter().map(|s| s.1 - s.0).sum();
            lulls.push((gap.span, least));
        }
    }
    (elections, lulls, union(unserved))
}

fn gaps(servers: &BTreeMap<u32, ServerHistory<'_>>, size: u32, until: Nanos) -> Vec<QuorumGap> {
    let state_spans = || servers.values().flat_map(|s| &s.state_spans);
    let mut times: Vec<Nanos> = state_spans().flat_map(|s| [s.began.0, s.began.1]).chain([until]).collect();
    times.sort_unstable();
    times.dedup();
    let mut gaps: Vec<QuorumGap> = Vec::new();
    let (mut before, mut open) = (None, None::<QuorumGap>);
    for pair in times.windows(2) {
        let span = (pair[0], pair[1]);
        match served(servers, size, span) {
            QuorumService::By(leader) => {
                let changed = before.is_some_and(|b| b != leader);
                let none = Vec::new();
                if let Some(gap) = open.take() {
                    gaps.push(QuorumGap { after: Some(leader), span: (gap.span.0, span.0), ..gap });
                } else if changed {
                    gaps.push(QuorumGap { before, after: Some(leader), span: (span.0, span.0), none });
                }
                before = Some(leader);
            }
            state => {
                let gap = open.get_or_insert(QuorumGap { before, after: None, span, none: Vec::new() });
                gap.span.1 = span.1;
                if state == QuorumService::No {
                    gap.none.push(span);
                }
            }
        }
    }
    gaps.extend(open);
    gaps
}

/// The possible states of a server between two neighbouring changes.
struct PossibleStates<'s> {
    id: u32,
    /// Its state for the whole time, if it is certain.
    now: Option<&'s ServerStateSpan>,
    may_lead: Option<&'s ServerStateSpan>,
    may_follow: bool,
}

impl<'s> PossibleStates<'s> {
    fn new(id: u32, state_spans: &'s [ServerStateSpan], span: Span) -> Self {
        let last = state_spans.partition_point(|s| s.began.1 <= span.0);
        let now = last.checked_sub(1).map(|at| &state_spans[at]).filter(|s| s.ended.0 >= span.1);
        let possible = || {
            let later = state_spans[last.saturating_sub(1)..].iter().take_while(|s| s.began.0 < span.1);
            later.filter(|s| s.ended.1 > span.0 && s.serves())
        };
        Self {
            id,
            now,
            // The one with the latest epoch, if there are several.
            may_lead: possible().filter(|s| s.leads()).max_by_key(|s| s.epoch()),
            may_follow: possible().any(|s| !s.leads()),
        }
    }

    fn leads(&self) -> Option<&'s ServerStateSpan> {
        self.now.filter(|s| s.leads())
    }

    fn follows(&self) -> Option<&'s ServerStateSpan> {
        self.now.filter(|s| s.serves() && !s.leads())
    }
}

/// Whether the quorum was served between two neighbouring changes. No server reports which leader it follows. If one
/// server may lead, it is that one; if two may lead, a follower proves nothing for either.
fn served(servers: &BTreeMap<u32, ServerHistory<'_>>, size: u32, span: Span) -> QuorumService {
    let majority = size as usize / 2 + 1;
    let parts: Vec<PossibleStates<'_>> =
        servers.iter().map(|(&id, server)| PossibleStates::new(id, &server.state_spans, span)).collect();
    let newest =
        parts.iter().filter_map(|p| Some((p.leads()?, p.id))).max_by_key(|(s, id)| (s.epoch(), s.began.1, *id));
    if let Some((lead, id)) = newest {
        let rivals: Vec<&ServerStateSpan> = parts.iter().filter(|p| p.id != id).filter_map(|p| p.may_lead).collect();
        let older = |rival: &&ServerStateSpan| rival.epoch().is_some() && rival.epoch() < lead.epoch();
        let with_it = if rivals.is_empty() {
            parts.iter().filter(|p| p.follows().is_some()).count()
        } else if rivals.iter().all(older) {
            since_its_rise(servers, &parts, lead)
        } else {
            0
        };
        if with_it + 1 >= majority {
            return QuorumService::By(id);
        }
    }
    let may_follow = |leader: u32| parts.iter().filter(|p| p.id != leader && p.may_follow).count();
    let perhaps = parts.iter().any(|p| p.may_lead.is_some() && may_follow(p.id) + 1 >= majority);
    if perhaps { QuorumService::Perhaps } else { QuorumService::No }
}

/// Number of certain followers of a leader while a server of an older epoch still reports that it leads. A server
/// reports that it leads only once a majority has acknowledged its epoch, so the quorum was served at its rise. It
/// still is while all possible followers of that time follow without a break. 0 if one may have left: it may have been
/// in the majority.
fn since_its_rise(
    servers: &BTreeMap<u32, ServerHistory<'_>>,
    parts: &[PossibleStates<'_>],
    lead: &ServerStateSpan,
) -> usize {
    let mut with_it = 0;
    for part in parts {
        let at_rise = |s: &ServerStateSpan| s.began.0 <= lead.began.1 && s.ended.1 > lead.began.1;
        let follows = |s: &&ServerStateSpan| s.serves() && s.state != ServerState::Leading && at_rise(s);
        let mut then = servers[&part.id].state_spans.iter().filter(follows);
        match (then.next(), then.next(), part.follows()) {
            (None, ..) => {}
            (Some(then), None, Some(now)) if then.began == now.began => with_it += 1,
            _ => return 0,
        }
    }
    with_it
}

fn is_election(servers: &BTreeMap<u32, ServerHistory<'_>>, gap: &QuorumGap) -> bool {
    let away = |id: &u32| servers.get(id).and_then(|s| absence(s, gap.span));
    let Some(winner) = gap.after else {
        // Not ended by the end of the watch: a server must have reported that it looks for a leader, or be gone.
        return !gap.none.is_empty() && servers.keys().any(|id| away(id).is_some_and(|a| a.looking.is_some()));
    };
    match gap.before {
        None => away(&winner).is_some(),
        Some(old) if old != winner => true,
        // It stayed leader, unless it was observed to have left, or came back with another epoch.
        Some(old) => {
            let epoch = |t: Nanos| leading(&servers[&old], t).and_then(ServerStateSpan::epoch);
            away(&old).is_some_and(|a| a.looking.is_some()) || epoch(gap.span.0) != epoch(gap.span.1)
        }
    }
}

/// The server's spell as leader that lasted until, or began by, `t`.
fn leading<'s>(server: &'s ServerHistory<'_>, t: Nanos) -> Option<&'s ServerStateSpan> {
    let last = server.state_spans.partition_point(|s| s.began.1 <= t);
    server.state_spans[..last].iter().rev().find(|s| s.state == ServerState::Leading)
}

/// The last absence that overlaps this span.
fn absence<'s>(server: &'s ServerHistory<'_>, span: Span) -> Option<&'s UnavailableSpan> {
    server.absences.iter().rev().find(|a| a.began.0 <= span.1 && a.ended.is_none_or(|e| e.1 >= span.0))
}

fn election(servers: &BTreeMap<u32, ServerHistory<'_>>, gap: &QuorumGap, until: Nanos) -> Election {
    let first = gap.none.first().map_or(gap.span.1, |s| s.0);
    let last = gap.none.last().map_or(gap.span.0, |s| s.1);
    let lost = if gap.before.is_some() { (gap.span.0, first) } else { (gap.span.0, gap.span.0) };
    let roles = servers.iter().filter_map(|(&id, server)| Some((id, role(server, absence(server, gap.span)?, until))));
    Election {
        old: gap.before,
        lost,
        ended: gap.after.map(|_| (last.min(gap.span.1), gap.span.1)),
        winner: gap.after,
        epoch: gap.after.and_then(|id| leading(&servers[&id], gap.span.1)).and_then(ServerStateSpan::epoch),
        outage: (gap.none.iter().map(|s| s.1 - s.0).sum(), gap.span.1 - gap.span.0),
        roles: roles.collect(),
    }
}

fn role(server: &ServerHistory<'_>, absence: &UnavailableSpan, until: Nanos) -> Role {
    let from = absence.began.0.saturating_sub(LOG_SLACK_NS);
    let to = absence.ended.map_or(until, |e| e.1) + LOG_SLACK_NS;
    let lines = || server.lines(from, to);
    Role {
        left: absence.began,
        looking: absence.looking,
        back: absence.ended,
        looked: lines().find(|l| *l.1 == ServerLine::Looking).map(|l| l.0),
        elected: lines().rev().find_map(|(t, line)| match line {
            ServerLine::Elected { took_ms, .. } => Some((*t, *took_ms)),
            _ => None,
        }),
        supported: lines().rev().find(|l| *l.1 == ServerLine::Supported).map(|l| l.0),
        served: lines().rev().find(|l| matches!(l.1, ServerLine::Serving { .. })).map(|l| l.0),
    }
}
