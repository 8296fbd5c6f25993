//! Planned faults in simulated records: each is injected or withheld, and counted.

use hustings_record::{CellRecord, Event, FaultKind};
use hustings_reports::analysis::summarise_cell;
use hustings_reports::verdict::Verdict;
use hustings_workloads::scenario::{Cell, Scenario};

use crate::records::record;

/// All hosts are cut off from one server for a while, twice, and in between leaders are hit by another fault.
fn together(with: &str) -> Cell {
    let text = format!(
        "name = \"together\"\n[ensemble]\nservers = 3\ntick_ms = 100\ninit_limit = 50\nsync_limit = 20\n[election]\n\
         step_down = \"on-disconnect\"\nrejoin_after_ms = 150\ngroups = 6\nhosts = 4\ncandidates_per_group = 3\n\
         session_timeout_ms = 3000\nwork_interval_ms = 40\n[phases]\nwarm_up_ms = 300\ndrain_ms = 500\n\
         [faults.cut]\nkind = \"partition\"\ntarget = \"share\"\nshare = 1.0\nservers = [2]\nfor_t = 1.5\nrepeat = 2\n\
         every_ms = 6000\nwith = \"too\"\nwith_after_ms = 200\n[faults.too]\nkind = \"{with}\"\ntarget = \"leaders\"\n\
         groups = 6\n[matrix]\nrecipe = \"predecessor-watch\"\nfault = [\"cut\"]\n[[expect]]\noverlap = \"any\"\n\
         stale_writes = \"any\"\nunplanned = \"none\"\nbecause = \"the old leader cannot be told\"\n"
    );
    let parsed = Scenario::parse(&text, "together", &[]);
    parsed.unwrap_or_else(|error| panic!("{error}")).cells().remove(0)
}

fn ordered(record: &CellRecord, of: FaultKind) -> usize {
    record.events().filter(|(_, event)| matches!(event, Event::Fault(fault) if fault.kind == of)).count()
}

#[test]
fn a_group_is_made_anew_though_every_host_is_cut_off_from_a_server() {
    let record = record(&together("parent-delete"), 1);
    let summary = summarise_cell(&record);
    assert_eq!(ordered(&record, FaultKind::ParentDelete), 12);
    assert_eq!((summary.faults.planned, summary.faults.planned_verified), (4, 4), "{:#?}", summary.faults);
    let verifications = summary.checks.iter().find(|check| check.name == "verification").expect("it is checked");
    assert_eq!(verifications.verdict, Verdict::Pass, "{verifications:#?}");
}

#[test]
fn resignations_of_hosts_that_are_cut_off_are_withheld_and_the_cell_is_inconclusive() {
    let record = record(&together("resign"), 1);
    let summary = summarise_cell(&record);
    assert_eq!((ordered(&record, FaultKind::Resign), summary.faults.withheld.len()), (0, 2));
    assert_eq!((summary.faults.planned, summary.faults.planned_verified), (4, 2));
    assert_eq!(summary.verdict, Verdict::Inconclusive, "{:#?}", summary.checks);
}
