//! The servers of the ensemble as they were watched: spells of one state each, with the brackets of their beginnings, the
//! absences that they make up, and what the servers' own logs say.

use std::collections::BTreeMap;

use super::elections::{Election, Lull, elections};
use crate::record::{CellInfo, CellRecord, Event, Nanos, ServerLine, ServerMetrics, ServerState};
use crate::stats::spans::{Span, touches, union, within};

/// How far a log's time of day, put on the common clock, may be from a poll's.
pub const LOG_SLACK_NS: Nanos = 50_000_000;

/// A time in which a server was seen in one state.
#[derive(Clone, Copy, Debug)]
pub struct Spell {
    pub state: ServerState,
    /// What it said it had processed when this state was first seen.
    pub zxid: Option<i64>,
    pub began: Span,
    /// The end of the watch where it lasted until then.
    pub ended: Span,
}

impl Spell {
    /// Whether the server took its part in the quorum.
    #[must_use]
    pub fn serves(&self) -> bool {
        matches!(self.state, ServerState::Leading | ServerState::Following | ServerState::Standalone)
    }

    /// When it was in this state for certain.
    #[must_use]
    pub fn certain(&self) -> Option<Span> {
        (self.began.1 < self.ended.0).then_some((self.began.1, self.ended.0))
    }

    /// The epoch of its last zxid.
    #[must_use]
    pub fn epoch(&self) -> Option<u64> {
        self.zxid.map(|zxid| zxid as u64 >> 32)
    }
}

/// A time in which a server did not serve, whatever kept it.
#[derive(Clone, Copy, Debug)]
pub struct Absence {
    pub began: Span,
    /// None: it was still away when the watch ended.
    pub ended: Option<Span>,
    /// When it first said that it does not serve.
    pub looking: Option<Span>,
    /// How long it said so for certain.
    pub said_ns: Nanos,
    /// Nobody had seen it serve before.
    pub first: bool,
}

#[derive(Default)]
pub struct Server<'a> {
    /// In order of time.
    pub spells: Vec<Spell>,
    pub absences: Vec<Absence>,
    /// Lines of its log, in order of time.
    pub log: Vec<(Nanos, &'a ServerLine)>,
    /// The longest time from one look at it to the next.
    pub longest_gap: Nanos,
}

impl Server<'_> {
    /// The server's lines from `from` to `to`, both included.
    pub fn lines(&self, from: Nanos, to: Nanos) -> impl DoubleEndedIterator<Item = &(Nanos, &ServerLine)> {
        let first = self.log.partition_point(|l| l.0 < from);
        let last = self.log.partition_point(|l| l.0 <= to);
        self.log[first..last.max(first)].iter()
    }

    /// When it certainly was in `state`, and might have been, at `t`.
    #[must_use]
    pub fn certainly(&self, state: ServerState, t: Nanos) -> bool {
        self.spells.iter().any(|s| s.state == state && s.certain().is_some_and(|c| c.0 <= t && t <= c.1))
    }
}

/// A new leader counts every session's time anew. It does so a little before it says that it serves: only its log tells when.
#[derive(Clone, Copy, Debug)]
pub struct Restart {
    /// As far as is known: the time in its log, or else the last look that found it not serving.
    pub at: Nanos,
    /// For certain not before this.
    pub earliest: Nanos,
}

/// `mntr` of all servers that answered, at one time.
pub type Snapshot<'a> = (Nanos, &'a BTreeMap<u32, ServerMetrics>);

#[derive(Default)]
pub struct Servers<'a> {
    pub all: BTreeMap<u32, Server<'a>>,
    /// The stated resolution, and when the watch began. None: nobody watched.
    pub watch: Option<(Nanos, Nanos)>,
    pub until: Nanos,
    /// In order of time.
    pub elections: Vec<Election>,
    /// Times in which the quorum was not seen to be served, and that no election ended.
    pub lulls: Vec<Lull>,
    /// When no quorum may have been served: sorted and disjoint.
    pub outages: Vec<Span>,
    /// The counters at the beginning and at the end of the measured window.
    pub begin: Option<Snapshot<'a>>,
    pub end: Option<Snapshot<'a>>,
}

impl<'a> Servers<'a> {
    pub(super) fn new(cell: &'a CellRecord, info: &CellInfo) -> Self {
        let mut servers = Self::default();
        let mut seen: BTreeMap<u32, Vec<(Span, ServerState, Option<i64>)>> = BTreeMap::new();
        for (_, event) in cell.events() {
            match event {
                Event::ServerWatch { t, every_ns } => servers.watch = servers.watch.or(Some((*t, *every_ns))),
                Event::ServerState { from, to, server, state, zxid } => {
                    seen.entry(*server).or_default().push(((*from, *to), *state, *zxid));
                    servers.until = servers.until.max(*to);
                }
                Event::ServerWatched { t, server, longest_gap_ns, .. } => {
                    servers.until = servers.until.max(*t);
                    let gap = &mut servers.all.entry(*server).or_default().longest_gap;
                    *gap = (*gap).max(*longest_gap_ns);
                }
                Event::ServerLog { t, server, line } => {
                    servers.all.entry(*server).or_default().log.push((*t, line));
                }
                Event::Servers { t, at, metrics } => match at.as_str() {
                    "begin" if servers.begin.is_none_or(|b| *t < b.0) => servers.begin = Some((*t, metrics)),
                    "end" if servers.end.is_none_or(|e| *t > e.0) => servers.end = Some((*t, metrics)),
                    _ => {}
                },
                _ => {}
            }
        }
        for (server, mut states) in seen {
            states.sort_by_key(|s| (s.0.1, s.0.0));
            let server = servers.all.entry(server).or_default();
            server.spells = spells(&states, servers.until);
            server.absences = absences(&server.spells);
        }
        servers.all.values_mut().for_each(|s| s.log.sort_by_key(|l| l.0));
        let (elections, lulls) = elections(&servers.all, info.servers, servers.until);
        let away = elections.iter().map(|e| (e.lost.0, e.ended.map_or(servers.until, |e| e.1)));
        servers.outages = union(away.chain(lulls.iter().map(|l| l.0)).collect());
        (servers.elections, servers.lulls) = (elections, lulls);
        servers
    }

    /// Whether this cell's servers were watched at all.
    #[must_use]
    pub fn watched(&self) -> bool {
        self.watch.is_some() || self.all.values().any(|s| !s.spells.is_empty())
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

    /// When new leaders gave every session a full T.
    pub fn restarts(&self) -> impl Iterator<Item = Restart> {
        self.elections.iter().filter_map(|election| {
            let role = election.roles.get(&election.winner?)?;
            let seen = role.back?.0;
            Some(match role.supported {
                Some(logged) => Restart { at: logged.min(seen), earliest: logged.min(seen) },
                None => Restart { at: seen, earliest: role.left.0.min(seen) },
            })
        })
    }

    /// Who certainly led at `t`.
    #[must_use]
    pub fn leader_at(&self, t: Nanos) -> Option<u32> {
        self.all.iter().find(|(_, s)| s.certainly(ServerState::Leading, t)).map(|(&id, _)| id)
    }
}

/// One spell a state; a leader with a new epoch has been elected anew, whatever was missed in between.
fn spells(states: &[(Span, ServerState, Option<i64>)], until: Nanos) -> Vec<Spell> {
    let mut spells: Vec<Spell> = Vec::with_capacity(states.len());
    for &(began, state, zxid) in states {
        let next = Spell { state, zxid, began, ended: (until, until) };
        if let Some(last) = spells.last_mut() {
            let anew = state == ServerState::Leading && last.epoch() != next.epoch();
            if last.state == state && !anew {
                continue;
            }
            last.ended = began;
        }
        spells.push(next);
    }
    spells
}

fn absences(spells: &[Spell]) -> Vec<Absence> {
    let mut absences: Vec<Absence> = Vec::new();
    let mut away = false;
    for (place, spell) in spells.iter().enumerate() {
        if spell.serves() {
            if let Some(last) = absences.last_mut().filter(|_| away) {
                last.ended = Some(spell.began);
            }
            away = false;
            continue;
        }
        if !away {
            let first = place == 0;
            absences.push(Absence { began: spell.began, ended: None, looking: None, said_ns: 0, first });
            away = true;
        }
        if let Some(absence) = absences.last_mut().filter(|_| spell.state == ServerState::NotServing) {
            absence.looking.get_or_insert(spell.began);
            absence.said_ns += spell.certain().map_or(0, |c| c.1 - c.0);
        }
    }
    absences
}
