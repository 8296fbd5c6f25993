//! Foreign programs: which took part, how their beliefs are known, and whether they kept to the rules of participation.
//! Other checkers judge their leadership; this one judges their conduct in the protocol.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::broken_rule::{BrokenRule, kept_from_it};
use super::finding::Finding;
use super::program_orders;
use super::section::Section;
use super::words::moment;
use crate::index::Index;
use hustings_record::words::{duration, plural};
use hustings_record::{Event, EvidenceSource, Misbehaviour, Nanos};

/// Limit per kind of violations listed individually.
const LISTED_MAX: usize = 3;

/// What stood on the hosts, where that is no recipe of this program's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Programs {
    /// What they call themselves, with their versions, each once.
    pub names: Vec<String>,
    /// Processes that introduced themselves.
    pub processes: u64,
    /// By whose word beliefs are known: reports, or effect where any of them reports nothing that can be used. None: no recipe of
    /// somebody else's stood here.
    pub belief: Option<EvidenceSource>,
    /// Why reports are not used, each reason once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unused: Vec<String>,
    /// How often rules were broken, by kind.
    pub misbehaved: BTreeMap<String, u64>,
    /// Resident memory and threads of a candidate when every group was led: of all hosts together, by their candidates.
    pub rss_kb_per_candidate: Option<f64>,
    pub threads_per_candidate: Option<f64>,
    /// Sessions under which no candidate took part: nothing was asked under them in an election, or only read beside
    /// the session that owned the candidate's znode. And those of them that were not seen to end.
    #[serde(default)]
    pub sessions_without_candidate: u64,
    #[serde(default)]
    pub sessions_without_candidate_open: u64,
}

impl Section for Programs {
    const NAME: &'static str = "programs";
    const ABOUT: &'static str = "Did external programs keep to the rules by which they take part?";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Process, EvidenceSource::Report];

    fn applies(index: &Index<'_>) -> bool {
        index.few.iter().any(|(_, event)| matches!(event, Event::Program(_) | Event::Misbehaved { .. }))
    }

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::<Self>::default();
        let mut section = introduced(index);
        let mut seen: BTreeMap<Misbehaviour, Vec<String>> = BTreeMap::new();
        for BrokenRule { t, host, cand, what, text, kept } in reported(index).chain(program_orders::broken(index)) {
            let whose = cand.map_or_else(String::new, |cand| format!(", candidate {cand}"));
            let text = format!("{host}{whose}, at {}: {text}", moment(index, t));
            match kept {
                Some(kept) => finding.inconclusive_by_stall(format!(
                    "{what}: {text}; stalls of {} in that time may be why",
                    duration(kept)
                )),
                None => seen.entry(what).or_default().push(text),
            }
        }
        for &host in &index.unread {
            finding.note(format!(
                "{}: not all of its connections could be read; what they show of its candidates is not observed, and counts against nobody",
                index.host_name(host)
            ));
        }
        for (what, texts) in &seen {
            section.misbehaved.insert(what.name().to_owned(), texts.len() as u64);
            texts.iter().take(LISTED_MAX).for_each(|text| finding.fail(format!("{what}: {text}")));
            if texts.len() > LISTED_MAX {
                finding.note(format!("{what}: {} more", texts.len() - LISTED_MAX));
            }
        }
        if section.processes == 0 {
            finding.inconclusive("no program introduced itself".to_owned());
        }
        let unused = sessions_without_candidate(index);
        let open = unused.iter().filter(|session| session.ended.is_none()).count();
        (section.sessions_without_candidate, section.sessions_without_candidate_open) =
            (unused.len() as u64, open as u64);
        if !unused.is_empty() {
            finding.note(listed(index, &unused, open));
        }
        for why in &section.unused {
            finding.note(format!("beliefs are known by effect alone: {why}"));
        }
        let count: usize = seen.values().map(Vec::len).sum();
        let by = section.belief.unwrap_or(EvidenceSource::Effect);
        finding.headline(format!(
            "{}, {}; beliefs by {by}; {}",
            section.names.join(", "),
            plural(section.processes, "process", "processes"),
            plural(count as u64, "rule was broken", "rules were broken"),
        ));
        finding.section = section;
        finding
    }
}

/// A session of a program under which no candidate took part in an election.
struct UnusedSession {
    session: i64,
    host: u16,
    established: Nanos,
    ended: Option<Nanos>,
}

/// In order of time. Of hosts whose connections could not all be decoded, nobody knows.
fn sessions_without_candidate(index: &Index<'_>) -> Vec<UnusedSession> {
    let introduces = |event: &Event| matches!(event, Event::Program(_));
    let programs = index.few.iter().filter(|(_, event)| introduces(event)).filter_map(|(segment, _)| segment.host);
    let hosts: BTreeSet<u16> = programs.filter(|host| !index.unread.contains(host)).collect();
    let took_part: BTreeSet<i64> = index.presence.incarnations.values().flatten().map(|begun| begun.1).collect();
    let unused = index.candidates.established.iter().filter(|(session, _)| !took_part.contains(*session));
    let of_programs = unused.filter_map(|(&session, &established)| {
        let host = *index.candidates.sessions.get(&session)?;
        let ended = index.candidates.ended_at(session);
        hosts.contains(&host).then_some(UnusedSession { session, host, established, ended })
    });
    let mut unused: Vec<UnusedSession> = of_programs.collect();
    unused.sort_by_key(|session| (session.established, session.session));
    unused
}

fn listed(index: &Index<'_>, unused: &[UnusedSession], open: usize) -> String {
    let said = |session: &UnusedSession| {
        let end = session.ended.map_or_else(|| "not seen to end".to_owned(), |t| format!("until {}", moment(index, t)));
        let UnusedSession { session, host, established, .. } = session;
        format!("{session:#x} on {} from {}, {end}", index.host_name(*host), moment(index, *established))
    };
    let some: Vec<String> = unused.iter().take(LISTED_MAX).map(said).collect();
    let more = unused.len() - some.len();
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let count = plural(unused.len() as u64, "session without a candidate", "sessions without a candidate");
    format!("{count} in an election, {open} not seen to end: {}{more}", some.join("; "))
}

/// What the processes beside programs reported of them.
fn reported(index: &Index<'_>) -> impl Iterator<Item = BrokenRule> {
    index.few.iter().filter_map(move |(segment, event)| {
        let Event::Misbehaved { t, cand, since, what, text } = event else { return None };
        let host = segment.host.map_or_else(|| segment.writer.clone(), |host| index.host_name(host));
        let kept = since.and_then(|since| kept_from_it(index, segment.host, *what, (since, *t)));
        Some(BrokenRule { t: *t, host, cand: *cand, what: *what, text: text.clone(), kept })
    })
}

fn introduced(index: &Index<'_>) -> Programs {
    let (mut names, mut unused) = (BTreeSet::new(), BTreeSet::new());
    let mut processes = 0;
    let mut weights: BTreeMap<u16, (u64, Option<u32>, u32)> = BTreeMap::new();
    for (_, event) in &index.few {
        match event {
            Event::Program(program) => {
                processes += 1;
                names.insert(format!("{} {}", program.name, program.version).trim().to_owned());
                unused.extend(program.why.clone());
            }
            Event::HostMemory { host, rss_kb, candidates, threads, .. } => {
                weights.insert(*host, (*rss_kb, *threads, *candidates));
            }
            _ => {}
        }
    }
    let candidates: u64 = weights.values().map(|weight| u64::from(weight.2)).sum();
    let each = |sum: u64| (candidates > 0).then(|| sum as f64 / candidates as f64);
    let threads: Option<u64> = weights.values().map(|weight| weight.1.map(u64::from)).sum();
    Programs {
        names: names.into_iter().collect(),
        processes,
        belief: (processes > 0).then_some(index.belief),
        unused: unused.into_iter().collect(),
        misbehaved: BTreeMap::new(),
        rss_kb_per_candidate: each(weights.values().map(|weight| weight.0).sum()),
        threads_per_candidate: threads.and_then(each),
        ..Programs::default()
    }
}
