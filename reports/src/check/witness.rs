//! Do the candidates' reports agree with the traffic on their links? Timeouts, znodes with czxids, and wake-ups are
//! compared by session: as decoded from connections, and as reported by candidates.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::section::Section;
use super::words::moment;
use crate::index::Index;
use hustings_record::{Event, EvidenceSource, Nanos, WatchEvent};

/// A candidate must report a notification within this time, as long as it runs and is enrolled.
const SAYS_WITHIN_NS: Nanos = 1_000_000_000;
/// Limit per kind of disagreements listed individually.
const LISTED_MAX: usize = 5;

/// What was seen on the links, compared with what candidates say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Witness {
    /// Sessions that both tell of; those that only one does.
    pub sessions: u64,
    pub sessions_unseen: u64,
    pub sessions_untold: u64,
    /// The same of znodes, by name and czxid.
    pub nodes: u64,
    pub nodes_unseen: u64,
    pub nodes_untold: u64,
    /// The same of what watches told.
    pub woken: u64,
    pub woken_unseen: u64,
    pub woken_untold: u64,
    /// What was told to those who had no more time to say so: their session, their process or their stand ended just then.
    pub woken_at_the_end: u64,
    /// Things that passed and were not written down.
    pub lost: u64,
}

/// One side's data on one session.
#[derive(Debug, Default)]
struct SessionEvidence {
    timeout_ms: Option<u64>,
    /// Names and czxids.
    nodes: BTreeSet<(String, i64)>,
    /// Names of znodes whose creation was not observed, but which a list showed.
    listed: BTreeSet<String>,
    /// Notification times, by znode and event.
    woken: BTreeMap<(String, &'static str), Vec<Nanos>>,
    /// Candidates that had it.
    cands: BTreeSet<u32>,
}

type WitnessSessions = BTreeMap<i64, SessionEvidence>;

impl Section for Witness {
    const NAME: &'static str = "witness";
    const ABOUT: &'static str = "Does what candidates say of themselves agree with what passed on their links?";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Wire, EvidenceSource::Report];

    fn applies(index: &Index<'_>) -> bool {
        index.info.parameters.get("witness").is_some_and(|witness| witness == "true")
    }

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::<Self>::default();
        let (seen, told) = (sessions(index, false), sessions(index, true));
        if seen.is_empty() {
            finding.inconclusive("nothing was read off the links".to_owned());
        }
        let mut judge = WitnessJudge { index, section: Witness::default(), odd: BTreeMap::new() };
        for (_, event) in &index.few {
            if let Event::Unwitnessed { lost, unsound, .. } = event {
                judge.section.lost += lost + unsound;
            }
        }
        let nothing = SessionEvidence::default();
        for session in seen.keys().chain(told.keys()).collect::<BTreeSet<_>>() {
            judge.session(*session, seen.get(session), told.get(session), &nothing);
        }
        let WitnessJudge { section, odd, .. } = judge;
        for texts in odd.into_values() {
            let more = texts.len().saturating_sub(LISTED_MAX);
            for text in texts.into_iter().take(LISTED_MAX) {
                // The missing item may be among the lost ones.
                if section.lost > 0 { finding.inconclusive(text) } else { finding.fail(text) }
            }
            if more > 0 {
                finding.note(format!("and {more} more like these"));
            }
        }
        if section.lost > 0 {
            finding.inconclusive(format!("{} things passed and were not written down", section.lost));
        }
        let w = &section;
        finding.headline(format!(
            "{} sessions, {} znodes and {} wake-ups as they were told; unseen {}, {}, {}; untold {}, {}, {}; {} told too late to be \
             said",
            w.sessions,
            w.nodes,
            w.woken,
            w.sessions_unseen,
            w.nodes_unseen,
            w.woken_unseen,
            w.sessions_untold,
            w.nodes_untold,
            w.woken_untold,
            w.woken_at_the_end,
        ));
        finding.section = section;
        finding
    }
}

/// Sessions by one side: hosts (`told`), or links.
fn sessions(index: &Index<'_>, told: bool) -> WitnessSessions {
    let mut sessions = WitnessSessions::new();
    for segment in index.cell.segments.iter().filter(|segment| segment.host.is_some() == told) {
        for event in &segment.events {
            take(&mut sessions, event);
        }
    }
    sessions
}

fn take(sessions: &mut WitnessSessions, event: &Event) {
    match event {
        Event::Session { session, timeout_ms, .. } => {
            sessions.entry(*session).or_default().timeout_ms = Some(*timeout_ms);
        }
        Event::Incarnation { cand, session, .. } => _ = sessions.entry(*session).or_default().cands.insert(*cand),
        Event::Created { session, node, czxid, .. } | Event::Grant { session, node, czxid, .. } => {
            sessions.entry(*session).or_default().nodes.insert((node.clone(), *czxid));
        }
        Event::Joined { session, node: Some(node), czxid: Some(czxid), .. } => {
            sessions.entry(*session).or_default().nodes.insert((node.clone(), *czxid));
        }
        Event::Joined { session, node: Some(node), czxid: None, .. } => {
            sessions.entry(*session).or_default().listed.insert(node.clone());
        }
        Event::Notified { t, session, node, kind, .. } => {
            if let Some(what) = happened(*kind) {
                sessions.entry(*session).or_default().woken.entry((node.clone(), what)).or_default().push(*t);
            }
        }
        _ => {}
    }
}

/// The event of a watch; None for the watch's own end, which passes on no link.
fn happened(kind: WatchEvent) -> Option<&'static str> {
    match kind {
        WatchEvent::Created => Some("the creation"),
        WatchEvent::Deleted => Some("the deletion"),
        WatchEvent::DataChanged => Some("a change"),
        WatchEvent::ChildrenChanged => Some("a change of the children"),
        WatchEvent::Ended(_) => None,
    }
}

struct WitnessJudge<'a, 'i> {
    index: &'a Index<'i>,
    section: Witness,
    odd: BTreeMap<&'static str, Vec<String>>,
}

impl WitnessJudge<'_, '_> {
    fn session(
        &mut self,
        session: i64,
        seen: Option<&SessionEvidence>,
        told: Option<&SessionEvidence>,
        nothing: &SessionEvidence,
    ) {
        let name = format!("session {session:#x}");
        let section = &mut self.section;
        match (seen.and_then(|evidence| evidence.timeout_ms), told.and_then(|evidence| evidence.timeout_ms)) {
            (Some(seen), Some(told)) if seen == told => section.sessions += 1,
            (Some(seen), Some(told)) => {
                section.sessions_unseen += 1;
                self.add(
                    "timeouts",
                    format!("{name} was granted {seen} ms by what passed, and {told} ms by its candidate's word"),
                );
            }
            (None, Some(_)) => {
                section.sessions_unseen += 1;
                self.add("unseen sessions", format!("{name} is told of, and never passed"));
            }
            // The client was cut off, or killed, before it could report it.
            (Some(_), None) => section.sessions_untold += 1,
            (None, None) => {}
        }
        let is_untold = told.is_none_or(|evidence| evidence.timeout_ms.is_none());
        let (seen, told) = (seen.unwrap_or(nothing), told.unwrap_or(nothing));
        self.section.nodes += seen.nodes.intersection(&told.nodes).count() as u64;
        for (node, czxid) in told.nodes.difference(&seen.nodes).filter(|told| !seen.listed.contains(&told.0)) {
            self.section.nodes_unseen += 1;
            self.add(
                "unseen znodes",
                format!("{name}: {node} with czxid {czxid:#x} is told of, and its making never passed"),
            );
        }
        // A candidate that ended, or was cut off, after the response did not report it.
        self.section.nodes_untold += seen.nodes.difference(&told.nodes).count() as u64;
        if !is_untold {
            self.woken(&name, session, seen, told);
        }
    }

    /// Wake-ups: each reported one passed, and each that passed is reported, unless the candidate had no time for it.
    fn woken(&mut self, name: &str, session: i64, seen: &SessionEvidence, told: &SessionEvidence) {
        for key in seen.woken.keys().chain(told.woken.keys()).collect::<BTreeSet<_>>() {
            let none = Vec::new();
            let (passed, said) = (seen.woken.get(key).unwrap_or(&none), told.woken.get(key).unwrap_or(&none));
            // Each candidate of a shared session reports a notification that passes once.
            let shared = told.cands.len().max(1);
            let due = said.len().div_ceil(shared);
            self.section.woken += due.min(passed.len()) as u64;
            if due > passed.len() {
                self.section.woken_unseen += (due - passed.len()) as u64;
                self.add("unseen wake-ups", format!("{name}: {} of {} is told, and never passed", key.1, key.0));
            }
            // The first ones were reported.
            for &t in passed.iter().skip(due) {
                if self.had_time(session, t, &told.cands) {
                    self.section.woken_untold += 1;
                    let when = moment(self.index, t);
                    self.add(
                        "untold wake-ups",
                        format!("{name}: {} of {} passed at {when}, and nobody says so", key.1, key.0),
                    );
                } else {
                    self.section.woken_at_the_end += 1;
                }
            }
        }
    }

    /// Whether a candidate of this session ran and was enrolled long enough after `t` to report a notification.
    fn had_time(&self, session: i64, t: Nanos, cands: &BTreeSet<u32>) -> bool {
        let index = self.index;
        let until = t.saturating_add(SAYS_WITHIN_NS);
        let stands = |cand: &u32| {
            let stands = index.candidates.stands.get(cand).map_or(&[][..], Vec::as_slice);
            stands.iter().any(|stand| stand.session == session && stand.from <= t && until <= stand.to)
        };
        let host = index.candidates.sessions.get(&session).copied();
        let calm = host.is_some_and(|host| {
            let stopped = index.faults.stops_of(host).iter().any(|stop| stop.0 <= until && t <= stop.1);
            !stopped && index.lives.stalls_in(&[host], (t, until)).next().is_none()
        });
        let ended = index.candidates.ended_at(session).is_some_and(|at| at <= until);
        calm && !ended && cands.iter().any(stands)
    }

    fn add(&mut self, kind: &'static str, text: String) {
        self.odd.entry(kind).or_default().push(text);
    }
}
