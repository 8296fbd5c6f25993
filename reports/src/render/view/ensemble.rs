//! The ensemble's own elections, as tables: who was lost, who won, what the votes said, how long no write was acknowledged
//! and no quorum served; and what the servers' own counters say to that.

use serde::Serialize;

use crate::render::{clean, format};
use crate::summary::{CellSummary, ElectionRole, ServerElection, ServerUnavailable, ServerWatchSection, WriteGap};
use hustings_record::Nanos;

const ELECTIONS_MAX: usize = 50;
const VOTES_MAX: usize = 12;

#[derive(Serialize)]
pub(super) struct EnsembleView {
    about: String,
    /// What the probes wrote.
    writes: String,
    elections: Vec<ElectionLine>,
    left_out: usize,
    /// Faults of which no election came, and the gap in the writes under each.
    without: Vec<String>,
    counters: Vec<Counter>,
}

#[derive(Serialize)]
struct ElectionLine {
    at: String,
    fault: String,
    leader: String,
    epoch: String,
    votes: String,
    /// Whether the votes and the winner disagree.
    wrong: bool,
    writes: String,
    outage: String,
    told: Vec<String>,
    servers: Vec<String>,
}

#[derive(Serialize)]
struct Counter {
    server: u32,
    counter: String,
    polls: String,
    log: String,
}

impl EnsembleView {
    /// None where nobody watched the servers.
    pub(super) fn new(cell: &CellSummary) -> Option<Self> {
        let watch = cell.ensemble.watch.as_ref()?;
        let how = match watch.every_ns {
            Some(0) => "Every state of every server was told as it came, so that times are exact".to_owned(),
            every => format!(
                "Every server was asked for its state again {} after its last answer, {} after its last question at most; \
                 times are brackets between two answers, and refined by the servers' own logs where there are any",
                every.map_or_else(|| "an unknown time".into(), format::duration),
                format::duration(watch.longest_gap_ns),
            ),
        };
        let about = format!(
            "{how}. {}.",
            match watch.lulls {
                0 => "The quorum was never out of sight without an election".into(),
                n => format!(
                    "{} the quorum was out of sight, and the same server led on",
                    format::plural(n, "time", "times")
                ),
            }
        );
        let line = |election| line(cell, watch.from, election);
        Some(Self {
            about,
            writes: writes(watch),
            elections: cell.ensemble.elections.iter().take(ELECTIONS_MAX).map(line).collect(),
            left_out: cell.ensemble.elections.len().saturating_sub(ELECTIONS_MAX),
            without: without_election(cell, watch),
            counters: watch.unavailable.iter().map(counter).collect(),
        })
    }
}

fn line(cell: &CellSummary, since: Nanos, election: &ServerElection) -> ElectionLine {
    let fault = election.fault.and_then(|id| cell.ensemble.watch.as_ref()?.faults.iter().find(|f| f.id == id));
    let name = |server: Option<u32>| server.map_or_else(|| "nobody".into(), |id| format!("server {id}"));
    let votes = match (election.predicted, election.winner) {
        (Some(predicted), Some(winner)) if predicted == winner => "as they elect".into(),
        (Some(predicted), _) => format!("they elect server {predicted}"),
        (None, _) => {
            let why = election.not_predicted.as_deref().unwrap_or("nothing is known of the votes");
            format!("not predicted: {}", clean::short(why, 120))
        }
    };
    let server = |role: &ElectionRole| {
        let wait = |to: Option<(Nanos, Nanos)>| to.map(|to| between(role.left, to));
        let log = role.log_ns.map_or_else(String::new, |ns| format!(", {} by its log", format::duration(ns)));
        let took = role.took_ms.map_or_else(String::new, |ms| format!(", elected in {}", format::setting_ms(ms)));
        let what = if role.leads { "leads" } else { "follows" };
        match wait(role.back) {
            Some(after) => format!("{}: {what} after {after}{log}{took}", role.server),
            None => format!("{}: not back", role.server),
        }
    };
    let votes_told = election.votes.iter().take(VOTES_MAX);
    ElectionLine {
        at: format!("+{}", format::duration(election.lost.1.saturating_sub(since))),
        fault: fault.map_or_else(|| format::NOTHING.into(), |f| format!("{} {}", f.id, f.kind.name())),
        leader: format!("{} → {}", name(election.old), name(election.winner)),
        epoch: election.epoch.map_or_else(|| format::NOTHING.into(), |epoch| epoch.to_string()),
        votes,
        wrong: election.predicted.is_some() && election.predicted != election.winner,
        writes: gap_or_none(election.writes.as_ref(), cell.ensemble.watch.as_ref()),
        outage: range(election.outage),
        told: votes_told.map(|vote| clean::short(vote, 100)).collect(),
        servers: election.roles.iter().map(server).collect(),
    }
}

fn writes(watch: &ServerWatchSection) -> String {
    let Some(writes) = &watch.writes else {
        return "No probe wrote: for how long nothing could be written is not known.".into();
    };
    let counted = writes.acknowledged.map_or_else(
        || "how many were acknowledged is not known".into(),
        |n| format!("{} acknowledged", format::plural(n, "write was", "writes were")),
    );
    format!(
        "Probes wrote through every server, one write after the other, {} after the last was acknowledged: {counted}; {}.",
        format::duration(writes.every_ns),
        match &writes.longest {
            Some(gap) => format!("the longest gap lasted {}", gap_range(gap)),
            None => "there was no gap".into(),
        }
    )
}

fn without_election(cell: &CellSummary, watch: &ServerWatchSection) -> Vec<String> {
    let none = |id: u32| cell.ensemble.elections.iter().all(|e| e.fault != Some(id));
    let faults = watch.faults.iter().filter(|f| f.verified && none(f.id)).take(ELECTIONS_MAX);
    let line = |f: &crate::summary::ServerFault| {
        let ids: Vec<String> = f.servers.iter().take(8).map(u32::to_string).collect();
        let hit = if ids.is_empty() { "all servers".into() } else { format!("server {}", ids.join(", ")) };
        let gap = gap_or_none(f.writes.as_ref(), Some(watch));
        format!(
            "{} {} of {hit}, at +{}: {gap}",
            f.id,
            f.kind.name(),
            format::duration(f.from.saturating_sub(watch.from))
        )
    };
    faults.map(line).collect()
}

/// A dash where nobody wrote.
fn gap_or_none(gap: Option<&WriteGap>, watch: Option<&ServerWatchSection>) -> String {
    match (gap, watch.and_then(|watch| watch.writes.as_ref())) {
        (Some(gap), _) => gap_range(gap),
        (None, Some(_)) => "no gap".into(),
        (None, None) => format::NOTHING.into(),
    }
}

/// How long no write was acknowledged: `2.59 s–2.61 s`, or `at least 3.1 s` where the probes ended first.
pub(crate) fn gap_range(gap: &WriteGap) -> String {
    match gap.most_ns {
        Some(most) => range((gap.least_ns, most)),
        None => format!("at least {}", format::duration(gap.least_ns)),
    }
}

fn counter(server: &ServerUnavailable) -> Counter {
    let nothing = || format::NOTHING.to_owned();
    let why = || server.not_compared.as_deref().map_or_else(nothing, |why| clean::short(why, 120));
    let times = server.times.as_ref();
    Counter {
        server: server.server,
        counter: times.map_or_else(why, |t| {
            format!("{}, {}", format::duration(t.told_ns), format::plural(t.count, "time", "times"))
        }),
        polls: times.map_or_else(nothing, |t| range(t.polls)),
        log: times.and_then(|t| t.log_ns).map_or_else(nothing, format::duration),
    }
}

/// From one bracket to a later one, at least and at most.
fn between(from: (Nanos, Nanos), to: (Nanos, Nanos)) -> String {
    range((to.0.saturating_sub(from.1), to.1.saturating_sub(from.0)))
}

/// `363 ms–377 ms`, or one figure where three digits do not tell them apart.
pub(crate) fn range((least, most): (Nanos, Nanos)) -> String {
    let (least, most) = (format::duration(least), format::duration(most));
    if least == most { least } else { format!("{least}–{most}") }
}

/// The cell's elections in a few words, and what they cost its sessions. None where nobody watched.
pub(crate) fn in_short(cell: &CellSummary) -> Option<String> {
    cell.ensemble.watch.as_ref()?;
    let elections = &cell.ensemble.elections;
    let mut text = format!("{} of the servers", format::plural(elections.len() as u64, "election", "elections"));
    let unwritten = |gap: &WriteGap| format!("no write acknowledged for {}", gap_range(gap));
    if elections.is_empty() {
        let gap = cell.ensemble.watch.as_ref()?.writes.as_ref().and_then(|writes| writes.longest.as_ref());
        text.push_str(&gap.map_or_else(String::new, |gap| format!("; {}", unwritten(gap))));
        return Some(text);
    }
    let winners: Vec<String> =
        elections.iter().take(8).map(|e| e.winner.map_or_else(|| "nobody".into(), |id| id.to_string())).collect();
    let right = elections.iter().filter(|e| e.predicted.is_some() && e.predicted == e.winner).count() as u64;
    text.push_str(&format!(", won by {} ({} of {} as voted)", winners.join(", "), right, elections.len()));
    let gaps = elections.iter().filter_map(|e| e.writes.as_ref());
    let mut longest: Vec<String> =
        gaps.max_by_key(|gap| (gap.least_ns, gap.most_ns)).map(unwritten).into_iter().collect();
    let outage = elections.iter().map(|e| e.outage).max();
    longest.extend(outage.map(|outage| format!("servers say {} without a quorum", range(outage))));
    let several = if elections.len() > 1 { "longest: " } else { "" };
    text.push_str(&format!("; {several}{}", longest.join("; ")));
    if cell.sessions.established > 0 {
        let lost = format!("{} of {} sessions", cell.sessions.lost, format::count(cell.sessions.established));
        let interrupted = format::plural(cell.sessions.interrupted_terms, "term", "terms");
        text.push_str(&format!("; {lost} lost, {interrupted} interrupted"));
    }
    Some(text)
}
