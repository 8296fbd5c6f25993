//! How long was each server unavailable by the polls, its own log and its own counter? If they disagree, one was
//! reported late, by a machine busier than the tolerance here allows. The time is then unknown.
//!
//! A server counts from the time it begins to look for a leader until it serves again, and then adds that to
//! `sum_unavailable_time`. Its log has a line at each of the two. The polls show it cease to serve when it leaves its
//! old leader, a little before it looks. If its log has that line, they are compared with the counter from there on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::servers::EDGE_NS;
use crate::index::{Index, ServerHistory, UnavailableSpan};
use hustings_record::numbers::whole;
use hustings_record::words::duration;
use hustings_record::{Counters, ElectionTrigger, Nanos, ServerLine, ServerMetrics};

/// Longest delay on a busy machine between a server's reading of a time and its report; once per absence.
pub(super) const TELLING_NS: Nanos = 20_000_000;
/// Longest time for a server to leave its clients and old leader before it begins to look, where no log shows it.
const LEAVING_NS: Nanos = 250_000_000;

/// For how long a server was unavailable in the measured window: what it says itself against what was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerUnavailable {
    pub server: u32,
    pub times: Option<UnavailableTime>,
    /// Why its counter says nothing.
    pub not_compared: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnavailableTime {
    /// By its own counter (`mntr`), and how often.
    pub told_ns: Nanos,
    pub count: u64,
    /// By the polls, at least and at most.
    pub polls: (Nanos, Nanos),
    pub log_ns: Option<Nanos>,
}

/// Compares the three, server by server.
pub(super) fn compare<S>(index: &Index<'_>, finding: &mut Finding<S>) -> Vec<ServerUnavailable> {
    let mut all = Vec::new();
    for (&id, server) in &index.servers.all {
        let mut result = ServerUnavailable { server: id, ..ServerUnavailable::default() };
        match counted(index, id) {
            Ok((told, count, window)) => judge(server, (told, count, window), &mut result, finding),
            Err(why) => result.not_compared = Some(why),
        }
        all.push(result);
    }
    all
}

/// The gain of the server's own counter between the snapshots, the number of additions, and the snapshots' times.
fn counted(index: &Index<'_>, id: u32) -> Result<(Nanos, u64, (Nanos, Nanos)), String> {
    for fault in index.faults.on_servers() {
        let facts = fault.kind.facts();
        // A server already down at a restart of all is started with them.
        let hit = fault.hits_server(id) || facts.elects == ElectionTrigger::WhenStarted;
        match facts.counters {
            Counters::Anew if hit => return Err("it was killed: it counts from anew".into()),
            Counters::Stopped if hit => return Err("it was stopped: its clock went on, and it did not".into()),
            Counters::Anew | Counters::Stopped | Counters::WatchesDropped | Counters::Kept => {}
        }
    }
    let (Some((from, before)), Some((to, after))) = (index.servers.begin, index.servers.end) else {
        return Err("the servers were not asked at the beginning and at the end".into());
    };
    let value = |metrics: &BTreeMap<u32, ServerMetrics>, name: &str| {
        let value = metrics.get(&id).and_then(|m| m.get(name)).copied();
        value.filter(|v| v.is_finite()).ok_or_else(|| format!("it did not tell its {name} both times"))
    };
    let gained = |name: &str| -> Result<f64, String> {
        let gained = value(after, name)? - value(before, name)?;
        if gained < 0.0 { Err("it counts from anew: it was restarted in between".into()) } else { Ok(gained) }
    };
    let told = whole(gained("sum_unavailable_time")? * 1e6);
    Ok((told, whole(gained("cnt_unavailable_time")?), (from, to)))
}

fn judge<S>(
    server: &ServerHistory<'_>,
    (told, count, window): (Nanos, u64, (Nanos, Nanos)),
    result: &mut ServerUnavailable,
    finding: &mut Finding<S>,
) {
    let inner = |t: Nanos| t >= window.0 + EDGE_NS && t + EDGE_NS <= window.1;
    let outer = |t: Nanos| t + EDGE_NS >= window.0 && t <= window.1 + EDGE_NS;
    let (mut least, mut most, mut spans) = (0, 0, 0);
    let mut logged = Some((0, 0));
    for absence in &server.absences {
        // The server adds an absence when it serves again.
        let Some(ended) = absence.ended.filter(|e| outer(e.1) || outer(e.0)) else { continue };
        let sure = inner(ended.0) && inner(ended.1);
        spans += 1;
        most += ended.1.saturating_sub(absence.began.0);
        least += if sure { least_of(server, absence, ended) } else { 0 };
        // A server that gave no answer for a while, and never looked for a leader, was available all along.
        let own = from_log(server, absence, ended);
        if absence.looking.is_some() || own.is_some() {
            logged = logged.zip(own.filter(|_| sure)).map(|((sum, n), own)| (sum + own, n + 1));
        }
    }
    // It may have been away and back between two polls.
    most += count.saturating_sub(spans) * server.longest_gap;
    let slack = spans.max(count).max(1) * TELLING_NS;
    let polls = (least.saturating_sub(slack), most + slack);
    let logs = logged.filter(|l| l.1 > 0).map(|l| l.0);
    let mut doubt = |other: String| {
        finding.inconclusive(format!(
            "for how long server {} was unavailable is not known: it counts {} itself, and {other}",
            result.server,
            duration(told),
        ));
    };
    if !(polls.0..=polls.1).contains(&told) {
        doubt(format!("the polls saw {} to {}", duration(least), duration(most)));
    }
    if let Some(logs) = logs.filter(|&logs| logs.abs_diff(told) > slack) {
        doubt(format!("its log says {}", duration(logs)));
    }
    result.times = Some(UnavailableTime { told_ns: told, count, polls: (least, most), log_ns: logs });
}

/// When it began to look in this absence, by its log. On a busy machine that line may be late: later than the duration
/// in the line of the election's end implies.
fn looked(server: &ServerHistory<'_>, absence: &UnavailableSpan, until: Nanos) -> Option<Nanos> {
    let from = absence.began.0.saturating_sub(TELLING_NS);
    let looking = server.lines(from, until).find(|l| *l.1 == ServerLine::Looking)?.0;
    let ended = server.lines(looking, until).find_map(|(t, line)| match line {
        ServerLine::Elected { took_ms, .. } => Some(t.saturating_sub(took_ms * 1_000_000)),
        _ => None,
    });
    Some(ended.map_or(looking, |began| looking.min(began.max(from))))
}

fn least_of(server: &ServerHistory<'_>, absence: &UnavailableSpan, ended: (Nanos, Nanos)) -> Nanos {
    // Only its own statements are certain: a server that gave no answer may have served all along.
    let said = absence.said_ns;
    match (looked(server, absence, ended.1), absence.looking) {
        (Some(looked), Some(looking)) => said.saturating_sub(looked.saturating_sub(looking.1)),
        _ => said.saturating_sub(LEAVING_NS),
    }
}

/// The length of the absence by its log.
fn from_log(server: &ServerHistory<'_>, absence: &UnavailableSpan, ended: (Nanos, Nanos)) -> Option<Nanos> {
    let looked = looked(server, absence, ended.1)?;
    let mut lines = server.lines(looked, ended.1 + TELLING_NS).rev();
    let served = lines.find(|l| matches!(l.1, ServerLine::Serving { .. }))?.0;
    Some(served - looked)
}
