//! VerificationTable, enrolment, the record's own completeness, and sizes that must cause no trouble.

use proptest::prelude::*;

use crate::builder::MEASURE;
use crate::*;

#[test]
fn a_fault_that_is_never_seen_to_be_healed_is_inconclusive() {
    let verdict = |healed: Option<bool>| {
        let mut cell = Cell::new("naive", 1, 3, FaultKind::Slow);
        let id = cell.inject(FaultKind::Slow, 0, &[0], 20_000, Some(1_000));
        if let Some(verified) = healed {
            cell.verification(id, VerificationStage::Healed, 21_000, verified, Vec::new());
        }
        let summary = cell.summary();
        assert_eq!(summary.faults.verifications[0].verified, healed == Some(true));
        check(&summary, "verification").verdict
    };
    assert_eq!(verdict(Some(true)), Pass);
    assert_eq!(verdict(Some(false)), Inconclusive);
    assert_eq!(verdict(None), Inconclusive);
}

#[test]
fn a_fault_without_a_verification_and_a_cell_without_its_fault_are_inconclusive() {
    let mut cell = Cell::new("naive", 1, 3, FaultKind::Expire);
    cell.fault(FaultKind::Expire, 0, &[0], 20_000, None);
    assert_eq!(cell.verdict("verification"), Inconclusive);
    assert_eq!(Cell::new("naive", 1, 3, FaultKind::Expire).verdict("verification"), Inconclusive);
}

#[test]
fn enrolment_runs_from_the_first_connect_to_the_last_first_grant() {
    let mut cell = Cell::new("naive", 2, 3, FaultKind::None);
    for (host, rss_kb) in [(0, 900), (1, 800), (2, 700)] {
        cell.coordinator.push(Event::HostMemory { t: ms(4_000), host, rss_kb, candidates: 2, threads: None });
    }
    let enrolment = cell.summary().enrolment;
    assert_eq!(enrolment.all_led_ns, Some(ms(3_000) + 10_000 - ms(1_995)));
    assert_eq!((enrolment.candidates, enrolment.sessions, enrolment.rss_kb), (6, 6, Some(2_400)));
}

#[test]
fn connects_of_the_enrolment_and_later_ones_are_two_figures() {
    let mut cell = Cell::new("naive", 2, 3, FaultKind::None);
    let session = |t, connect_ns| Event::Session { t: ms(t), session: 99, timeout_ms: T, asked_ms: T, connect_ns };
    // The warm-up begins at 5 s.
    cell.host(1).extend([session(4_999, ms(7)), session(40_000, ms(900))]);
    let enrolment = cell.summary().enrolment;
    let (connect, anew) = (enrolment.connect.unwrap(), enrolment.connect_anew.unwrap());
    assert_eq!((connect.n, connect.max, anew.n, anew.max), (7, ms(7), 1, ms(900)));
}

#[test]
fn the_negotiated_timeout_is_used_and_a_clamped_one_told() {
    let mut cell = Cell::new("naive", 1, 3, FaultKind::None);
    cell.info.timeout_asked_ms = 1_000;
    let summary = cell.summary();
    assert_eq!(summary.timeout_ms, Some(T));
    assert_eq!(check(&summary, "enrolment").verdict, Pass);
    assert!(check(&summary, "enrolment").details[0].contains("1000 ms were asked for"));
}

#[test]
fn an_incomplete_cell_is_at_best_inconclusive() {
    let mut cell = Cell::new("naive", 1, 3, FaultKind::None);
    cell.complete = false;
    assert_eq!(cell.summary().verdict, Inconclusive);
    let mut cell = Cell::new("naive", 1, 3, FaultKind::None);
    cell.endless = true;
    assert_eq!(cell.verdict("record"), Inconclusive);
}

#[test]
fn a_torn_segment_is_forgiven_only_to_the_killed() {
    let torn = |writer: &str| {
        let mut cell = Cell::new("naive", 1, 3, FaultKind::Crash);
        cell.crash(20_000, 300);
        let mut record = cell.record();
        let segment = record.cells[0].segments.iter_mut().find(|s| s.writer == writer).unwrap();
        segment.torn = Some(TornTail { block: 3, offset: 77, bytes: 5 });
        check(&summarise(&record).cells[0], "record").verdict
    };
    assert_eq!(torn("host-0"), Pass);
    assert_eq!(torn("host-1"), Inconclusive);
    assert_eq!(torn("coordinator"), Inconclusive);
}

#[test]
fn missing_cells_and_cut_off_runs_are_inconclusive_and_told() {
    let clean = Cell::new("naive", 1, 3, FaultKind::None).record();
    assert_eq!(summarise(&clean).verdict, Pass);

    let mut missing = clean.clone();
    missing.manifest.cells_planned = 3;
    let summary = summarise(&missing);
    assert_eq!((summary.verdict, summary.notes.len()), (Inconclusive, 1));

    for state in [RunState::Running, RunState::Interrupted, RunState::Aborted] {
        let mut cut = clean.clone();
        cut.manifest.state = state;
        assert_eq!(summarise(&cut).verdict, Inconclusive, "{state:?}");
    }
}

#[test]
fn a_record_of_nothing_is_inconclusive_and_no_panic() {
    let mut record = Cell::new("naive", 2, 3, FaultKind::Crash).record();
    for segment in &mut record.cells[0].segments {
        segment.events.truncate(1);
    }
    assert_eq!(summarise(&record).verdict, Inconclusive);
    record.cells[0].segments.clear();
    assert_eq!(summarise(&record).verdict, Inconclusive);
    record.cells.clear();
    assert_eq!(summarise(&record).verdict, Inconclusive);
}

#[test]
fn a_summary_survives_its_own_json() {
    let mut cell = Cell::new("naive", 2, 3, FaultKind::Crash);
    cell.crash(20_000, 300);
    let summary = summarise(&cell.record());
    let json = serde_json::to_string(&summary).unwrap();
    let back: hustings_reports::summary::Summary = serde_json::from_str(&json).unwrap();
    assert_eq!(back.cells[0].checks, summary.cells[0].checks);
    assert_eq!(back.cells[0].failover, summary.cells[0].failover);
}

#[test]
fn five_thousand_candidates_and_half_a_million_events_are_no_trouble() {
    let mut cell = Cell::new("predecessor-watch", 1_000, 5, FaultKind::Crash);
    for group in 0..1_000 {
        for n in 0..450 {
            cell.coordinator.push(Event::Write {
                t: ms(60_000 + n),
                sent: Some(ms(60_000 + n)),
                seq: 0,
                group,
                cand: cell.cand(group, 1),
                host: 1,
                czxid: cell.czxid(group, 1),
                session: cell.session(group, 1),
                unfenced_stale: false,
                fenced_rejected: false,
                fenced_stale: false,
            });
        }
    }
    let writes = std::mem::take(&mut cell.coordinator);
    cell.crash(20_000, 300);
    // The builder compares each write with all others: these are in order, and need no check.
    let mut record = cell.record();
    let mut seq = 1_000_000;
    for mut event in writes {
        if let Event::Write { seq: number, t, .. } = &mut event
            && *t >= ms(60_000)
        {
            (*number, seq) = (seq, seq + 1);
            record.cells[0].segments[0].events.push(event);
        }
    }
    assert!(record.cells[0].events().count() > 450_000);
    let summary = summarise(&record).cells.remove(0);
    assert_eq!(summary.handovers.completed, 1_000);
    assert_eq!(summary.split_brain.active.seen, 0);
    assert_eq!(summary.writes.unfenced.seen, 0);
    assert!(summary.timelines.len() <= 6);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_events_however_odd_make_the_analysis_panic(
        added in prop::collection::vec((0_usize..5, events::event()), 1..60),
        moved in any::<bool>(),
    ) {
        let mut cell = Cell::new("naive", 2, 3, FaultKind::Pause);
        cell.crash(20_000, 300);
        let mut record = cell.record();
        for (segment, event) in added {
            let events = &mut record.cells[0].segments[segment].events;
            let at = if moved { events.len() / 2 } else { events.len() };
            events.insert(at, event);
        }
        let summary = summarise(&record);
        prop_assert!(summary.cells[0].checks.iter().all(|c| c.details.len() <= 20 && !c.headline.is_empty()));
        prop_assert!(summary.cells[0].timelines.len() <= 6);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_words_of_servers_make_the_analysis_or_the_page_panic(
        added in prop::collection::vec(prop_oneof![4 => events::server_event(), 1 => events::event()], 1..80),
        watched in any::<bool>(),
    ) {
        let mut cell = Cell::of_servers(3, FaultKind::ServerKill);
        if watched {
            cell.watch();
            cell.lose_server_3(20_000, 2);
        }
        let mut record = cell.record();
        record.cells[0].segments[0].events.extend(added);
        let summary = summarise(&record);
        prop_assert!(summary.cells[0].ensemble.elections.iter().all(|e| e.outage.0 <= e.outage.1 && e.lost.0 <= e.lost.1));
        prop_assert!(summary.cells[0].checks.iter().any(|c| c.name == "record"));
        prop_assert!(hustings_reports::render::html(&summary).is_ok());
    }
}

#[test]
fn a_killed_hosts_next_life_ends_by_itself() {
    let mut cell = Cell::new("predecessor-watch", 1, 2, FaultKind::Crash);
    cell.crash(20_000, 300);
    let mut record = cell.record();
    // The host comes back, leads in its second generation, and ends cleanly.
    let (host, writer) = (Some(0), "host-0-1".to_owned());
    let (cand, session, term, czxid, node) = (0, 77, 1, 900, "n_900".to_owned());
    let begin = Event::Segment {
        schema: SCHEMA,
        t: ms(40_000),
        cell: 0,
        writer: writer.clone(),
        host,
        generation: 1,
        pid: 2,
        clock_uncertainty_ns: 1_000,
    };
    let (from, to, reason) = (ms(60_000), ms(60_001), RevokeReason::Resigned);
    let events = vec![
        begin,
        Event::Candidate { t: ms(40_000), cand, group: 0 },
        Event::Grant { t: ms(50_000), cand, session, term, czxid, node },
        Event::Granted { t: ms(50_001), cand, session, term },
        Event::Revoke { from, to, cand, session, term, reason },
        Event::End { t: ms(100_500) },
    ];
    let file = "events/host-0-1".to_owned();
    record.cells[0].segments.push(SegmentRecord { file, writer, host, generation: 1, events, torn: None });
    let summary = summarise(&record).cells.remove(0);
    assert_eq!(check(&summary, "record").verdict, Pass);
    // Host 1 leads throughout: this second leader is a split brain of exactly its term.
    assert_eq!(summary.split_brain.active_max_ns, ms(60_000) - ms(50_001) - 1_000);
}

#[test]
fn stalls_of_proxies_count_and_servers_say_how_long_they_paused() {
    let mut cell = leads::partition(22_000);
    cell.servers_silent = true;
    let counters = |sum: f64, max: f64, up: f64| {
        let names =
            [("sum_jvm_pause_time_ms", sum), ("cnt_jvm_pause_time_ms", sum / 2.0), ("max_jvm_pause_time_ms", max)];
        names
            .into_iter()
            .chain([("uptime", up)])
            .map(|(name, value)| (name.to_owned(), value))
            .collect::<ServerMetrics>()
    };
    let bare = ServerMetrics::from([("uptime".to_owned(), 1.0)]);
    let snapshot = |t, at, metrics: [ServerMetrics; 4]| Event::Servers { t, at, metrics: (1..).zip(metrics).collect() };
    // The first had its longest pause before the window, the second in it; the third restarted; the fourth does not
    // count.
    let begin = [counters(900.0, 800.0, 9e4), counters(100.0, 10.0, 9e4), counters(50.0, 40.0, 9e4), bare.clone()];
    let end = [counters(1_000.0, 800.0, 1e5), counters(900.0, 700.0, 1e5), counters(60.0, 50.0, 1e3), bare];
    cell.coordinator.push(snapshot(ms(MEASURE), WindowEdge::Begin, begin));
    cell.coordinator.push(snapshot(ms(TEAR_DOWN - 1), WindowEdge::End, end));
    let mut record = cell.record();
    let proxy = vec![
        Event::Segment {
            schema: SCHEMA,
            t: ms(400),
            cell: 0,
            writer: "proxy-0".to_owned(),
            host: None,
            generation: 0,
            pid: 9,
            clock_uncertainty_ns: 100,
        },
        Event::Stall { from: ms(24_000), to: ms(24_500), ran_ns: 0, program: false },
        Event::End { t: ms(END) },
    ];
    let (file, writer) = ("events/proxy-0".to_owned(), "proxy-0".to_owned());
    record.cells[0].segments.push(SegmentRecord { file, writer, host: None, generation: 0, events: proxy, torn: None });
    let summary = summarise(&record).cells.remove(0);
    let stalls = check(&summary, "stalls");
    assert_eq!(stalls.verdict, Inconclusive, "T/10 is 400 ms, and its links were cut at the time");
    assert!(stalls.reason().starts_with("proxy-0 did not run for 500 ms"), "{stalls:?}");
    assert_eq!(
        summary.stalls.servers_ms.iter().map(|(server, ms)| (*server, *ms)).collect::<Vec<_>>(),
        [(1, 100.0), (2, 700.0)]
    );
    assert!(stalls.details.iter().any(|line| line.contains("server 2 says that it paused, for 700 ms")), "{stalls:?}");
    assert_eq!(check(&summary, "record").verdict, Pass);
}
