//! Verdicts of real runs: broken recipes are caught, correct ones pass, and unverified faults do not count.

use crate::run_support::scenario::{on_one_server, scenario};
use crate::run_support::{Bench, ProgramOutput, cell, check, checkers_of};
use hustings_reports::summary::Summary;
use hustings_reports::verdict::Verdict;

/// A machine may be too busy to measure anything; that is irrelevant to these tests.
const ATTEMPTS: u32 = 3;

/// Runs the scenario, and again after a wrong result during a stall of the machine.
fn judged(text: &str, as_it_should: fn(&Summary) -> bool) -> (ProgramOutput, Summary) {
    for attempt in 1.. {
        let bench = Bench::new();
        let ran = bench.record(text, &[]);
        let summary = ran.summary();
        let disturbed = summary.cells.iter().any(|cell| cell.stalls.over_limit > 0);
        if as_it_should(&summary) || !disturbed || attempt == ATTEMPTS {
            return (ran, summary);
        }
    }
    unreachable!("there is a last attempt")
}

fn nothing_of_the_correct_one_fails(summary: &Summary) -> bool {
    checkers_of(cell(summary, "predecessor-watch"), Verdict::Fail).is_empty()
}

#[test]
fn a_recipe_that_does_not_list_again_is_caught() {
    let sections = r#"
[faults]
resign = { kind = "resign", target = "followers", groups = 6, repeat = 2 }

[matrix]
recipe = ["broken:no-relist", "predecessor-watch"]
"#;
    let (ran, summary) = judged(&scenario("", sections), nothing_of_the_correct_one_fails);
    let ran = ran.expect(1);
    let broken = cell(&summary, "no-relist");
    assert_eq!(broken.verdict, Verdict::Fail);
    assert!(checkers_of(broken, Verdict::Fail).contains(&"split-brain"), "{:#?}", broken.checks);
    assert!(broken.split_brain.active.seen > 0 && broken.writes.unfenced.seen > 0);
    assert!(nothing_of_the_correct_one_fails(&summary), "{:#?}", cell(&summary, "predecessor-watch").checks);
    // The terminal output names the check, too.
    assert!(ran.err.contains("split-brain") && ran.err.contains("FAIL"), "{}", ran.err);
}

#[test]
fn a_recipe_that_ignores_the_end_of_its_session_is_caught() {
    let sections = r#"
[faults]
# Several, so that a machine that stalls now and then does not void them all.
expire = { kind = "expire", groups = 3, repeat = 4, every_ms = 400 }

[matrix]
recipe = ["broken:ignores-session-loss", "predecessor-watch"]

# At the end of a session old and new leader are told at the same moment: who hears first is chance.
[[expect]]
when = { recipe = "predecessor-watch" }
overlap = "any"
overlap_of_t_max = 0.5
stale_writes = "any"
"#;
    let (ran, summary) = judged(&on_one_server(&scenario("", sections)), nothing_of_the_correct_one_fails);
    ran.expect(1);
    let broken = cell(&summary, "ignores-session-loss");
    let failed = checkers_of(broken, Verdict::Fail);
    assert!(failed.contains(&"split-brain") && failed.contains(&"stale-writes"), "{:#?}", broken.checks);
    assert!(broken.writes.fenced_off > 0, "the fence stops what it writes: {:?}", broken.writes);
    assert!(nothing_of_the_correct_one_fails(&summary), "{:#?}", cell(&summary, "predecessor-watch").checks);
}

#[test]
fn faults_that_do_not_happen_make_a_run_inconclusive() {
    let partition = "[faults.partition]\nkind = \"partition\"\nfor_t = 1.5\n";
    // A session lost by a slow machine is irrelevant here.
    let doubtless = "\n[[expect]]\nunplanned = \"any\"\n";
    let bench = Bench::new();
    let text = on_one_server(&scenario("", partition)) + doubtless;
    let ran = bench.record(&text, &["--lying-proxy"]).expect(3);
    bench.run(&["check", "record"]).expect(3);
    bench.run(&["report", "record"]).expect(3);
    let summary = ran.summary();
    let cell = &summary.cells[0];
    assert_eq!((summary.verdict, cell.verdict), (Verdict::Inconclusive, Verdict::Inconclusive));
    let doubted = checkers_of(cell, Verdict::Inconclusive);
    assert!(doubted.contains(&"verification") && doubted.contains(&"failover"), "{:#?}", cell.checks);
    assert!(!cell.faults.verifications.is_empty() && cell.faults.verifications.iter().all(|one| !one.verified));
    let zero = check(cell, "split-brain").verdict;
    assert_eq!(zero, Verdict::Inconclusive, "a zero without a verified fault is worth nothing");
    assert!(ran.err.contains("verification"), "{}", ran.err);
}
