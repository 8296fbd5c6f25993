//! What a record shows of pauses: which sessions they expired, how long the others took to be heard of again, and what a failover
//! takes beside its detection.

use std::collections::BTreeMap;

use serde::Serialize;

use super::curve::PausedSession;
use super::downtime::Failover;
use super::setting::{Client, ExpirySettings};
use crate::check::failover::Failover as Phased;
use crate::check::phases::Phases;
use crate::index::{Fault, Index, plausible};
use crate::stats::Distribution;
use hustings_record::numbers::whole;
use hustings_record::{Event, FaultKind, Nanos, ProcessFate, Record, SessionEnd, SessionState};

/// The clients of candidates take a session for over by themselves after this part of T: by then it is known what became of it.
const KNOWN_AFTER_T: f64 = 7.0 / 5.0;

/// Sessions that met a pause and are in no figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ExcludedSessions {
    /// Nobody proved that the pause began, or that it ended.
    pub unverified: u64,
    /// A process of the harness, or a server, stood still by itself meanwhile.
    pub stalled: u64,
    /// Nobody saw what became of them.
    pub unknown: u64,
}

/// What the runs of a record measured.
#[derive(Clone, Debug, PartialEq)]
pub struct RunMeasurements {
    pub pairs: Vec<PausedSession>,
    pub left: ExcludedSessions,
    /// From the end of a pause until the client had its session again, in milliseconds: the median of those that kept it.
    pub reconnect_ms: Option<f64>,
    /// None: no failover after which both were seen.
    pub failover: Option<Failover>,
    /// From a leader's crash to the next grant.
    pub crashes: Option<Distribution>,
    /// T and tick of the pauses, in milliseconds, each pair once.
    pub settings: Vec<(u64, u64)>,
}

/// A session, as its host tells of it.
struct MeasuredSession {
    host: u16,
    generation: u32,
    since: Nanos,
    timeout_ms: u64,
}

/// What became of a session in a pause.
struct PauseOutcome {
    timeout_ms: u64,
    tick_ms: u64,
    pause_ms: f64,
    /// None: it expired. Else after how long it was heard of again.
    again_ms: Option<f64>,
    injection: u64,
}

/// Reads a record.
#[must_use]
pub fn measured(record: &Record) -> RunMeasurements {
    let (mut met, mut left) = (Vec::new(), ExcludedSessions::default());
    let (mut phases, mut crashes, mut poll_ms) = (Phases::default(), Phases::default(), None);
    for cell in record.cells.iter().filter(|cell| cell.complete && cell.info.has_candidates() && !cell.info.self_test) {
        let (cell, implausible) = plausible(cell);
        let index = Index::new(&cell, implausible);
        let sessions = sessions(&index);
        for fault in index.faults.all.iter().filter(|fault| fault.kind.facts().process == ProcessFate::Stopped) {
            meet(&index, fault, &sessions, &mut met, &mut left);
        }
        phases.absorb(Phases::of(&index));
        if index.info.fault_kind == FaultKind::Crash {
            crashes.absorb(Phases::of(&index));
            poll_ms = Some(index.info.poll_interval_ms as f64);
        }
    }
    let mut again: Vec<f64> = met.iter().filter_map(|met| met.again_ms).collect();
    again.sort_unstable_by(f64::total_cmp);
    let reconnect_ms = again.get(again.len() / 2).copied();
    let setting = |met: &PauseOutcome| {
        // Candidates have the Rust client.
        ExpirySettings::of(Client::Rust, met.timeout_ms as f64, met.tick_ms as f64, reconnect_ms.unwrap_or(0.0))
    };
    let pair = |met: &PauseOutcome| PausedSession {
        setting: setting(met),
        pause_ms: met.pause_ms,
        expired: met.again_ms.is_none(),
        injection: met.injection,
    };
    let mut settings: Vec<(u64, u64)> = met.iter().map(|met| (met.timeout_ms, met.tick_ms)).collect();
    settings.sort_unstable();
    settings.dedup();
    RunMeasurements {
        pairs: met.iter().map(pair).collect(),
        left,
        reconnect_ms,
        failover: failover(&Phased::of(phases), poll_ms),
        crashes: Phased::of(crashes).whole.filter(Distribution::has_samples),
        settings,
    }
}

fn sessions(index: &Index<'_>) -> BTreeMap<i64, MeasuredSession> {
    let told = index.cell.events().filter_map(|(segment, event)| match event {
        Event::Session { t, session, timeout_ms, .. } => {
            let (host, generation) = (segment.host?, segment.generation);
            Some((*session, MeasuredSession { host, generation, since: *t, timeout_ms: *timeout_ms }))
        }
        _ => None,
    });
    told.collect()
}

/// What a pause did to the sessions of the hosts that it hit.
fn meet(
    index: &Index<'_>,
    fault: &Fault<'_>,
    sessions: &BTreeMap<i64, MeasuredSession>,
    met: &mut Vec<PauseOutcome>,
    left: &mut ExcludedSessions,
) {
    let Some(began) = fault.injected.as_ref() else { return };
    let there = sessions.iter().filter(|(id, session)| {
        let before = index.candidates.states.get(id).into_iter().flatten().take_while(|state| state.0 < began.from);
        let connected = before.last().is_none_or(|state| state.1 == SessionState::Connected);
        fault.hosts.contains(&session.host) && session.since < began.from && connected
    });
    for (id, session) in there {
        let ended = fault.healed.as_ref().filter(|ended| began.verified && ended.verified && ended.from > began.from);
        let Some(ended) = ended else {
            left.unverified += 1;
            continue;
        };
        let (from, to) = (began.from, ended.from);
        let limit = session.timeout_ms * 100_000;
        if index.lives.stalls_in(&[], (from, to + limit)).any(|stall| stall.own > limit) {
            left.stalled += 1;
            continue;
        }
        match outcome(index, fault, *id, session, to) {
            None => left.unknown += 1,
            Some(again) => met.push(PauseOutcome {
                timeout_ms: session.timeout_ms,
                tick_ms: index.info.tick_ms,
                pause_ms: (to - from) as f64 / 1e6,
                again_ms: again.map(|at| at.saturating_sub(to) as f64 / 1e6),
                injection: u64::from(index.info.index) << 32 | u64::from(fault.id),
            }),
        }
    }
}

/// When the session was heard of again after a pause that was over at `to`; None: it expired. None at all: nobody saw it.
fn outcome(
    index: &Index<'_>,
    fault: &Fault<'_>,
    id: i64,
    session: &MeasuredSession,
    to: Nanos,
) -> Option<Option<Nanos>> {
    let long = whole(session.timeout_ms as f64 * 1e6 * KNOWN_AFTER_T);
    // What comes after the next fault there is that one's doing.
    let next = index.faults.all.iter().filter(|other| other.t > fault.t && other.hosts.contains(&session.host));
    let until = next.map(|other| other.t).min().unwrap_or(Nanos::MAX).min(index.observed_until());
    let states = index.candidates.states.get(&id).into_iter().flatten();
    let mut after = states.filter(|state| fault.t <= state.0 && state.0 < until).peekable();
    let silent = after.peek().is_none();
    for (at, state) in after {
        match state {
            SessionState::Disconnected => {}
            SessionState::Connected => return Some(Some(*at)),
            SessionState::Ended(SessionEnd::Expired) => return Some(None),
            SessionState::Ended(SessionEnd::Closed | SessionEnd::AuthFailed) => return None,
        }
    }
    // It kept its connection, if its host lived on to tell of anything else.
    let lived =
        index.lives.all.iter().any(|life| {
            life.host == Some(session.host) && life.generation == session.generation && life.last >= to + long
        });
    (silent && lived && until >= to + long).then_some(Some(to))
}

/// What these failovers took beside their detection. Recipes that are told nothing look around every so often instead.
fn failover(phases: &Phased, poll_ms: Option<f64>) -> Option<Failover> {
    let ms = |d: &Distribution| d.mean as f64 / 1e6;
    let act = phases.act.as_ref().filter(|act| act.n > 0)?;
    let decide = phases.decide.as_ref().filter(|decide| decide.has_samples());
    let decide_ms = decide.map(ms).or(poll_ms.map(|poll| poll / 2.0))?;
    Some(Failover { decide_ms, act_ms: ms(act), measured: act.n })
}
