//! Processes observed not to run, and stalls that may have caused a failure.

use crate::deadlines::with_stalled;
use crate::leads::orphan;
use crate::*;

type CellMaker<'a> = &'a dyn Fn() -> Cell;

fn outage(who: &str, from: u64, to: Option<u64>) -> Event {
    Event::Outage { from: ms(from), to: to.map(ms), who: who.to_owned() }
}

/// The result of a check where this process was observed not to run.
fn seen(mut cell: Cell, checker: &str, outage: Option<Event>) -> (Verdict, Vec<String>) {
    cell.coordinator.extend(outage);
    let summary = cell.summary();
    let found = check(&summary, checker);
    (found.verdict, found.details.clone())
}

#[test]
fn a_server_that_was_seen_not_to_run_is_named_and_nobody_is_blamed() {
    assert_eq!(seen(cut_off_failover(), "handovers", None).0, Fail);
    let (verdict, details) = seen(cut_off_failover(), "handovers", Some(outage("server 2", 28_000, Some(29_500))));
    assert_eq!(verdict, Inconclusive);
    assert!(details.iter().any(|line| line.contains("server 2 did not run for 1.50 s")), "{details:?}");
    let long_before = outage("server 2", 12_000, Some(13_000));
    assert_eq!(seen(cut_off_failover(), "handovers", Some(long_before)).0, Fail);
}

#[test]
fn nobody_is_blamed_for_a_host_that_died_by_itself() {
    let ended = |killed: bool| {
        let mut cell = Cell::new("predecessor-watch", 1, 5, FaultKind::Resign);
        cell.kill(0, 20_000);
        if let Some(Event::HostEnded { killed: meant, .. }) = cell.coordinator.last_mut() {
            *meant = killed;
        }
        cell.lead(0, 1, 21_500);
        let summary = cell.summary();
        let found = check(&summary, "handovers");
        (found.verdict, summary.handovers.unplanned, found.details.clone())
    };
    let (verdict, unplanned, details) = ended(false);
    assert_eq!((verdict, unplanned), (Inconclusive, 1), "{details:?}");
    assert!(details.iter().any(|line| line.contains("host-0 did not run")), "{details:?}");
    assert_eq!(ended(true).0, Fail, "by an order that no fault tells of");
}

#[test]
fn who_never_comes_back_is_away_until_the_end() {
    let (verdict, details) = seen(false_failover(), "stalls", Some(outage("server 2", 20_000, None)));
    let told = format!("server 2 did not run for {}.0 s", (END - 20_000) / 1_000);
    assert!(verdict == Inconclusive && details.iter().any(|line| line.contains(&told)), "{details:?}");
}

#[test]
fn looks_that_follow_on_each_other_are_one_outage() {
    let mut cell = false_failover();
    for from in [28_000, 28_300, 28_600] {
        cell.coordinator.push(outage("server 1", 28_000, Some(from + 300)));
    }
    let stalls = cell.summary().stalls;
    assert_eq!((stalls.count, stalls.longest_ns), (1, ms(900)));
}

#[test]
fn what_a_process_tells_of_its_own_stall_is_told_once() {
    let mut cell = false_failover();
    cell.coordinator.push(outage("proxy-0", 27_800, Some(29_600)));
    let summary = with_stalled(cell, "proxy-0", 1_500);
    assert_eq!((summary.stalls.count, summary.stalls.longest_ns), (1, ms(1_500)));
}

#[test]
fn a_short_stall_before_a_process_stands_still_is_not_that() {
    let stalls = |from: u64, to: u64, seen: (u64, u64)| {
        let mut record = false_failover().record();
        let mut proxy = record.cells[0].segments[1].clone();
        (proxy.writer, proxy.file) = ("proxy-0".to_owned(), "events/proxy-0".to_owned());
        let stall = Event::Stall { from: ms(from), to: ms(to), ran_ns: 0, program: false };
        proxy.events = vec![proxy.events[0].clone(), stall];
        record.cells[0].segments.push(proxy);
        record.cells[0].segments[0].events.push(outage("proxy-0", seen.0, Some(seen.1)));
        let stalls = summarise(&record).cells.remove(0).stalls;
        (stalls.count, stalls.longest_ns)
    };
    assert_eq!(stalls(28_000, 28_012, (28_005, 38_000)), (2, ms(9_995)));
    assert_eq!(stalls(28_240, 28_260, (28_000, 28_250)), (1, ms(20)), "it goes on to where it was last seen");
    assert_eq!(stalls(28_000, 29_500, (27_800, 29_600)), (1, ms(1_500)), "looking takes time");
}

#[test]
fn what_a_stall_may_have_brought_about_is_no_failure() {
    let written = || {
        let mut cell = partition(25_600);
        cell.info.fencing = Fencing::Unfenced;
        cell.write(0, 0, 25_560);
        cell
    };
    let cases: [(&str, CellMaker<'_>, Option<u16>, u64, u64); 2] =
        [("ownership", &orphan, None, 20_500, 99_000), ("stale-writes", &written, Some(0), 24_000, 25_550)];
    for (checker, cell, host, from, to) in cases {
        let stalled = |(from, to): (u64, u64)| {
            let (mut cell, stall) = (cell(), Event::Stall { from: ms(from), to: ms(to), ran_ns: 0, program: false });
            match host {
                Some(host) => cell.host(host).push(stall),
                None => cell.coordinator.push(outage("server 2", from, Some(to))),
            }
            let summary = cell.summary();
            let found = check(&summary, checker);
            (found.verdict, found.details.clone())
        };
        let (verdict, details) = stalled((from, to));
        assert_eq!(verdict, Inconclusive, "{checker}: {details:?}");
        assert_eq!(stalled((11_000, 11_050)).0, Fail, "{checker}: a short one, long before");
        assert_eq!(cell().verdict(checker), Fail, "{checker}");
    }
}

/// How long a candidate may own the lead without believing.
const ALLOWED: u64 = 2 * T + 2 * TICK + 1_000;

/// The leader stops believing at 20 s and owns the lead until `owned`.
pub(crate) fn owns_until(owned: u64) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Partition);
    cell.revoke(0, 0, 20_000, RevokeReason::Deposed);
    cell.lead(0, 1, owned);
    cell
}

#[test]
fn after_a_stall_of_a_server_an_owner_has_its_whole_time_again_and_no_more() {
    let stalled = |owned: u64, stalls: &[(u64, u64)]| {
        let mut cell = owns_until(owned);
        cell.coordinator.extend(stalls.iter().map(|&(from, to)| outage("server 3", from, Some(to))));
        cell.verdict("ownership")
    };
    assert_eq!((stalled(20_000 + ALLOWED, &[]), stalled(20_200 + ALLOWED, &[])), (Pass, Fail));
    let whole = (22_000, 27_000);
    assert_eq!(stalled(26_800 + ALLOWED, &[whole]), Inconclusive, "sessions have their time anew");
    assert_eq!(stalled(27_200 + ALLOWED, &[whole]), Fail, "and that was over");
    let afterwards = (20_200 + ALLOWED, 24_000 + ALLOWED);
    assert_eq!(stalled(25_000 + ALLOWED, &[afterwards]), Fail, "its time was over before");
    let short: Vec<(u64, u64)> = (0..5).map(|each| (21_000 + each * 500, 21_100 + each * 500)).collect();
    assert_eq!(stalled(20_400 + ALLOWED, &short), Inconclusive, "short ones cost what they take");
    assert_eq!(stalled(20_600 + ALLOWED, &short), Fail, "and no more");
}

#[test]
fn a_fault_on_an_owner_whose_time_is_over_excuses_nothing() {
    let cut = |from: u64, owned: u64| {
        let mut cell = owns_until(owned);
        cell.lasting(FaultKind::Partition, 0, &[0], (from, from + 2_000));
        cell.verdict("ownership")
    };
    assert_eq!(cut(22_000, 23_500 + ALLOWED), Pass);
    assert_eq!(cut(20_500 + ALLOWED, 23_500 + ALLOWED), Fail);
}
