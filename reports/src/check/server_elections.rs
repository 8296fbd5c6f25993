//! Does the ensemble elect whom its votes elect, and for how long could nothing be written? The elections are found from the
//! servers' states alone; their logs tell the votes, and probes whether writes were acknowledged meanwhile.

use super::votes::{Prediction, predict};
use super::{Finding, moment, time, unavailable, write_gaps};
use crate::index::{Election, Fault, Index};
use crate::record::{FaultKind, Nanos};
use crate::summary::{CellSummary, ElectionRole, ServerBar, ServerElection, ServerFault, ServerWatch};

/// Bars of server states that are worth drawing.
const BARS_MAX: usize = 2_000;
/// Points of the curve of groups led.
const LED_MAX: usize = 1_000;
/// How long a leader and its followers may hear nothing of each other where the cell does not say (5 ticks, and 10 s at least).
const DETECTION_MIN_NS: Nanos = 10_000_000_000;
const SYNC_LIMIT: u64 = 5;

pub(super) fn check(index: &Index<'_>, summary: &mut CellSummary) -> Finding {
    let mut finding = Finding::default();
    if !index.servers.watched() {
        finding.headline("the servers were not watched".into());
        finding.inconclusive("nobody watched the servers: whom they elected, and when, is not known".into());
        return finding;
    }
    let seen = index.servers.all.values().filter(|s| !s.spells.is_empty()).count();
    if seen < index.info.servers as usize {
        finding.inconclusive(format!("{seen} of {} servers were ever seen in any state", index.info.servers));
    }
    let all = &index.servers.elections;
    let elections: Vec<ServerElection> = all.iter().map(|e| judge(index, e, &mut finding)).collect();
    let won = || elections.iter().filter(|e| e.winner.is_some());
    let right = won().filter(|e| e.predicted.is_some() && e.predicted == e.winner).count();
    let wrong = won().filter(|e| e.predicted.is_some() && e.predicted != e.winner).count();
    let open = won().filter(|e| e.predicted.is_none()).count();
    if index.info.fault_kind.hits_servers() && !elections.is_empty() && right + wrong == 0 {
        finding.inconclusive("the winner of not a single election could be predicted".into());
    }
    write_gaps::demand(index, &mut finding);
    expected_leader(index, &elections, &mut finding);
    faults_on_leaders(index, &mut finding);
    let unavailable = unavailable::compare(index, &mut finding);
    let compared = unavailable.iter().filter(|u| u.times.is_some()).count();
    let outage = won().map(|e| e.outage).max().map_or_else(
        || "no outage of the quorum".into(),
        |o| format!("servers say {} to {} without a quorum", time(o.0), time(o.1)),
    );
    let writes = elections.iter().filter_map(|e| e.writes).max_by_key(|gap| (gap.least_ns, gap.most_ns));
    let writes = writes.map_or_else(String::new, |gap| format!("no write acknowledged {}; ", write_gaps::words(&gap)));
    for server in &unavailable {
        finding.note(unavailable_line(server));
    }
    finding.headline(format!(
        "{} of the ensemble: {right} won as the votes say, {wrong} otherwise, {open} not predicted; {writes}{outage}; \
         the servers' own counters compared for {compared} of {}",
        if elections.len() == 1 { "1 election".into() } else { format!("{} elections", elections.len()) },
        index.info.servers,
    ));
    summary.watch = Some(watch(index, unavailable, &elections));
    summary.server_states = bars(index);
    summary.elections = elections;
    finding
}

fn judge(index: &Index<'_>, election: &Election, finding: &mut Finding) -> ServerElection {
    let roles = election.roles.iter().map(|(&server, role)| ElectionRole {
        server,
        left: role.left,
        looking: role.looking,
        back: role.back,
        leads: Some(server) == election.winner,
        took_ms: role.elected.map(|e| e.1),
        log_ns: role.looked.zip(role.served).map(|(looked, served)| served.saturating_sub(looked)),
    });
    let fault = fault_of(index, election);
    let mut result = ServerElection {
        fault: fault.map(|f| f.id),
        old: election.old,
        winner: election.winner,
        predicted: None,
        not_predicted: None,
        epoch: election.epoch,
        lost: election.lost,
        ended: election.ended,
        writes: write_gaps::of_election(index, election, fault),
        outage: election.outage,
        roles: roles.collect(),
        votes: Vec::new(),
    };
    let named = format!("election at {}", moment(index, election.lost.1));
    let Some(winner) = election.winner else {
        let text = "the watch ended before anybody had won it";
        finding.inconclusive(format!("{named}: {text}"));
        result.not_predicted = Some(text.into());
        return result;
    };
    let list = |ids: &[u32]| ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" or ");
    let prediction = predict(index, election, winner);
    if let Prediction::Certain(_, cast) | Prediction::Open(_, cast) = &prediction {
        let line = |c: &super::votes::Cast| format!("{}{}", c.vote, if c.certain { "" } else { " (perhaps too late)" });
        result.votes = cast.iter().map(line).collect();
    }
    match &prediction {
        Prediction::Certain(one, _) => result.predicted = Some(*one),
        // Whichever of them was in time, somebody else won.
        Prediction::Open(valid, _) if !valid.contains(&winner) => result.predicted = valid.first().copied(),
        Prediction::Open(valid, _) => result.not_predicted = Some(format!("server {} may have won", list(valid))),
        Prediction::Unknown(why) => result.not_predicted = Some(why.clone()),
    }
    match (result.predicted, &result.not_predicted) {
        (Some(predicted), _) if predicted != winner => finding.fail(format!(
            "{named}: server {winner} won, and the votes elect server {predicted}; votes: {}",
            result.votes.join("; ")
        )),
        (Some(_), _) => finding.note(format!(
            "{named}: server {winner} won, as the votes say: {};{} servers say {} to {} without a quorum",
            result.votes.join("; "),
            result
                .writes
                .map_or_else(String::new, |gap| format!(" no write acknowledged {};", write_gaps::words(&gap))),
            time(election.outage.0),
            time(election.outage.1)
        )),
        (None, why) => finding.note(format!(
            "{named}: server {winner} won, not predicted: {}",
            why.as_deref().unwrap_or("nothing is known of the votes")
        )),
    }
    result
}

fn expected_leader(index: &Index<'_>, elections: &[ServerElection], finding: &mut Finding) {
    let Some(expected) = index.info.expect.server_leader else { return };
    // Before all are dead that are to be started in order, those that are left may elect anybody.
    let before_all_are_dead = |e: &ServerElection| {
        let restarts = index.faults.all.iter().filter(|f| f.kind == FaultKind::ServerRestartAll && f.t <= e.lost.1);
        let dead_at = restarts.filter_map(|f| f.injected.as_ref()).map(|proof| proof.to).max();
        dead_at.is_some_and(|dead| e.ended.is_some_and(|ended| ended.1 <= dead))
    };
    let counted: Vec<&ServerElection> = elections.iter().filter(|e| !before_all_are_dead(e)).collect();
    if counted.is_empty() {
        finding.fail(format!("server {expected} had to be elected, and there was no election"));
    }
    for election in counted.into_iter().filter(|e| e.winner.is_some_and(|winner| winner != expected)) {
        let (winner, at) = (election.winner.unwrap_or_default(), moment(index, election.lost.1));
        finding.fail(format!("election at {at}: server {winner} won, and server {expected} had to"));
    }
}

/// The server fault under way when the quorum was lost: rather one that hit its leader.
fn fault_of<'i, 'a>(index: &'i Index<'a>, election: &Election) -> Option<&'i Fault<'a>> {
    let under_way = |f: &&Fault<'_>| f.t <= election.lost.1 && election.lost.0 <= f.explains_until;
    let faults = index.faults.all.iter().filter(|f| f.kind.hits_servers() && f.verified()).filter(under_way);
    faults.max_by_key(|f| (election.old.is_some_and(|old| f.hits_server(old)), f.t))
}

/// A proven fault on the leader that lasts long enough must show as an election.
fn faults_on_leaders(index: &Index<'_>, finding: &mut Finding) {
    let majority = index.info.servers as usize / 2 + 1;
    for fault in index.faults.all.iter().filter(|f| f.kind.hits_servers() && f.verified()) {
        let Some(proof) = &fault.injected else { continue };
        let led = index.servers.leader_at(fault.t).or_else(|| index.servers.leader_at(proof.from));
        let Some(leader) = led.filter(|&leader| fault.hits_server(leader)) else { continue };
        // Cut off together with a majority it stays what it is.
        if fault.kind == FaultKind::ServerPartition && fault.servers.len() >= majority || index.info.servers < 2 {
            continue;
        }
        let within = |e: &&Election| e.lost.1 >= fault.t && e.lost.0 <= fault.explains_until;
        if index.servers.elections.iter().any(|e| within(&e) && e.old == Some(leader)) {
            continue;
        }
        let named = format!("{} number {} hit server {leader}, which led", fault.kind, fault.id);
        let lasted = fault.active.1.saturating_sub(proof.to);
        match fault.kind {
            FaultKind::ServerKill | FaultKind::ServerRestartAll => {
                finding.fail(format!("harness: {named}, and no election was seen"));
            }
            _ if lasted > detection(index) => {
                finding.inconclusive(format!("{named}, for {}, and it survived: no election was seen", time(lasted)))
            }
            _ => finding.note(format!("{named}, for {} only: it survived", time(lasted))),
        }
    }
}

/// How long it takes at most until a leader and its followers part that hear nothing of each other.
fn detection(index: &Index<'_>) -> Nanos {
    let told = index.info.extra.get("sync_limit").and_then(|ticks| ticks.parse::<u64>().ok());
    let limit = told.map_or_else(|| DETECTION_MIN_NS.max(SYNC_LIMIT * index.tick), |n| n.min(1 << 20) * index.tick);
    limit + 2 * index.tick
}

fn unavailable_line(server: &crate::summary::ServerUnavailable) -> String {
    let name = format!("server {}", server.server);
    match (&server.times, &server.not_compared) {
        (Some(t), _) => {
            let log = t.log_ns.map_or_else(String::new, |ns| format!(", {} by its log", time(ns)));
            format!(
                "{name} was unavailable for {} by its own counter ({} times), {} to {} by the polls{log}; told apart from \
                 {} on",
                time(t.told_ns),
                t.count,
                time(t.polls.0),
                time(t.polls.1),
                time(t.count.max(1) * unavailable::TELLING_NS),
            )
        }
        (None, why) => format!("{name}: its counter is not compared: {}", why.as_deref().unwrap_or("it told nothing")),
    }
}

fn watch(
    index: &Index<'_>,
    unavailable: Vec<crate::summary::ServerUnavailable>,
    elections: &[ServerElection],
) -> ServerWatch {
    let servers = &index.servers;
    let first = servers.all.values().filter_map(|s| s.spells.first()).map(|s| s.began.0).min();
    let from = servers.watch.map(|w| w.0).or(first).unwrap_or(index.span.0);
    let faults = index.faults.all.iter().filter(|f| f.kind.hits_servers()).map(|f| ServerFault {
        id: f.id,
        kind: f.kind,
        servers: f.servers.to_vec(),
        from: f.injected.as_ref().map_or(f.t, |p| p.from),
        to: f.active.1,
        verified: f.verified(),
        writes: write_gaps::of_fault(index, f).filter(|_| elections.iter().all(|e| e.fault != Some(f.id))),
    });
    ServerWatch {
        from,
        to: servers.until.max(from),
        every_ns: servers.watch.map(|w| w.1),
        longest_gap_ns: servers.all.values().map(|s| s.longest_gap).max().unwrap_or(0),
        lulls: servers.lulls.len() as u64,
        faults: faults.collect(),
        led: led(index),
        unavailable,
        writes: write_gaps::probes(index),
    }
}

fn bars(index: &Index<'_>) -> Vec<ServerBar> {
    let spells = index.servers.all.iter().flat_map(|(&id, s)| s.spells.iter().map(move |spell| (id, spell)));
    // Drawn from the first look that showed a state to the last one that might have.
    let bar = |(server, s): (u32, &crate::index::Spell)| ServerBar {
        server,
        state: s.state,
        from: s.began.1,
        to: s.ended.1.max(s.began.1),
    };
    spells.map(bar).take(BARS_MAX).collect()
}

/// How many groups somebody certainly led, from each of these times on.
fn led(index: &Index<'_>) -> Vec<(Nanos, u64)> {
    let mut changes: std::collections::BTreeMap<Nanos, i64> = std::collections::BTreeMap::new();
    for places in index.terms.by_group.values() {
        let spans = places.iter().filter_map(|&p| index.terms.all[p].definite()).collect();
        for span in crate::stats::spans::union(spans) {
            *changes.entry(span.0).or_default() += 1;
            *changes.entry(span.1).or_default() -= 1;
        }
    }
    let mut now = 0_i64;
    let steps: Vec<(Nanos, u64)> = changes
        .into_iter()
        .map(|(t, change)| {
            now += change;
            (t, now.max(0) as u64)
        })
        .collect();
    thinned(steps)
}

/// Of too many steps those that a picture can show: in each stretch of time the lowest.
fn thinned(steps: Vec<(Nanos, u64)>) -> Vec<(Nanos, u64)> {
    let each = steps.len().div_ceil(LED_MAX / 2).max(1);
    if each == 1 {
        return steps;
    }
    let lowest_and_last = |chunk: &[(Nanos, u64)]| {
        let lowest = chunk.iter().copied().min_by_key(|s| s.1);
        lowest.into_iter().chain(chunk.last().copied()).collect::<Vec<_>>()
    };
    let mut kept: Vec<(Nanos, u64)> = steps.chunks(each).flat_map(lowest_and_last).collect();
    kept.dedup();
    kept
}
