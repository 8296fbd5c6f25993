//! The servers of the ensemble together: their elections, spans without a served quorum, and their counters.

use std::collections::BTreeMap;

use super::control_plane::PlacedEvent;
use super::elections::{Election, UnservedSpan, elections};
use super::server::{ServerHistory, absences, state_spans};
use crate::stats::spans::{Span, touches, union, within};
use hustings_record::numbers::whole;
use hustings_record::{
    CellInfo, Event, Nanos, PAUSE_SLEEP_MS, ServerLine, ServerMetrics, ServerState, WatchCounts, WindowEdge,
};

const MS: Nanos = 1_000_000;

/// A new leader restarts every session's timeout, a little before it reports that it serves. Only its log has that
/// time.
#[derive(Clone, Copy, Debug)]
pub struct Restart {
    /// The best estimate: the time in its log, or else the last sample in which it did not serve.
    pub at: Nanos,
    /// Certainly not before this.
    pub earliest: Nanos,
}

/// A server's pauses between the two snapshots, by its own counter (ZooKeeper: `jvm_pause_time_ms`). Servers that were
/// restarted in between, or that do not count pauses, are left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerPauses {
    /// The sum of all pauses, with the ordinary oversleep of every sleep.
    pub total_ms: f64,
    pub count: u64,
    /// Upper limit of one pause: the longest since the server started, or the sum of all where that is less.
    pub longest_ms: f64,
}

/// A server did not run for about `long`, at some time within this span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerPauseSpan {
    pub within: Span,
    pub long: Nanos,
    /// The part of it in which the server did not run, by its log: it overslept until it wrote the line.
    pub overslept: Span,
}

/// `mntr` of all servers that answered, at one time.
pub type Snapshot<'a> = (Nanos, &'a BTreeMap<u32, ServerMetrics>);

/// The line was logged at the end of a sleep that was to take [`PAUSE_SLEEP_MS`].
fn paused(logged: Nanos, ms: u64, bound: Nanos) -> ServerPauseSpan {
    let slept = ms.saturating_add(PAUSE_SLEEP_MS).saturating_mul(MS);
    let within = (logged.saturating_sub(slept).saturating_sub(bound), logged.saturating_add(bound));
    let long = ms.saturating_mul(MS);
    ServerPauseSpan { within, long, overslept: (logged.saturating_sub(long), logged) }
}

#[derive(Default)]
pub struct Servers<'a> {
    pub all: BTreeMap<u32, ServerHistory<'a>>,
    /// When the watch began, and its stated resolution. None: nobody watched.
    pub watch: Option<(Nanos, Nanos)>,
    pub until: Nanos,
    /// In order of time.
    pub elections: Vec<Election>,
    /// Spans in which the quorum was not observed to be served, and that no election ended.
    pub lulls: Vec<UnservedSpan>,
    /// By how much times of logs may be off, if recorded.
    pub log_bound: Option<Nanos>,
    /// Pauses that servers logged.
    pub paused: Vec<ServerPauseSpan>,
    /// When threads of servers were ready to run and were given no processor: sorted and disjoint.
    pub waits: Vec<Span>,
    /// When servers are known not to have run: these waits, and what they overslept. Sorted and disjoint.
    pub not_running: Vec<Span>,
    /// How the counters contradict the recorded weight of the observer's watches.
    misweighed: Option<String>,
    /// When no quorum may have been served: sorted and disjoint.
    pub outages: Vec<Span>,
    /// When certainly no quorum was served: sorted and disjoint.
    pub unserved: Vec<Span>,
    /// The counters at the beginning and at the end of the measured window.
    pub begin: Option<Snapshot<'a>>,
    pub end: Option<Snapshot<'a>>,
}

impl<'a> Servers<'a> {
    pub(super) fn new(few: &[PlacedEvent<'a>], info: &CellInfo) -> Self {
        let mut servers = Self::default();
        let mut seen: BTreeMap<u32, Vec<(Span, ServerState, Option<i64>)>> = BTreeMap::new();
        let mut logged: Vec<(Nanos, u64)> = Vec::new();
        for &(_, event) in few {
            match event {
                Event::ServerWatch { t, every_ns } => servers.watch = servers.watch.or(Some((*t, *every_ns))),
                Event::ServerState { from, to, server, state, zxid } => {
                    seen.entry(*server).or_default().push(((*from, *to), *state, *zxid));
                    servers.until = servers.until.max(*to);
                }
                Event::ServerWatched { t, server, longest_gap_ns, looks } => {
                    servers.until = servers.until.max(*t);
                    let server = servers.all.entry(*server).or_default();
                    server.longest_gap = server.longest_gap.max(*longest_gap_ns);
                    server.looks = Some(server.looks.unwrap_or(0).saturating_add(*looks));
                }
                Event::ServerLooks { server, looks, .. } => {
                    let looked = &mut servers.all.entry(*server).or_default().looked;
                    let longest = looks.iter().map(|look| look.0).max().unwrap_or(0);
                    let before = looked.unwrap_or_default();
                    *looked = Some((before.0 + looks.len() as u64, before.1.max(longest)));
                }
                Event::ObserverWeight(weight) if !weight.counted.is_empty() => {
                    let said = [Some(weight.per_deletion), weight.per_creation, weight.per_change];
                    let found = WatchCounts::per_change(&weight.counted);
                    if said != found.map(Some) {
                        servers.misweighed = Some(format!(
                            "the observer's watch is said to be counted {said:?} times, and by the counters it is {found:?}"
                        ));
                    }
                }
                Event::ServerWait { from, to, .. } => servers.waits.push((*from, *to)),
                Event::LogClock { bound_ns, .. } => servers.log_bound = servers.log_bound.max(Some(*bound_ns)),
                Event::ServerLog { t, line: ServerLine::Paused { ms }, .. } => logged.push((*t, *ms)),
                Event::ServerLog { t, server, line } => {
                    servers.all.entry(*server).or_default().log.push((*t, line));
                }
                Event::Servers { t, at, metrics } => match at {
                    WindowEdge::Begin if servers.begin.is_none_or(|b| *t < b.0) => servers.begin = Some((*t, metrics)),
                    WindowEdge::End if servers.end.is_none_or(|e| *t > e.0) => servers.end = Some((*t, metrics)),
                    WindowEdge::Begin | WindowEdge::End => {}
                },
                _ => {}
            }
        }
        for (server, mut states) in seen {
            states.sort_by_key(|s| (s.0.1, s.0.0));
            let server = servers.all.entry(server).or_default();
            server.state_spans = state_spans(&states, servers.until);
            server.absences = absences(&server.state_spans);
        }
        servers.waits = union(std::mem::take(&mut servers.waits));
        servers.all.values_mut().for_each(|s| s.log.sort_by_key(|l| l.0));
        servers.paused = logged.into_iter().map(|(t, ms)| paused(t, ms, servers.log_bound.unwrap_or(0))).collect();
        let overslept = servers.paused.iter().map(|paused| paused.overslept);
        servers.not_running = union(servers.waits.iter().copied().chain(overslept).collect());
        if !servers.watched() {
            return servers;
        }
        let (elections, lulls, unserved) = elections(&servers.all, info.servers, servers.until);
        let away = elections.iter().map(|e| (e.lost.0, e.ended.map_or(servers.until, |e| e.1)));
        servers.outages = union(away.chain(lulls.iter().map(|l| l.0)).collect());
        (servers.elections, servers.lulls, servers.unserved) = (elections, lulls, unserved);
        servers
    }

    /// Contradictions between the samples of servers and their number or the longest time between them, and between
    /// counters and the observer's weight.
    pub fn contradictions(&self) -> impl Iterator<Item = String> {
        let looks = self.all.iter().filter_map(|(id, server)| {
            let ((looks, gap), said) = (server.looked?, server.looks?);
            ((looks, gap) != (said, server.longest_gap)).then(|| {
                format!(
                    "{said} looks at server {id} at most {} ns apart are told, and one by one they are {looks} and {gap} ns",
                    server.longest_gap
                )
            })
        });
        looks.chain(self.misweighed.clone())
    }

    /// Whether this cell's servers were watched at all.
    #[must_use]
    pub fn watched(&self) -> bool {
        self.watch.is_some() || self.all.values().any(|s| !s.state_spans.is_empty())
    }

    /// When the quorum may not have been served within `window`.
    #[must_use]
    pub fn outages_within(&self, window: Span) -> Vec<Span> {
        within(&self.outages, window)
    }

    /// Whether the quorum may not have been served at some moment of `window`.
    #[must_use]
    pub fn out_within(&self, window: Span) -> bool {
        touches(&self.outages, window)
    }

    /// When new leaders, or a single server that came back, gave every session a full T.
    pub fn restarts(&self) -> impl Iterator<Item = Restart> {
        let alone = self.all.values().filter(|server| server.is_alone());
        let returns = alone.flat_map(|server| &server.absences).filter(|absence| !absence.first);
        let returns = returns.filter_map(|absence| {
            let seen = absence.ended?.0;
            Some(Restart { at: seen, earliest: absence.began.0.min(seen) })
        });
        let elected = self.elections.iter().filter_map(|election| {
            let role = election.roles.get(&election.winner?)?;
            let (seen, told) = role.back?;
            Some(match role.supported {
                Some(logged) => Restart { at: logged.min(told), earliest: logged.min(seen) },
                None => Restart { at: seen, earliest: role.left.0.min(seen) },
            })
        });
        elected.chain(returns)
    }

    /// The pauses of each server within the measured window, by its own counter.
    #[must_use]
    pub fn pauses(&self) -> BTreeMap<u32, ServerPauses> {
        let (Some((_, begin)), Some((_, end))) = (self.begin, self.end) else { return BTreeMap::new() };
        let of = |server: &u32| {
            let (before, after) = (begin.get(server)?, end.get(server)?);
            if after.get("uptime") < before.get("uptime") {
                return None;
            }
            let gained = |kind: &str| {
                let name = format!("{kind}_jvm_pause_time_ms");
                Some(after.get(&name)? - before.get(&name)?).filter(|gained| *gained >= 0.0)
            };
            let (total_ms, count) = (gained("sum")?, whole(gained("cnt")?));
            let longest_ms = after.get("max_jvm_pause_time_ms")?.min(total_ms);
            Some(ServerPauses { total_ms, count, longest_ms })
        };
        end.keys().filter_map(|server| Some((*server, of(server)?))).collect()
    }

    /// How long a server may have paused in `span`, in one pause.
    #[must_use]
    pub fn may_have_paused(&self, span: Span) -> Nanos {
        let shared = |paused: &ServerPauseSpan| paused.within.1.min(span.1).saturating_sub(paused.within.0.max(span.0));
        self.paused.iter().map(|paused| shared(paused).min(paused.long)).max().unwrap_or(0)
    }

    /// The server that certainly led at `t`.
    #[must_use]
    pub fn leader_at(&self, t: Nanos) -> Option<u32> {
        self.all.iter().find(|(_, s)| s.certainly(ServerState::Leading, t)).map(|(&id, _)| id)
    }
}
