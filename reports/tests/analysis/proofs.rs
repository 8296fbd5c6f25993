//! Receipts are judged by what was looked at, not by their word.

use hustings_record::*;
use hustings_reports::verdict::Verdict::{self, Inconclusive, Pass};

use crate::builder::{Cell, check, ms};
use crate::leads::partition;

/// What is seen of a fault that works, between `from` and `to`: of all that it hits.
pub(crate) fn seen(fault: &Event, stage: ReceiptStage, servers: u32, (from, to): (Nanos, Nanos)) -> Option<Seen> {
    let Event::Fault { kind, hosts, cands, servers: hit, .. } = fault else { return None };
    let facts = kind.facts();
    let links = || hosts.iter().flat_map(|&host| (1..=servers).map(move |server| (host, server)));
    let asked = |at: Nanos, until: Nanos, came: Answer| Asked { at, until, came };
    let after = asked(to, to + 900_000, Answer::Answered);
    let before = asked(from.saturating_sub(2_000_000), from.saturating_sub(1_000_000), Answer::Answered);
    let silence = asked(to, to + 150_000_000, Answer::Silence);
    let whole = |(host, server)| WholeLink { host, server, due: true, after };
    Some(match (facts.hits, stage) {
        (Hits::Nobody, _) | (Hits::Candidates, ReceiptStage::Healed) => return None,
        (Hits::Candidates, ReceiptStage::Injected) => Seen::Obeyed { cand: cands[0], sent: from, answered: to },
        (Hits::Servers, _) => {
            let state = if stage == ReceiptStage::Healed { Some(ServerState::Following) } else { facts.leaves };
            let all: Vec<u32> = if hit.is_empty() { (1..=servers).collect() } else { hit.clone() };
            let others =
                |of: u32| (1..=servers).filter(move |&other| other != of).map(move |other| [(of, other), (other, of)]);
            match state {
                Some(state) => Seen::Servers { asked: all.into_iter().map(|server| (server, state)).collect() },
                None => Seen::Apart { ways: all.into_iter().flat_map(others).flatten().collect(), bytes: None },
            }
        }
        (Hits::Hosts, _) if facts.process != ProcessFate::Kept => {
            let fate = if stage == ReceiptStage::Healed { ProcessFate::Kept } else { facts.process };
            Seen::Processes { hosts: hosts.iter().map(|&host| (host, fate)).collect() }
        }
        (Hits::Hosts, ReceiptStage::Healed) => Seen::Whole { links: links().map(whole).collect() },
        (Hits::Hosts, ReceiptStage::Injected) => match facts.cuts {
            Some(way) => {
                let cut = |(host, server)| CutLink {
                    host,
                    server,
                    before,
                    old: Some(silence),
                    new: silence,
                    direct: after,
                    bytes: Some([(700, 900), (700, 900)]),
                };
                Seen::Cut { way, links: links().map(cut).collect() }
            }
            None if facts.until_healed => {
                let held = Slowness { what: "later by".into(), seen_ms: Some(99.0), due_ms: 100.0, spared: false };
                Seen::Slow { links: links().collect(), held: vec![held] }
            }
            None => {
                let reset = |(host, server)| ResetLink { host, server, before, closed: Some(true), left: false, after };
                Seen::Reset { links: links().map(reset).collect() }
            }
        },
    })
}

/// What the checker of receipts says of a partition of which this was seen.
fn of(change: impl Fn(&mut Seen)) -> (Verdict, String) {
    let mut cell = partition(22_000);
    for event in &mut cell.coordinator {
        if let Event::Receipt { stage: ReceiptStage::Injected, seen: Some(seen), .. } = event {
            change(seen);
        }
    }
    let summary = cell.summary();
    let check = check(&summary, "receipts");
    (check.verdict, check.reason().to_owned())
}

fn of_links(change: impl Fn(&mut Vec<CutLink>)) -> (Verdict, String) {
    of(|seen| {
        if let Seen::Cut { links, .. } = seen {
            change(links);
        }
    })
}

#[test]
fn a_partition_is_proven_by_every_link_that_it_claims_to_cut() {
    assert_eq!(of(|_| ()).0, Pass);
    type Change = fn(&mut CutLink);
    let wrong: [(&str, Change); 8] = [
        ("did not answer before", |link| link.before.came = Answer::Silence),
        ("answers", |link| link.new.came = Answer::Answered),
        ("answers", |link| link.old.as_mut().unwrap().came = Answer::Answered),
        ("no connection from before", |link| link.old = None),
        ("tells nobody", |link| link.new.came = Answer::Closed),
        ("so was its server", |link| link.direct.came = Answer::Silence),
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
        of_links(|links| links[0].before = Asked { at: ms(20_500), until: ms(20_501), ..links[0].before });
    assert!(verdict == Inconclusive && why.contains("looked at before it was injected, or after"), "{why}");
    assert_eq!(
        of(|seen| if let Seen::Cut { way, .. } = seen {
            *way = Direction::Up
        })
        .0,
        Inconclusive
    );
}

#[test]
fn where_only_answers_are_cut_a_connection_may_close() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::PartitionDown);
    let id = cell.fault(FaultKind::PartitionDown, 0, &[0], 20_000, Some(1_000));
    cell.injected(id, 20_000);
    cell.healed(id, 21_000);
    for event in &mut cell.coordinator {
        let Event::Receipt { seen: Some(seen), .. } = event else { continue };
        if let Seen::Cut { links, .. } = &mut **seen {
            links[0].new.came = Answer::Closed;
            // What goes up still passes.
            links[0].bytes = Some([(10, 20), (18, 20)]);
        }
    }
    assert_eq!(cell.verdict("receipts"), Pass);
}

#[test]
fn a_partition_without_a_word_on_what_was_looked_at_is_not_proven() {
    let mut cell = partition(22_000);
    for event in &mut cell.coordinator {
        if let Event::Receipt { seen, .. } = event {
            *seen = None;
        }
    }
    let summary = cell.summary();
    assert_eq!(check(&summary, "receipts").verdict, Inconclusive);
    let mut crash = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
    crash.crash(20_000, 300);
    for event in &mut crash.coordinator {
        if let Event::Receipt { seen, .. } = event {
            *seen = None;
        }
    }
    let summary = crash.summary();
    let receipts = check(&summary, "receipts");
    assert_eq!(receipts.verdict, Pass, "records of old are believed");
    assert!(receipts.details[0].contains("not recorded"), "{receipts:?}");
}

#[test]
fn a_process_that_runs_on_was_not_killed_whatever_its_receipt_says() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
    cell.crash(20_000, 300);
    for event in &mut cell.coordinator {
        if let Event::Receipt { seen, .. } = event {
            *seen = Some(Box::new(Seen::Processes { hosts: vec![(0, ProcessFate::Kept)] }));
        }
    }
    let summary = cell.summary();
    assert_eq!(check(&summary, "receipts").verdict, Inconclusive);
    assert_eq!((summary.faults.verified, summary.handovers.completed), (0, 0), "its samples do not count");
}

/// A follower is told to resign, and its deletion is answered.
fn resignation_of_nobody() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
    let id = cell.fault(FaultKind::Resign, 1, &[0], 20_000, None);
    cell.injected(id, 20_000);
    cell.left(0, 1, 20_004, Departure::Resigned { delete: Some((ms(20_002), ms(20_003))) });
    cell.join(0, 1, 20_020);
    cell.resign(0, 30_000);
    cell
}

#[test]
fn a_resignation_of_nobody_is_not_proven() {
    let summary = resignation_of_nobody().summary();
    let receipts = check(&summary, "receipts");
    assert_eq!(receipts.verdict, Inconclusive);
    assert!(receipts.reason().contains("nobody who led resigned"), "{receipts:?}");
    assert_eq!((summary.faults.verified, summary.faults.unverified), (1, 1));
}
