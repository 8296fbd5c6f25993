//! How long was each server unavailable, by the polls, by its own log and by its own counter? Where the three do not agree, one
//! of them was told late, by a machine that was busy for longer than is allowed for here: then it is not known.
//!
//! A server counts from the moment at which it begins to look for a leader until it serves again, and adds that to
//! `sum_unavailable_time` when it does. Its log has a line at each of the two. The polls see it cease to serve when it leaves
//! its old leader, a little before it looks; where its log has the line, they are compared with the counter from there on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::servers::EDGE_NS;
use crate::index::{Absence, Index, ServerHistory};
use hustings_record::words::duration;
use hustings_record::{Counters, Elects, Nanos, ServerLine, ServerMetrics};

/// What may lie between a server's taking of a time and its telling, on a busy machine; once for each time that it was away.
pub(super) const TELLING_NS: Nanos = 20_000_000;
/// What a server may need to let go of its clients and of its old leader before it begins to look, where no log tells.
const LEAVING_NS: Nanos = 250_000_000;

/// For how long a server was unavailable in the measured window: what it says itself against what was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerUnavailable {
    pub server: u32,
    pub times: Option<Unavailable>,
    /// Why its counter says nothing.
    pub not_compared: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unavailable {
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

/// What the server's own counter gained between the snapshots, how often it was added to, and when they were taken.
fn counted(index: &Index<'_>, id: u32) -> Result<(Nanos, u64, (Nanos, Nanos)), String> {
    for fault in index.faults.on_servers() {
        let facts = fault.kind.facts();
        // Whoever was down already when all were to be started again is started with them.
        let hit = fault.hits_server(id) || facts.elects == Elects::WhenStarted;
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
    let told = (gained("sum_unavailable_time")? * 1e6) as Nanos;
    Ok((told, gained("cnt_unavailable_time")? as u64, (from, to)))
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
        // What the server adds when it serves again.
        let Some(ended) = absence.ended.filter(|e| outer(e.1) || outer(e.0)) else { continue };
        let sure = inner(ended.0) && inner(ended.1);
        spans += 1;
        most += ended.1.saturating_sub(absence.began.0);
        least += if sure { least_of(server, absence, ended) } else { 0 };
        // One that gave no answer for a while, and never looked for a leader, was there all along.
        let own = from_log(server, absence, ended);
        if absence.looking.is_some() || own.is_some() {
            logged = logged.zip(own.filter(|_| sure)).map(|((sum, n), own)| (sum + own, n + 1));
        }
    }
    // It may have been away and back between two looks.
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
    result.times = Some(Unavailable { told_ns: told, count, polls: (least, most), log_ns: logs });
}

/// When its log says that it began to look, in this absence. On a busy machine the line of that may come late, and later than
/// what the line of the election's end says of how long it took.
fn looked(server: &ServerHistory<'_>, absence: &Absence, until: Nanos) -> Option<Nanos> {
    let from = absence.began.0.saturating_sub(TELLING_NS);
    let looking = server.lines(from, until).find(|l| *l.1 == ServerLine::Looking)?.0;
    let ended = server.lines(looking, until).find_map(|(t, line)| match line {
        ServerLine::Elected { took_ms, .. } => Some(t.saturating_sub(took_ms * 1_000_000)),
        _ => None,
    });
    Some(ended.map_or(looking, |began| looking.min(began.max(from))))
}

fn least_of(server: &ServerHistory<'_>, absence: &Absence, ended: (Nanos, Nanos)) -> Nanos {
    // Only what it said itself is certain: one that gave no answer may have served all along.
    let said = absence.said_ns;
    match (looked(server, absence, ended.1), absence.looking) {
        (Some(looked), Some(looking)) => said.saturating_sub(looked.saturating_sub(looking.1)),
        _ => said.saturating_sub(LEAVING_NS),
    }
}

/// The same by the lines of its log.
fn from_log(server: &ServerHistory<'_>, absence: &Absence, ended: (Nanos, Nanos)) -> Option<Nanos> {
    let looked = looked(server, absence, ended.1)?;
    let mut lines = server.lines(looked, ended.1 + TELLING_NS).rev();
    let served = lines.find(|l| matches!(l.1, ServerLine::Serving { .. }))?.0;
    Some(served - looked)
}
