//! Arbitrary events, for tests of properties that hold for all of them.

use std::collections::BTreeMap;

use hustings_record::*;
use proptest::prelude::*;

/// Events of every kind; numbers are small, so that they collide, or extreme.
pub(crate) fn event() -> impl Strategy<Value = Event> {
    let number = prop_oneof![6 => 0_u64..50, 2 => Just(3_000_000_000), 1 => Just(u64::MAX), 1 => any::<u64>()];
    let text = prop_oneof![Just("lock".to_owned()), any::<String>()];
    let others =
        (0..29_u8, prop::collection::vec(number, 8), text, any::<bool>()).prop_map(|(kind, n, s, yes)| match kind {
            0..15 => of_host(kind, &n, s, yes),
            15..26 => of_coordinator(kind, &n, s, yes),
            _ => of_observer(kind, &n, s, yes),
        });
    prop_oneof![5 => others, 1 => server_event()]
}

/// Events about servers alone.
pub(crate) fn server_event() -> impl Strategy<Value = Event> {
    let number = prop_oneof![6 => 0_u64..50, 2 => 20_000_000_000_u64..21_000_000_000, 1 => any::<u64>()];
    (29..38_u8, prop::collection::vec(number, 8), any::<bool>()).prop_map(|(kind, n, yes)| of_server(kind, &n, yes))
}

fn of_host(kind: u8, n: &[u64], text: String, yes: bool) -> Event {
    let (t, cand, session, term) = (n[0], n[1] as u32, n[2] as i64, n[3] as u32);
    match kind {
        0 => Event::Segment {
            schema: SCHEMA,
            t,
            cell: cand,
            writer: text,
            host: yes.then_some(n[2] as u16),
            generation: term,
            pid: 1,
            clock_uncertainty_ns: n[4],
        },
        1 => Event::Stall { from: t, to: n[1], ran_ns: 0, program: false },
        2 if yes => Event::Outage { from: t, to: n[5].is_multiple_of(2).then_some(n[1]), who: text },
        2 => Event::End { t },
        3 => Event::Candidate { t, cand, group: term },
        4 => Event::Session { t, session, timeout_ms: n[3], asked_ms: n[4], connect_ns: n[5] },
        5 => Event::State { t, session, state: SessionState::Disconnected },
        6 => Event::State { t, session, state: SessionState::Connected },
        7 => Event::Incarnation { t, cand, session },
        8 => Event::Joined { t, cand, session, node: yes.then_some(text), czxid: yes.then_some(n[3] as i64) },
        9 => Event::Grant { t, cand, session, term, czxid: n[4] as i64, node: text },
        10 => Event::Granted { t, cand, session, term },
        11 => Event::Revoke { from: t, to: n[4], cand, session, term, reason: RevokeReason::SteppedDown },
        12 => Event::Notified { t, cand, session, node: text, kind: told(n[4]) },
        13 if yes => Event::Severed { t, session, answered_ns: n[4] },
        13 => Event::Settled { t, cand, session, requests: term },
        _ => Event::Left { t, cand, session, how: departure(n, text, yes) },
    }
}

fn told(n: u64) -> WatchEvent {
    match n % 5 {
        0 => WatchEvent::Created,
        1 => WatchEvent::DataChanged,
        2 => WatchEvent::ChildrenChanged,
        _ => WatchEvent::Deleted,
    }
}

fn departure(n: &[u64], text: String, yes: bool) -> Departure {
    match n[3] % 4 {
        0 => Departure::Resigned { delete: yes.then_some((n[3], n[4])) },
        1 => Departure::SessionEnded(if yes { SessionEnd::Expired } else { SessionEnd::Closed }),
        2 => Departure::Stopped,
        _ => Departure::Failed(text),
    }
}

fn of_coordinator(kind: u8, n: &[u64], text: String, yes: bool) -> Event {
    let (t, host, life, group) = (n[0], n[1] as u16, n[2] as u32, n[3] as u32);
    let fault = FaultKind::ALL[n[4] as usize % FaultKind::ALL.len()];
    let phases = [Phase::Enrol, Phase::Measure, Phase::Drain, Phase::TearDown];
    match kind {
        15 => Event::Note { t, cand: yes.then_some(life), text },
        16 => Event::Phase { t, phase: phases[n[1] as usize % phases.len()] },
        17 => Event::HostStarted { t, host, generation: life, pid: 4 },
        18 => Event::HostEnded { t, host, generation: life, killed: yes, status: text, rss_max_kb: n[4] },
        19 => Event::HostMemory { t, host, rss_kb: n[4], candidates: life, threads: None },
        20 => Event::Fault(Box::new(FaultOrder {
            id: life,
            planned: None,
            kind: fault,
            t,
            intended: n[5],
            for_ms: yes.then_some(n[6]),
            hosts: vec![host],
            cands: n[5..7].iter().map(|&n| n as u32).collect(),
            groups: vec![group],
            servers: if yes { vec![life] } else { vec![] },
            detail: text,
        })),
        21 | 22 => Event::Verification(Box::new(VerificationEvent {
            seen: None,
            id: life,
            stage: if kind == 21 { VerificationStage::Injected } else { VerificationStage::Healed },
            from: t,
            to: n[4],
            verified: yes,
            evidence: text,
            touches: vec![Touch { session: n[5] as i64, last_up: n[6] }],
        })),
        23 => Event::Write {
            t,
            sent: (!n[7].is_multiple_of(4)).then_some(n[7]),
            seq: n[4],
            group,
            cand: life,
            host,
            czxid: n[5] as i64,
            session: n[6] as i64,
            unfenced_stale: yes,
            fenced_rejected: false,
            fenced_stale: !yes,
        },
        24 => Event::Fence {
            t,
            group,
            by: life,
            old_czxid: n[5] as i64,
            old_session: n[6] as i64,
            how: FencingMethod::ALL[n[5] as usize % 3],
            done: yes,
        },
        _ => {
            let names = ["sum_node_deleted_watch_count", "sum_unavailable_time", "cnt_unavailable_time"];
            let metrics: ServerMetrics = names.iter().zip(&n[5..]).map(|(k, v)| ((*k).to_owned(), *v as f64)).collect();
            let at = if yes { WindowEdge::Begin } else { WindowEdge::End };
            Event::Servers { t, at, metrics: BTreeMap::from([(life, metrics)]) }
        }
    }
}

fn of_server(kind: u8, n: &[u64], yes: bool) -> Event {
    use ServerState as S;
    let states = [S::Leading, S::Following, S::Standalone, S::NotServing, S::Silent, S::Down];
    // Few servers, so that they collide.
    let (t, server, zxid) = (n[0], n[1] as u32 % 4, n[2] as i64);
    let (from, leading) = (n[3] as u32 % 4, yes);
    match kind {
        29 => Event::ServerWatch { t, every_ns: n[3] },
        30 | 31 => {
            let state = states[n[4] as usize % states.len()];
            Event::ServerState { from: t, to: n[5], server, state, zxid: yes.then_some(zxid) }
        }
        32 if n[5].is_multiple_of(3) => {
            let told = ["num_alive_connections", "packets_received"].map(|name| (name.to_owned(), n[3] as f64));
            Event::ServerLoad { t, server, load: Box::new(ServerLoad::of(&told.into())) }
        }
        32 => Event::ServerWatched { t, server, looks: n[3], longest_gap_ns: n[4] },
        33 if n[5].is_multiple_of(3) => Event::LogClock { t, ahead_ns: n[3] as i64, bound_ns: n[4] },
        33 => Event::WriteProbe { t, every_ns: n[3] },
        35 if yes => Event::WritesAcknowledged { t, then: n[3..6].to_vec() },
        34 if n[5].is_multiple_of(3) => Event::ServerLooks { t, server, looks: vec![(n[3], n[4]), (n[4], n[3])] },
        34 => Event::WriteGap { from: t, to: n[3], ended: yes },
        37 => Event::Holdings {
            from: t,
            to: n[3],
            at: if yes { WindowEdge::Begin } else { WindowEdge::End },
            servers: vec![server],
            holds: Box::new(Holdings {
                sessions: n[4..].iter().map(|&n| n as i64).collect(),
                ephemerals: BTreeMap::from([("/election/g0/lock".to_owned(), n[4] as i64)]),
                watches: BTreeMap::from([("/election/g0/lock".to_owned(), [n[5] as i64].into())]),
            }),
        },
        35 => Event::WriteProbed { t, acknowledged: n[3] },
        _ if n[4] % 7 == 6 => Event::ServerWait { from: t, to: n[5], server },
        _ => {
            let line = match n[4] % 6 {
                0 => ServerLine::Looking,
                1 => ServerLine::Vote { from, round: n[5] as i64, epoch: n[6] as i64, zxid },
                2 => ServerLine::Elected { leading, took_ms: n[6] },
                3 => ServerLine::Supported,
                4 => ServerLine::Paused { ms: n[6] },
                _ => ServerLine::Serving { leading },
            };
            Event::ServerLog { t, server, line }
        }
    }
}

fn of_observer(kind: u8, n: &[u64], text: String, yes: bool) -> Event {
    let session = yes.then_some(n[3] as i64);
    let (from, to, group, czxid) = (n[0], n[1], n[2] as u32, yes.then_some(n[4] as i64));
    match kind {
        26 => Event::Owner(Box::new(LeadOwner { from, to, group, session, node: yes.then_some(text), czxid })),
        27 if to.is_multiple_of(2) => Event::ObserverState { t: from, connected: yes },
        27 => Event::ObserverMissed { t: from, group: yes.then_some(group), why: text },
        _ if yes && n[4].is_multiple_of(2) => Event::FloorFailed { t: to, deleted: Some(from), why: text },
        _ if yes => Event::ObserverCount { t: from, deleted: to, created: Some(to), changed: None },
        _ => Event::Floor { deleted: from, notified: to, listed: n[2], sessions: None },
    }
}
