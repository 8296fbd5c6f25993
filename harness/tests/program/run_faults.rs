//! Every kind of fault on a real ensemble, once, with its verification; also recipes and settings that other tests
//! omit.

use std::collections::{BTreeMap, BTreeSet};

use crate::run_support::scenario::{LENIENT, on_one_server, patient, scenario};
use crate::run_support::toxiproxy::toxiproxy;
use crate::run_support::{Bench, assert_verified_and_whole, cell, events};
use hustings_record::{Event, FaultKind, FencingMethod};

const EVERY_FAULT: &str = r#"
[faults]
disconnect = { kind = "disconnect" }
partition-up = { kind = "partition-up", for_t = 1.5 }
partition-down = { kind = "partition-down", for_t = 1.5 }
slow = { kind = "slow", latency_ms = 30, for_ms = 1500 }
pause = { kind = "pause", for_t = 1.5 }
crash = { kind = "crash", for_t = 1.5 }
expire = { kind = "expire" }
resign = { kind = "resign" }
"#;

#[test]
fn every_kind_of_fault_is_verified_and_healed() {
    let bench = Bench::new();
    let ran = bench.record(&(scenario("", EVERY_FAULT) + LENIENT), &[]);
    ran.fails_nothing();
    let summary = ran.summary();
    summary.cells.iter().for_each(assert_verified_and_whole);
    let kinds: BTreeSet<FaultKind> =
        summary.cells.iter().flat_map(|cell| &cell.faults.verifications).map(|r| r.kind).collect();
    use FaultKind as F;
    let wanted = [F::Disconnect, F::PartitionUp, F::PartitionDown, F::Slow, F::Pause, F::Crash, F::Expire, F::Resign];
    assert_eq!(kinds, BTreeSet::from(wanted));
    for name in ["pause", "crash", "partition-up", "partition-down", "expire", "resign"] {
        let cell = summary.cells.iter().find(|cell| cell.info.fault == name).expect("a cell");
        assert!(cell.handovers.planned > 0, "{name} met a leader: {:?}", cell.handovers);
    }
}

#[test]
fn a_lost_reply_is_refused_where_the_links_cannot_read_what_passes() {
    let bench = Bench::new();
    let (toxiproxy, api) = toxiproxy(&bench);
    let lost = "[faults.lost]\nkind = \"lost-reply\"\nfor_ms = 900\n";
    let file = bench.scenario(&(scenario("", lost) + LENIENT));
    let ran = bench.run(&["run", &file, "--out", "record", "--toxiproxy", &api]).expect(4);
    ran.error(&[&api, "cannot read what passes", "leave --toxiproxy out"]);
    drop(toxiproxy);
    bench.assert_nothing_left();
}

#[test]
fn a_paused_leader_that_is_fenced_by_a_kill_is_dead_before_its_successor_leads_and_comes_back() {
    let bench = Bench::new();
    let sections = r#"
[faults]
pause = { kind = "pause", for_t = 3.0 }

[matrix]
recipe = ["lock-race", "poll-race"]
"#;
    let election = "fencing = \"kill\"\npoll_interval_ms = 50";
    let ran = bench.record(&(on_one_server(&scenario(election, sections)) + LENIENT), &[]);
    ran.fails_nothing();
    let summary = ran.summary();
    summary.cells.iter().for_each(assert_verified_and_whole);

    let (lock, poll) = (cell(&summary, "lock-race"), cell(&summary, "poll-race"));
    assert_eq!(lock.writes.on_waking, 0, "a killed process does not wake");
    let told = events(&bench.path("record"), 0);
    let mut died: BTreeMap<(u16, u32), u64> = BTreeMap::new();
    let mut back = BTreeSet::new();
    for event in &told {
        match event {
            Event::HostEnded { t, host, generation, killed: true, .. } => drop(died.insert((*host, *generation), *t)),
            Event::HostStarted { host, generation: 1, .. } => drop(back.insert(*host)),
            _ => {}
        }
    }
    let paused =
        told.iter().find_map(|e| if let Event::Fault(fault) = e { fault.hosts.first().copied() } else { None });
    let paused = paused.expect("a fault");
    let died = *died.get(&(paused, 0)).expect("the stopped generation was killed");
    assert!(back.contains(&paused), "a supervisor starts it again");
    let kills = told.iter().filter_map(|e| match e {
        Event::Fence { t, how, .. } if *how == FencingMethod::Kill => Some(*t),
        _ => None,
    });
    let kills: Vec<u64> = kills.collect();
    assert!(!kills.is_empty() && kills.iter().all(|t| *t >= died), "{kills:?} before {died}");

    assert!(poll.fan_out.woken.is_none_or(|woken| woken == (0, 0, 0)), "nobody watches: {:?}", poll.fan_out);
    assert!(poll.handovers.completed > 0);
}

#[test]
fn candidates_that_share_a_session_share_its_end_and_not_a_resignation() {
    let bench = Bench::new();
    let sections = "[faults.expire]\nkind = \"expire\"\n[faults.resign]\nkind = \"resign\"\n";
    let ran = bench.record(&(patient(&scenario("sessions = \"per-host\"", sections), 2) + LENIENT), &[]);
    ran.fails_nothing();
    ran.summary().cells.iter().for_each(assert_verified_and_whole);

    let expire = SharedSessionCounts::of(&events(&bench.path("record"), 0));
    let on_host = 6;
    assert_eq!(expire.hit, [on_host], "one fault, and all candidates of the host in its blast radius");
    assert_eq!(expire.sessions, 4, "one a host, and another one for the host whose session was ended");
    assert_eq!(expire.incarnations, 3 * on_host + on_host, "all of that host's candidates live again");
    let resign = SharedSessionCounts::of(&events(&bench.path("record"), 1));
    assert_eq!((resign.hit, resign.sessions, resign.incarnations), (vec![1], 3, 3 * on_host));
}

/// The number of candidates that each fault hit, and the sessions and incarnations of a cell.
struct SharedSessionCounts {
    hit: Vec<usize>,
    sessions: usize,
    incarnations: usize,
}

impl SharedSessionCounts {
    fn of(events: &[Event]) -> Self {
        let hit =
            events.iter().filter_map(|e| if let Event::Fault(fault) = e { Some(fault.cands.len()) } else { None });
        let sessions = events.iter().filter(|e| matches!(e, Event::Session { .. })).count();
        let incarnations = events.iter().filter(|e| matches!(e, Event::Incarnation { .. })).count();
        Self { hit: hit.collect(), sessions, incarnations }
    }
}

#[test]
fn leaders_that_are_terminated_hear_the_answers_to_their_last_writes() {
    let bench = Bench::new();
    let text = patient(&scenario("", "[faults.terminate]\nkind = \"terminate\"\nfor_ms = 1000\n"), 4) + LENIENT;
    // A write is in flight at any time.
    let text = text.replace("work_interval_ms = 20", "work_interval_ms = 1");
    let ran = bench.record(&text, &[]).expect(0);
    assert!(ran.summary().cells[0].handovers.planned > 0, "a host with leaders was terminated");
    let left = |event: &Event| matches!(event, Event::Note { text, .. } if text.contains("left its znode"));
    let told = events(&bench.path("record"), 0);
    assert!(!told.iter().any(left), "{:?}", told.iter().find(|event| left(event)));
}
