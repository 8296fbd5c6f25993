//! Records the servers' lists of watches and ephemerals, once every candidate is enrolled or leads.

use std::collections::BTreeMap;

use hustings_record::{Event, Holdings, Nanos, WindowEdge};

use super::backend::Backend;

/// With more candidates the lists would be most of the record.
const CANDIDATES_MAX: u64 = 50_000;
/// Servers may lag, and requests may be in flight. They are asked until two answers in a row agree, at most this often.
const QUESTIONS_MAX: u32 = 10;
const AGAIN_NS: Nanos = 150_000_000;

/// Asks the servers for their lists and records them.
pub(super) async fn record<B: Backend>(backend: &B, at: WindowEdge) {
    let cell = &backend.state().cell;
    let note = |text: String| backend.record(Event::Note { t: backend.now(), cand: None, text });
    if cell.candidates() == 0 {
        return;
    }
    if cell.candidates() > CANDIDATES_MAX {
        return note(format!(
            "the servers' lists were not read: {} candidates are too many for them",
            cell.candidates()
        ));
    }
    let mut before = None;
    for question in 1..=QUESTIONS_MAX {
        let from = backend.now();
        let said = match backend.holdings().await {
            Ok(said) => said,
            Err(error) => return note(format!("the servers' lists could not be read: {error}")),
        };
        let to = backend.now();
        let stable = are_alike(&said) && before.as_ref() == Some(&said);
        if said.is_empty() {
            return;
        }
        if stable || question == QUESTIONS_MAX {
            for (servers, holds) in grouped(said) {
                backend.record(Event::Holdings { from, to, at, servers, holds: Box::new(holds) });
            }
            return;
        }
        before = Some(said);
        backend.sleep_until(to + AGAIN_NS).await;
    }
}

fn are_alike(said: &BTreeMap<u32, Holdings>) -> bool {
    let mut all = said.values();
    all.next().is_none_or(|first| all.all(|other| other.agrees_with(first)))
}

/// Groups servers that report the same, with their report; the watches of a group are added up.
fn grouped(said: BTreeMap<u32, Holdings>) -> Vec<(Vec<u32>, Holdings)> {
    let mut groups: Vec<(Vec<u32>, Holdings)> = Vec::new();
    for (server, holdings) in said {
        match groups.iter_mut().find(|(_, other)| other.agrees_with(&holdings)) {
            Some((servers, all)) => {
                servers.push(server);
                all.add(&holdings);
            }
            None => groups.push((vec![server], holdings)),
        }
    }
    groups
}
