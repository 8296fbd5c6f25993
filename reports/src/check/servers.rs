//! Do the servers' own counters agree with the clients' notifications? If not, the harness miscounts, and none of its
//! counts is reliable.
//!
//! The servers count every watch that they fire, by its event: a deletion, changed data, changed children, a creation.
//! Clients may receive fewer: an ended session holds watches (on its own znode, and on as many others as its recipe
//! declares), which may fire without a receiver. Clients may receive more: after a reconnect a server answers a watch
//! on an earlier change without counting it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::section::Section;
use super::stall_confounder::contradicts_itself;
use crate::index::{Index, Notice};
use crate::stats::spans::within;
use hustings_record::numbers::whole;
use hustings_record::{
    Counters, Departure, Event, EvidenceSource, FaultKind, Nanos, ServerMetrics, WATCHES_FIRED, WatchEvent,
};

/// The servers are queried in sequence: an event this close to a snapshot may fall on either side of it.
pub(super) const EDGE_NS: Nanos = 250_000_000;

/// How many deletion watches fired in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeletionWatches {
    /// Least and most that the clients account for, given those that nobody can have heard of.
    pub clients_saw: Option<(u64, u64)>,
    pub servers_say: Option<u64>,
    /// The same of watches that told of `changed` data, changed `children` and `created` znodes, as far as it was recorded.
    #[serde(default)]
    pub others: BTreeMap<String, WatchesFired>,
}

/// Watches of one kind that fired in the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchesFired {
    pub clients_saw: (u64, u64),
    pub servers_say: u64,
}

impl Section for DeletionWatches {
    const NAME: &'static str = "servers";
    const ABOUT: &'static str = "Do the servers count as many fired watches as the clients were told of?";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Wire];

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let window = match window(index) {
            Ok(window) => window,
            Err(why) => {
                if disturbed(index).is_some() {
                    finding.headline(format!("not compared: {why}"));
                } else {
                    finding.headline("the servers' counters were not compared".into());
                    finding.inconclusive(why);
                }
                return finding;
            }
        };
        let mut headline = Vec::new();
        for (kind, line) in WATCHES_FIRED {
            let counted = fired(index, line).and_then(|fired| Ok((fired, told(index, kind, window)?)));
            let (fired, (least, most)) = match counted {
                Ok(counted) => counted,
                Err(why) if kind == WatchEvent::Deleted => {
                    finding.inconclusive(why);
                    continue;
                }
                Err(why) => {
                    finding.note(format!("not compared, {} watches: {why}", name(kind)));
                    continue;
                }
            };
            finding.section.put(kind, WatchesFired { clients_saw: (least, most), servers_say: fired });
            if fired < least || fired > most {
                // The recipe is not at fault here: the harness is, or other traffic on the servers.
                let who = if index.info.own_servers { "harness" } else { "harness, or others on these servers" };
                let text = format!(
                    "{who}: the servers fired {fired} {} watches, and the clients account for {least} to {most}",
                    name(kind)
                );
                contradicts_itself(&mut finding, index, text);
            }
            if kind == WatchEvent::Deleted || fired > 0 || least > 0 {
                headline.push(format!("{fired} of {} say the servers, {least} to {most} say the clients", name(kind)));
            }
        }
        finding.headline(format!("watches fired: {}", headline.join("; ")));
        finding
    }
}

impl DeletionWatches {
    fn put(&mut self, kind: WatchEvent, fired: WatchesFired) {
        if kind == WatchEvent::Deleted {
            (self.clients_saw, self.servers_say) = (Some(fired.clients_saw), Some(fired.servers_say));
        } else {
            self.others.insert(name(kind).to_owned(), fired);
        }
    }
}

fn name(kind: WatchEvent) -> &'static str {
    match kind {
        WatchEvent::Deleted => "deletion",
        WatchEvent::DataChanged => "changed",
        WatchEvent::ChildrenChanged => "children",
        WatchEvent::Created => "created",
        WatchEvent::Ended(_) => "ended",
    }
}

/// The kind of a fault that invalidates the servers' counters. A killed server restarts its counters, and one cut off
/// drops its clients' watches. A stopped one fires watches on waking that its clients, meanwhile elsewhere, do not
/// receive.
pub(crate) fn disturbed(index: &Index<'_>) -> Option<FaultKind> {
    index.faults.all.iter().map(|f| f.kind).find(|kind| kind.facts().counters != Counters::Kept)
}

/// When the servers were first and last queried, if their counters can be compared at all.
fn window(index: &Index<'_>) -> Result<(Nanos, Nanos), String> {
    match disturbed(index) {
        Some(kind) if kind.facts().counters == Counters::Stopped => return Err("a server was stopped".into()),
        Some(kind) => return Err(format!("a server's counters do not outlast a {kind}")),
        None => {}
    }
    let (Some((from, before)), Some((to, after))) = (index.servers.begin, index.servers.end) else {
        return Err("the servers were not asked at the beginning and at the end of the measured window".into());
    };
    if before.len() < index.info.servers as usize || after.len() < index.info.servers as usize {
        return Err(format!("not all of the {} servers answered", index.info.servers));
    }
    if !within(&index.intervals.blind, (from, to)).is_empty() {
        return Err("the observer was blind for a while, and what its watch would have told was counted or not".into());
    }
    Ok((from, to))
}

/// Growth of this counter, summed over all servers, between the first and the last snapshot.
fn fired(index: &Index<'_>, line: &str) -> Result<u64, String> {
    let (Some((_, before)), Some((_, after))) = (index.servers.begin, index.servers.end) else { return Ok(0) };
    let mut sum = 0.0;
    for (server, metrics) in after {
        let value = |m: &ServerMetrics| m.get(line).copied().filter(|v| v.is_finite());
        let (Some(after), Some(before)) = (value(metrics), before.get(server).and_then(value)) else {
            return Err(format!("server {server} did not tell {line}"));
        };
        if after < before {
            return Err(format!("server {server} counts from anew: it was restarted in between"));
        }
        sum += after - before;
    }
    Ok(whole(sum.round()))
}

/// Least and most watches of a kind that must have fired, from the clients' notifications.
fn told(index: &Index<'_>, kind: WatchEvent, (from, to): (Nanos, Nanos)) -> Result<(u64, u64), String> {
    let inner = |t: Nanos| t >= from + EDGE_NS && t + EDGE_NS <= to;
    let outer = |t: Nanos| t + EDGE_NS >= from && t <= to + EDGE_NS;
    let mut most = 0;
    // A server notifies a session once, however many of its candidates wait for that.
    let mut told: BTreeMap<(i64, u32, &str), BTreeMap<u32, u64>> = BTreeMap::new();
    for notice in index.notices.all().filter(|n| n.kind == kind && outer(n.t)) {
        most += 1 + u64::from(may_fire_twice(index, notice));
        if inner(notice.t) && !may_be_replayed(index, notice) {
            let group = index.candidates.all.get(&notice.cand).map_or(u32::MAX, |candidate| candidate.group);
            *told.entry((notice.session, group, notice.node)).or_default().entry(notice.cand).or_default() += 1;
        }
    }
    let mut least: u64 = told.values().filter_map(|by_cand| by_cand.values().max()).sum();
    let mut undelivered = died(index, from, to) * watches_per_incarnation(index);
    for (&cand, departures) in &index.candidates.departures {
        let within = departures.iter().filter(|departed| outer(departed.t));
        undelivered += within.map(|departed| unheard(index, cand, departed.how, departed.t)).sum::<u64>();
    }
    for (_, event) in index.few.iter().filter(|_| kind == WatchEvent::Deleted) {
        if let Event::Floor { notified, .. } = event {
            least += u64::from(inner(*notified));
            most += u64::from(outer(*notified));
        }
    }
    let (counts, weight) = observed(index, kind)?;
    // The observer counts from the start of the cell; counts near an edge may fall on either side of it.
    let counted = |at: Nanos| counts[..counts.partition_point(|c| c.0 <= at)].last().map_or(0, |c| c.1);
    let inner_count = counted(to.saturating_sub(EDGE_NS)).saturating_sub(counted(from + EDGE_NS));
    let outer_count = counted(to + EDGE_NS).saturating_sub(counted(from.saturating_sub(EDGE_NS)));
    // Some versions count a recursive watch twice where it fires once; the measured weight corrects that.
    let weighed = |count: u64| whole((count as f64 * weight).round());
    Ok((least + weighed(inner_count.min(outer_count)), most + weighed(outer_count) + undelivered))
}

/// Whether this may be the answer to a watch that a session set again after a reconnect, which no server counts. Stalls hold that
/// answer up.
fn may_be_replayed(index: &Index<'_>, notice: &Notice<'_>) -> bool {
    let host = index.candidates.all.get(&notice.cand).map(|candidate| candidate.host);
    index.candidates.reconnected_by(notice.session, notice.t).is_some_and(|back| {
        let kept = index.not_running(host.as_slice(), (back, notice.t));
        notice.t <= index.candidates.replayed_by(back) + kept
    })
}

/// Whether two servers may have fired for this notification. A client cut off from one server sets its watches at
/// another too, and the first one keeps its own until it learns of that.
fn may_fire_twice(index: &Index<'_>, notice: &Notice<'_>) -> bool {
    index.candidates.reconnected_by(notice.session, notice.t).is_some_and(|back| {
        let mut cuts = index.faults.of_cand(notice.cand).filter(|fault| fault.kind.facts().cuts.is_some());
        cuts.any(|fault| fault.t <= back && notice.t <= fault.over() + EDGE_NS)
    })
}

/// Cumulative notifications of a kind that the observer received, by time, and how often the servers count each.
fn observed(index: &Index<'_>, kind: WatchEvent) -> Result<(Vec<(Nanos, u64)>, f64), String> {
    let mut counts: Vec<(Nanos, u64)> = Vec::new();
    let mut weight = Some(1.0);
    for (_, event) in &index.few {
        match event {
            Event::ObserverCount { t, deleted, created, changed } => {
                let count = match kind {
                    WatchEvent::Deleted => Some(*deleted),
                    WatchEvent::Created => *created,
                    WatchEvent::DataChanged => *changed,
                    WatchEvent::ChildrenChanged | WatchEvent::Ended(_) => Some(0),
                };
                counts.push((*t, count.ok_or("it was not recorded how many of them the observer got")?));
            }
            Event::ObserverWeight(told) => {
                weight = match kind {
                    WatchEvent::Deleted => Some(told.per_deletion),
                    WatchEvent::Created => told.per_creation,
                    WatchEvent::DataChanged => told.per_change,
                    WatchEvent::ChildrenChanged | WatchEvent::Ended(_) => Some(0.0),
                };
            }
            _ => {}
        }
    }
    counts.sort_unstable();
    Ok((counts, weight.ok_or("it was not recorded how the servers count those of the observer")?))
}

/// Watches that one incarnation can hold. Without a declaration it is taken to watch one znode beside its own.
fn watches_per_incarnation(index: &Index<'_>) -> u64 {
    index.info.declared.map_or(1, |declared| u64::from(declared.watches())) + 1
}

/// Watches of an ended incarnation that may have fired without a receiver. One that left by order waited for the
/// notification of its own znode.
fn unheard(index: &Index<'_>, cand: u32, how: &Departure, t: Nanos) -> u64 {
    match how {
        Departure::Resigned { delete: Some((sent, _)) } => u64::from(!index.notices.notified_within(cand, (*sent, t))),
        Departure::Resigned { delete: None } => 1,
        _ => watches_per_incarnation(index),
    }
}

/// Incarnations that ended with their process in the window.
fn died(index: &Index<'_>, from: Nanos, to: Nanos) -> u64 {
    let mut died = 0;
    for life in index.lives.all.iter().filter(|l| l.died.is_some_and(|d| d.1 + EDGE_NS >= from && d.0 <= to + EDGE_NS))
    {
        let at = life.died.map_or(0, |d| d.0);
        let on_it = index.candidates.all.iter().filter(|(_, c)| Some(c.host) == life.host);
        died += on_it.filter(|(cand, _)| index.candidates.standing(**cand, at).is_some()).count() as u64;
    }
    died
}
