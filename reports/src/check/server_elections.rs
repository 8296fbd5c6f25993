//! Does the ensemble elect the server that its votes determine, and how long are writes impossible? Elections are found
//! from the servers' states alone. Their logs give the votes, and probes show whether writes were acknowledged
//! meanwhile.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::section::Section;
use super::server_watch::{ServerBar, ServerWatchSection, bars, watch};
use super::unavailable::{self, ServerUnavailable};
use super::votes::{CastVote, Prediction, predict};
use super::words::moment;
use super::write_gaps::{self, WriteGap};
use crate::index::{Election, Fault, Index};
use hustings_record::words::duration;
use hustings_record::{ElectionTrigger, EvidenceSource, FaultKind, Nanos};

/// Longest silence between a leader and its followers if the cell does not give it (5 ticks, and 10 s at least).
const DETECTION_MIN_NS: Nanos = 10_000_000_000;
const SYNC_LIMIT: u64 = 5;

/// The ensemble's own elections, and how its servers were watched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnsembleSection {
    /// In order of time.
    pub elections: Vec<ServerElection>,
    /// What each server said that it was, for a picture; at most 2,000.
    pub states: Vec<ServerBar>,
    /// None: nobody watched.
    pub watch: Option<ServerWatchSection>,
}

/// An election of the ensemble's leader, from the polls of the servers' states and, where present, their logs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerElection {
    /// Id of the server fault under way when the quorum was lost.
    pub fault: Option<u32>,
    /// Who led before; None: nobody was seen to.
    pub old: Option<u32>,
    /// None: nobody had won by the end of the watch.
    pub winner: Option<u32>,
    /// Whom the votes elect, where they say so for certain.
    pub predicted: Option<u32>,
    pub not_predicted: Option<String>,
    /// The epoch of the winner's first zxid.
    pub epoch: Option<u64>,
    /// Between these times the quorum ceased to be served, and was served again.
    pub lost: (Nanos, Nanos),
    pub ended: Option<(Nanos, Nanos)>,
    /// The longest gap in the writes around it, from the fault that was under way (or the loss) until shortly after its end.
    /// None: no probe wrote, or there was none much longer than from one write to the next.
    #[serde(default)]
    pub writes: Option<WriteGap>,
    /// How long no quorum was served by what the servers say, at least and at most. It flatters: while a leader is stopped or
    /// cut off its followers go on saying that they follow, and nothing can be written.
    pub outage: (Nanos, Nanos),
    pub roles: Vec<ElectionRole>,
    /// Votes in words, as the winner was told them.
    pub votes: Vec<String>,
}

/// What an election was for one server. Times in pairs are brackets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ElectionRole {
    pub server: u32,
    /// Ceased to serve.
    pub left: (Nanos, Nanos),
    /// First said that it does not serve.
    pub looking: Option<(Nanos, Nanos)>,
    /// Served again.
    pub back: Option<(Nanos, Nanos)>,
    /// Serves as the leader.
    pub leads: bool,
    /// How long its part in the election took, by its log.
    pub took_ms: Option<u64>,
    /// From its beginning to look for a leader to its serving again, by its log.
    pub log_ns: Option<Nanos>,
}

impl Section for EnsembleSection {
    const NAME: &'static str = "server-elections";
    const ABOUT: &'static str =
        "Whom the servers elected among themselves, for how long no quorum served and no write was acknowledged.";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Wire];

    fn applies(index: &Index<'_>) -> bool {
        index.servers.watched()
            || index.faults.on_servers().next().is_some()
            || index.info.expect.server_leader.is_some()
    }

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        if !index.servers.watched() {
            finding.headline("the servers were not watched".into());
            finding.inconclusive("nobody watched the servers: whom they elected, and when, is not known".into());
            return finding;
        }
        let seen = index.servers.all.values().filter(|s| !s.state_spans.is_empty()).count();
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
            |o| format!("servers say {} to {} without a quorum", duration(o.0), duration(o.1)),
        );
        let writes = elections.iter().filter_map(|e| e.writes).max_by_key(|gap| (gap.least_ns, gap.most_ns));
        let writes =
            writes.map_or_else(String::new, |gap| format!("no write acknowledged {}; ", write_gaps::words(&gap)));
        for server in &unavailable {
            finding.note(unavailable_line(server));
        }
        finding.headline(format!(
            "{} of the ensemble: {right} won as the votes say, {wrong} otherwise, {open} not predicted; {writes}{outage}; \
             the servers' own counters compared for {compared} of {}",
            if elections.len() == 1 { "1 election".into() } else { format!("{} elections", elections.len()) },
            index.info.servers,
        ));
        let had_election = |fault: u32| elections.iter().any(|e| e.fault == Some(fault));
        let watch = Some(watch(index, unavailable, had_election));
        finding.section = Self { states: bars(index), elections, watch };
        finding
    }
}

fn judge(index: &Index<'_>, election: &Election, finding: &mut Finding<EnsembleSection>) -> ServerElection {
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
        let line = |c: &CastVote| format!("{}{}", c.vote, if c.certain { "" } else { " (perhaps too late)" });
        result.votes = cast.iter().map(line).collect();
    }
    match &prediction {
        Prediction::Certain(one, _) => result.predicted = Some(*one),
        // None of the servers that could have won did.
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
            duration(election.outage.0),
            duration(election.outage.1)
        )),
        (None, why) => finding.note(format!(
            "{named}: server {winner} won, not predicted: {}",
            why.as_deref().unwrap_or("nothing is known of the votes")
        )),
    }
    result
}

/// Places of completed elections whose winner follows with certainty from the recorded votes.
pub(crate) fn predicted(index: &Index<'_>) -> Vec<usize> {
    let certain =
        |election: &Election| election.winner.is_some_and(|winner| foretold(index, election, winner).is_some());
    (0..index.servers.elections.len()).filter(|&place| certain(&index.servers.elections[place])).collect()
}

/// The server that certainly had to win this election, given that `winner` did.
pub(crate) fn foretold(index: &Index<'_>, election: &Election, winner: u32) -> Option<u32> {
    match predict(index, election, winner) {
        Prediction::Certain(one, _) => Some(one),
        Prediction::Open(..) | Prediction::Unknown(_) => None,
    }
}

fn expected_leader(index: &Index<'_>, elections: &[ServerElection], finding: &mut Finding<EnsembleSection>) {
    let Some(expected) = index.info.expect.server_leader else { return };
    // Until all servers of an ordered restart have ended, the remaining ones may elect any of them.
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

/// The server fault under way when the quorum was lost, preferably one that hit its leader.
fn fault_of<'i, 'a>(index: &'i Index<'a>, election: &Election) -> Option<&'i Fault<'a>> {
    let under_way = |f: &&Fault<'_>| f.explains(election.lost);
    let faults = index.faults.on_servers().filter(|f| f.verified()).filter(under_way);
    faults.max_by_key(|f| (election.old.is_some_and(|old| f.hits_server(old)), f.t))
}

/// A verified fault on the leader that lasts long enough must show as an election.
fn faults_on_leaders(index: &Index<'_>, finding: &mut Finding<EnsembleSection>) {
    let majority = index.info.servers as usize / 2 + 1;
    for fault in index.faults.on_servers().filter(|f| f.verified()) {
        let Some(proof) = &fault.injected else { continue };
        let led = index.servers.leader_at(fault.t).or_else(|| index.servers.leader_at(proof.from));
        let Some(leader) = led.filter(|&leader| fault.hits_server(leader)) else { continue };
        // A leader cut off together with a majority stays leader.
        if fault.kind == FaultKind::ServerPartition && fault.servers.len() >= majority || index.info.servers < 2 {
            continue;
        }
        let within = |e: &&Election| fault.explains(e.lost);
        if index.servers.elections.iter().any(|e| within(&e) && e.old == Some(leader)) {
            continue;
        }
        let named = format!("{} number {} hit server {leader}, which led", fault.kind, fault.id);
        let lasted = fault.active.1.saturating_sub(proof.to);
        match fault.kind.facts().elects {
            ElectionTrigger::Never => {}
            ElectionTrigger::AtOnce | ElectionTrigger::WhenStarted => {
                finding.fail(format!("harness: {named}, and no election was seen"));
            }
            ElectionTrigger::WhenMissed if lasted > detection(index) => finding
                .inconclusive(format!("{named}, for {}, and it survived: no election was seen", duration(lasted))),
            ElectionTrigger::WhenMissed => finding.note(format!("{named}, for {} only: it survived", duration(lasted))),
        }
    }
}

/// Longest time until a leader and its followers separate if they receive nothing from each other.
fn detection(index: &Index<'_>) -> Nanos {
    let told = index.info.sync_limit.map(u64::from);
    let limit = told.map_or_else(|| DETECTION_MIN_NS.max(SYNC_LIMIT * index.tick), |n| n.min(1 << 20) * index.tick);
    limit + 2 * index.tick
}

fn unavailable_line(server: &ServerUnavailable) -> String {
    let name = format!("server {}", server.server);
    match (&server.times, &server.not_compared) {
        (Some(t), _) => {
            let log = t.log_ns.map_or_else(String::new, |ns| format!(", {} by its log", duration(ns)));
            format!(
                "{name} was unavailable for {} by its own counter ({} times), {} to {} by the polls{log}; told apart from \
                 {} on",
                duration(t.told_ns),
                t.count,
                duration(t.polls.0),
                duration(t.polls.1),
                duration(t.count.max(1) * unavailable::TELLING_NS),
            )
        }
        (None, why) => format!("{name}: its counter is not compared: {}", why.as_deref().unwrap_or("it told nothing")),
    }
}
