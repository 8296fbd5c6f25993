//! VerificationTable are judged by their evidence, not by their own claim.

use std::collections::BTreeMap;

use crate::participation::list;
use crate::*;

/// The evidence of an effective fault, between `from` and `to`, for everything that it hits.
pub(crate) fn seen(
    fault: &Event,
    stage: VerificationStage,
    servers: u32,
    (from, to): (Nanos, Nanos),
) -> Option<Evidence> {
    let Event::Fault(fault) = fault else { return None };
    let FaultOrder { kind, hosts, cands, servers: hit, .. } = &**fault;
    let facts = kind.facts();
    let links = || hosts.iter().flat_map(|&host| (1..=servers).map(move |server| (host, server)));
    let asked = |at: Nanos, until: Nanos, came: ProbeAnswer| Probe { at, until, came };
    let after = asked(to, to + 900_000, ProbeAnswer::Answered);
    let before = asked(from.saturating_sub(2_000_000), from.saturating_sub(1_000_000), ProbeAnswer::Answered);
    let silence = asked(to, to + 150_000_000, ProbeAnswer::Silence);
    let whole = |(host, server)| HealedLink { host, server, due: true, after };
    Some(match (facts.hits, stage) {
        (TargetClass::Nobody, _) | (TargetClass::Candidates, VerificationStage::Healed) => return None,
        (TargetClass::Candidates, VerificationStage::Injected) => {
            Evidence::Obeyed { cand: cands[0], sent: from, answered: to }
        }
        (TargetClass::Servers, _) => {
            let state = if stage == VerificationStage::Healed { Some(ServerState::Following) } else { facts.leaves };
            let all: Vec<u32> = if hit.is_empty() { (1..=servers).collect() } else { hit.clone() };
            let others =
                |of: u32| (1..=servers).filter(move |&other| other != of).map(move |other| [(of, other), (other, of)]);
            match state {
                Some(state) => Evidence::Servers { asked: all.into_iter().map(|server| (server, state)).collect() },
                None => Evidence::Apart { ways: all.into_iter().flat_map(others).flatten().collect(), bytes: None },
            }
        }
        (TargetClass::Hosts, _) if facts.withholds_effect => {
            Evidence::Withheld { hosts: hosts.iter().map(|&host| (host, 1)).collect() }
        }
        (TargetClass::Hosts, _) if facts.process != ProcessFate::Kept => {
            let fate = if stage == VerificationStage::Healed { ProcessFate::Kept } else { facts.process };
            Evidence::of_processes(hosts.iter().map(|&host| (host, fate)).collect())
        }
        (TargetClass::Hosts, VerificationStage::Healed) => Evidence::Whole { links: links().map(whole).collect() },
        (TargetClass::Hosts, VerificationStage::Injected) => match facts.cuts {
            Some(way) => {
                let cut = |(host, server)| PartitionedLink {
                    host,
                    server,
                    before,
                    old: Some(silence),
                    new: silence,
                    direct: after,
                    bytes: Some([(700, 900), (700, 900)]),
                };
                Evidence::Cut { way, links: links().map(cut).collect() }
            }
            None if facts.until_healed => {
                let (seen_ms, due_ms) = (Some(99.0), 100.0);
                let held = Slowness { what: "later by".into(), seen_ms, of: Vec::new(), due_ms, spared: false };
                Evidence::Slow { links: links().collect(), held: vec![held] }
            }
            None => {
                let reset = |(host, server)| ResetLink { host, server, before, closed: Some(true), left: false, after };
                Evidence::Reset { links: links().map(reset).collect() }
            }
        },
    })
}

/// The result of the check of verifications for a partition with this evidence.
fn of(change: impl Fn(&mut Evidence)) -> (Verdict, String) {
    let mut cell = partition(22_000);
    for event in &mut cell.coordinator {
        let Event::Verification(verification) = event else { continue };
        if let (VerificationStage::Injected, Some(seen)) = (verification.stage, &mut verification.seen) {
            change(seen);
        }
    }
    let summary = cell.summary();
    let check = check(&summary, "verification");
    (check.verdict, check.reason().to_owned())
}

fn of_links(change: impl Fn(&mut Vec<PartitionedLink>)) -> (Verdict, String) {
    of(|seen| {
        if let Evidence::Cut { links, .. } = seen {
            change(links);
        }
    })
}

#[test]
fn a_partition_is_verified_by_every_link_that_it_claims_to_cut() {
    assert_eq!(of(|_| ()).0, Pass);
    type EvidenceEdit = fn(&mut PartitionedLink);
    let wrong: [(&str, EvidenceEdit); 8] = [
        ("did not answer before", |link| link.before.came = ProbeAnswer::Silence),
        ("answers", |link| link.new.came = ProbeAnswer::Answered),
        ("answers", |link| link.old.as_mut().unwrap().came = ProbeAnswer::Answered),
        ("no connection from before", |link| link.old = None),
        ("tells nobody", |link| link.new.came = ProbeAnswer::Closed),
        ("so was its server", |link| link.direct.came = ProbeAnswer::Silence),
        ("so was its server", |link| link.direct.until = link.new.until - 1),
        ("passed bytes", |link| link.bytes.as_mut().unwrap()[1].0 += 4),
    ];
    for (says, change) in wrong {
        let (verdict, why) = of_links(|links| change(&mut links[1]));
        assert_eq!(verdict, Inconclusive, "{says}");
        assert!(why.contains(says) && why.contains("server 2"), "{says}: {why}");
    }
    let (verdict, why) = of_links(|links| _ = links.pop());
    assert!(verdict == Inconclusive && why.contains("host 0 to server 3 was not looked at"), "{why}");
    let (verdict, why) =
        of_links(|links| links[0].before = Probe { at: ms(20_500), until: ms(20_501), ..links[0].before });
    assert!(verdict == Inconclusive && why.contains("looked at before it was injected, or after"), "{why}");
    assert_eq!(
        of(|seen| if let Evidence::Cut { way, .. } = seen {
            *way = Direction::Up
        })
        .0,
        Inconclusive
    );
}

#[test]
fn where_only_answers_are_cut_a_connection_may_close() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::PartitionDown);
    cell.lasting(FaultKind::PartitionDown, 0, &[0], (20_000, 21_000));
    for event in &mut cell.coordinator {
        let Event::Verification(verification) = event else { continue };
        if let Some(Evidence::Cut { links, .. }) = verification.seen.as_deref_mut() {
            links[0].new.came = ProbeAnswer::Closed;
            // Upward traffic still passes.
            links[0].bytes = Some([(10, 20), (18, 20)]);
        }
    }
    assert_eq!(cell.verdict("verification"), Pass);
}

#[test]
fn a_partition_without_a_word_on_what_was_looked_at_is_not_verified() {
    let mut cell = partition(22_000);
    for event in &mut cell.coordinator {
        if let Event::Verification(verification) = event {
            verification.seen = None;
        }
    }
    let summary = cell.summary();
    assert_eq!(check(&summary, "verification").verdict, Inconclusive);
    let mut crash = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
    crash.crash(20_000, 300);
    for event in &mut crash.coordinator {
        if let Event::Verification(verification) = event {
            verification.seen = None;
        }
    }
    let summary = crash.summary();
    let verifications = check(&summary, "verification");
    assert_eq!(verifications.verdict, Pass, "records of old are believed");
    assert!(verifications.details[0].contains("not recorded"), "{verifications:?}");
}

#[test]
fn a_process_that_runs_on_was_not_killed_whatever_its_verification_says() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
    cell.crash(20_000, 300);
    for event in &mut cell.coordinator {
        if let Event::Verification(verification) = event {
            let (hosts, killed) = (vec![(0, ProcessFate::Kept)], Vec::new());
            verification.seen = Some(Box::new(Evidence::Processes { hosts, killed }));
        }
    }
    let summary = cell.summary();
    assert_eq!(check(&summary, "verification").verdict, Inconclusive);
    assert_eq!((summary.faults.verified, summary.handovers.completed), (0, 0), "its samples do not count");
}

/// A follower is ordered to resign, and its deletion is answered.
fn resignation_of_nobody() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
    cell.inject(FaultKind::Resign, 1, &[0], 20_000, None);
    cell.left(0, 1, 20_004, Departure::Resigned { delete: Some((ms(20_002), ms(20_003))) });
    cell.join(0, 1, 20_020);
    cell.resign(0, 30_000);
    cell
}

#[test]
fn a_resignation_of_nobody_is_not_verified() {
    let summary = resignation_of_nobody().summary();
    let verifications = check(&summary, "verification");
    assert_eq!(verifications.verdict, Inconclusive);
    assert!(verifications.reason().contains("nobody who led resigned"), "{verifications:?}");
    assert_eq!((summary.faults.verified, summary.faults.unverified), (1, 1));
}

/// The leader is ordered to resign, and says that its deletion was answered at 20.003 s. Nobody follows.
fn resignation_in_word(recipe: &str) -> Cell {
    let mut cell = Cell::new(recipe, 1, 3, FaultKind::Resign);
    cell.inject(FaultKind::Resign, 0, &[0], 20_000, None);
    cell.revoke(0, 0, 20_001, RevokeReason::Resigned);
    cell.left(0, 0, 20_004, Departure::Resigned { delete: Some((ms(20_002), ms(20_003))) });
    cell
}

#[test]
fn a_resignation_whose_znode_still_owns_the_lead_after_t_is_not_verified() {
    let verified = |until: u64, missed: Option<u64>| {
        let mut cell = resignation_in_word("predecessor-watch");
        cell.own(0, 1, until);
        let missed = missed.map(|at| Event::ObserverMissed { t: ms(at), group: None, why: "no answer".to_owned() });
        cell.observer.extend(missed);
        let summary = cell.summary();
        (summary.faults.verified, summary.handovers.planned)
    };
    assert_eq!(verified(20_003 + T - 100, None), (1, 1));
    assert_eq!(verified(20_003 + T + 100, None), (0, 0));
    assert_eq!(verified(20_003 + T + 100, Some(21_000)), (1, 1), "the observer may not have been notified");
}

#[test]
fn a_leader_that_leads_on_by_the_znode_that_it_said_was_deleted_has_not_resigned() {
    let mut cell = resignation_in_word("predecessor-watch");
    cell.believe(0, 0, 30_000);
    let summary = cell.summary();
    let verifications = check(&summary, "verification");
    assert_eq!(verifications.verdict, Fail, "it is the candidate that is wrong, and no probe");
    assert!(verifications.reason().contains("still owned the lead T after its deletion"), "{verifications:?}");
    let handovers = &summary.handovers;
    assert_eq!((handovers.completed, handovers.retaken, handovers.survived), (0, 0, 0));
}

#[test]
fn a_resignation_whose_znode_all_servers_list_at_the_end_is_not_verified() {
    let verified = |recipe: &str, with: &[u32], without: &[u32]| {
        let mut cell = resignation_in_word(recipe);
        cell.own(0, 1, 20_003);
        let held = BTreeMap::from([(format!("/election/g0/{}", cell.node(0, 0)), cell.session(0, 0))]);
        list(&mut cell, with, Holdings { ephemerals: held, ..Holdings::default() });
        list(&mut cell, without, Holdings::default());
        cell.summary().faults.verified
    };
    assert_eq!(verified("predecessor-watch", &[], &[1, 2, 3]), 1);
    assert_eq!(verified("predecessor-watch", &[1, 2, 3], &[]), 0);
    assert_eq!(verified("predecessor-watch", &[1], &[2, 3]), 1, "it may be behind the others");
    assert_eq!(verified("lock-race", &[1, 2, 3], &[]), 1, "it may have taken another lock of that name");
}

#[test]
fn a_fault_that_is_not_seen_to_take_effect_beside_a_stall_of_its_target_would_be_without_it() {
    let by_stalls = |host: u16| {
        let mut cell = resignation_of_nobody();
        cell.host(host).push(Event::Stall { from: ms(19_400), to: ms(19_900), ran_ns: 0, program: false });
        let summary = cell.summary();
        let check = check(&summary, "verification");
        assert_eq!(check.verdict, Inconclusive);
        check.by_stalls
    };
    assert!(by_stalls(1));
    assert!(!by_stalls(2), "of another host");
}

#[test]
fn a_fault_that_is_not_seen_to_take_effect_may_come_of_many_short_stalls_or_of_servers_that_did_not_run() {
    let by_stalls = |stalls: u64, event: fn(u64) -> Event| {
        let mut cell = resignation_of_nobody();
        let all = (0..stalls).map(|n| event(16_100 + 100 * n));
        match event(0) {
            Event::Stall { .. } => cell.host(1).extend(all),
            _ => cell.coordinator.extend(all),
        }
        let summary = cell.summary();
        let check = check(&summary, "verification");
        assert_eq!(check.verdict, Inconclusive);
        check.by_stalls
    };
    let stall = |from: u64| Event::Stall { from: ms(from), to: ms(from + 50), ran_ns: 0, program: true };
    let wait = |from: u64| Event::ServerWait { from: ms(from), to: ms(from + 50), server: 1 };
    for event in [stall as fn(u64) -> Event, wait] {
        assert_eq!([7, 9].map(|stalls| by_stalls(stalls, event)), [false, true], "a tenth of T is 400 ms");
    }
}

/// The verification of a fault between these times: by this evidence, or not seen to take effect where there is none.
pub(crate) fn verify(cell: &mut Cell, id: u32, (from, to): (u64, u64), seen: Option<Evidence>) {
    let verified = seen.is_some();
    let evidence = if verified { "seen" } else { "no answer within 10 s" }.to_owned();
    let (stage, from, to, touches) = (VerificationStage::Injected, ms(from), ms(to), Vec::new());
    let seen = seen.map(Box::new);
    let verification = VerificationEvent { id, stage, from, to, verified, evidence, touches, seen };
    cell.coordinator.push(Event::Verification(Box::new(verification)));
}

#[test]
fn an_order_that_is_not_answered_is_explained_only_by_stalls_of_more_than_half_of_the_wait() {
    let by_stalls = |waited: u64, stalls: &[(u64, u64)]| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
        let id = cell.fault(FaultKind::Resign, 0, &[0], 30_000, None);
        verify(&mut cell, id, (30_000, 30_000 + waited), None);
        for &(from, to) in stalls {
            cell.host(0).push(Event::Stall { from: ms(from), to: ms(to), ran_ns: 0, program: false });
        }
        let summary = cell.summary();
        let check = check(&summary, "verification");
        assert_eq!(check.verdict, Inconclusive);
        check.by_stalls
    };
    // T is 4 s: a stall has effects for 8 s, and is long if it lasts for more than 400 ms.
    let short = |count: u64| -> Vec<(u64, u64)> { (0..count).map(|n| (27_000 + 500 * n, 27_390 + 500 * n)).collect() };
    assert!(!by_stalls(10_000, &[]));
    assert!(!by_stalls(10_000, &short(9)), "3.5 s in all");
    assert!(by_stalls(10_000, &short(14)), "5.5 s in all");
    assert!(by_stalls(200, &short(9)), "somebody else may have led when it was ordered");
    assert!(by_stalls(10_000, &[(30_500, 31_000)]), "its session may have ended");
    assert!(!by_stalls(10_000, &[(36_000, 36_500)]), "it had not answered for 6 s by then");
    assert!(!by_stalls(10_000, &[(22_500, 23_000)]), "its effects were over soon");
    assert!(by_stalls(200, &[(22_500, 23_000)]));
}

/// The result of the check of the record for a watched cell with this addition.
fn whole(added: impl FnOnce(&mut Cell)) -> (Verdict, String) {
    let mut cell = Cell::of_servers(3, FaultKind::ServerKill);
    cell.watch();
    cell.lose_server_3(20_000, 2);
    added(&mut cell);
    let summary = cell.summary();
    let record = check(&summary, "record");
    (record.verdict, record.reason().to_owned())
}

#[test]
fn looks_that_do_not_add_up_to_what_is_said_of_them_are_inconclusive() {
    let looked = |looks: u64, longest_gap_ns| {
        whole(|cell| {
            let one_by_one = vec![(0, 3), (25, 4), (31, 2)];
            cell.coordinator.push(Event::ServerLooks { t: ms(9_000), server: 4, looks: one_by_one });
            cell.coordinator.push(Event::ServerLooks { t: ms(9_900), server: 4, looks: vec![(20, 3)] });
            cell.coordinator.push(Event::ServerWatched { t: ms(99_000), server: 4, looks, longest_gap_ns });
        })
    };
    assert_eq!(looked(4, 31).0, Pass);
    for (looks, gap) in [(5, 31), (4, 30), (4, 32)] {
        let (verdict, why) = looked(looks, gap);
        assert!(verdict == Inconclusive && why.contains("looks at server 4"), "{why}");
    }
}

#[test]
fn links_are_as_slow_as_their_probes_say() {
    let slow = |during: &[u64]| {
        let during = during.iter().map(|&time| ms(time)).collect();
        let of = vec![ProbeTimes { host: 0, server: 1, before: Some(vec![ms(2), ms(1)]), during }];
        let held = Slowness { what: "later by".into(), seen_ms: Some(99.0), of, due_ms: 100.0, spared: false };
        Evidence::Slow { links: vec![(0, 1)], held: vec![held] }.shows(FaultKind::Slow, VerificationStage::Injected)
    };
    assert_eq!(slow(&[130, 100]), Ok(()));
    for not in [&[130, 90][..], &[130], &[]] {
        assert!(slow(not).is_err_and(|why| why.contains("not what the probes say")), "{not:?}");
    }
}

#[test]
fn only_a_lost_reply_is_healed_where_no_link_is_due_to_answer() {
    let healed = |kind: FaultKind, due: bool| {
        let after = Probe { at: ms(10), until: ms(510), came: ProbeAnswer::Silence };
        let links = vec![HealedLink { host: 0, server: 1, due, after }];
        Evidence::Whole { links }.shows(kind, VerificationStage::Healed)
    };
    assert_eq!(healed(FaultKind::LostReply, false), Ok(()));
    for (kind, due) in [(FaultKind::LostReply, true), (FaultKind::Partition, false), (FaultKind::Slow, false)] {
        assert!(healed(kind, due).is_err(), "{kind} {due}");
    }
}

#[test]
fn an_observer_whose_weight_is_not_what_the_counters_say_is_inconclusive() {
    let weighed = |per_deletion: f64| {
        whole(|cell| {
            let (t, per_creation, per_change) = (ms(900), Some(1.0), Some(0.0));
            let one = |server| WatchCounts { server, znodes: 4, before: [1.0, 2.0, 3.0], after: [5.0, 4.0, 3.0] };
            let counted = vec![one(1), one(2)];
            cell.observer.push(Event::ObserverWeight(Box::new(ObserverWeight {
                t,
                per_deletion,
                per_creation,
                per_change,
                counted,
            })));
        })
    };
    assert_eq!(weighed(2.0).0, Pass);
    let (verdict, why) = weighed(1.0);
    assert!(verdict == Inconclusive && why.contains("the observer's watch"), "{why}");
}

#[test]
fn a_gap_between_writes_that_the_acknowledgements_do_not_show_is_inconclusive() {
    let probed = |acknowledged, to| {
        whole(|cell| {
            cell.coordinator.retain(|e| {
                !matches!(e, Event::WriteProbe { .. } | Event::WriteGap { .. } | Event::WriteProbed { .. })
            });
            cell.coordinator.push(Event::WriteProbe { t: ms(9_000), every_ns: ms(25) });
            cell.coordinator.push(Event::WritesAcknowledged { t: ms(9_010), then: vec![ms(30), ms(500)] });
            cell.coordinator.push(Event::WritesAcknowledged { t: ms(9_560), then: vec![] });
            cell.coordinator.push(Event::WriteGap { from: ms(9_040), to: ms(to), ended: false });
            cell.coordinator.push(Event::WriteProbed { t: ms(9_600), acknowledged });
        })
    };
    assert_eq!(probed(4, 9_540), (Pass, probed(4, 9_540).1));
    assert!(probed(5, 9_540).1.contains("5 writes of the probes"));
    assert!(probed(4, 9_440).1.contains("the longest gap between the probes' writes is 500000000 ns"));
    assert_eq!(probed(4, 9_440).0, Inconclusive);
}

#[test]
fn logs_whose_clock_was_set_meanwhile_prove_nothing() {
    let set = |bound_ns| {
        whole(|cell| {
            cell.coordinator.push(Event::ServerLog { t: ms(20_000), server: 1, line: ServerLine::Looking });
            cell.coordinator.push(Event::LogClock { t: ms(99_000), ahead_ns: 7, bound_ns });
        })
    };
    assert_eq!(set(ms(2)).0, Pass);
    assert_eq!(set(ms(80)).0, Inconclusive);
}
