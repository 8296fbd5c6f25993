//! Planned faults in simulated records: each is injected or withheld, and counted.

use hustings_record::{
    CellRecord, Direction, Event, Evidence, FaultKind, FaultOrder, VerificationEvent, VerificationStage,
};
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

/// The host that leads is cut off while a lost reply waits on it.
fn beside_a_lost_reply(lost_ms: u64, cut_ms: u64) -> CellRecord {
    let text = format!(
        "name = \"beside\"\n[ensemble]\nservers = 3\ntick_ms = 100\ninit_limit = 50\nsync_limit = 10\n[election]\n\
         step_down = \"on-disconnect\"\nrejoin_after_ms = 150\ngroups = 1\nhosts = 4\ncandidates_per_group = 4\n\
         session_timeout_ms = 1500\nwork_interval_ms = 40\n[phases]\nwarm_up_ms = 300\ndrain_ms = 500\n\
         [faults.lost]\nkind = \"lost-reply\"\ntarget = \"host-leading-most\"\nfor_ms = {lost_ms}\nwith = \"cut\"\n\
         with_after_ms = 0\n[faults.cut]\nkind = \"partition\"\ntarget = \"host-leading-most\"\nfor_ms = {cut_ms}\n\
         [matrix]\nrecipe = \"predecessor-watch\"\nfault = [\"lost\"]\n[[expect]]\noverlap = \"any\"\n\
         stale_writes = \"any\"\nunplanned = \"any\"\nbecause = \"only the faults matter\"\n"
    );
    let parsed = Scenario::parse(&text, "beside", &[]);
    record(&parsed.unwrap_or_else(|error| panic!("{error}")).cells().remove(0), 1)
}

fn order(record: &CellRecord, of: FaultKind) -> FaultOrder {
    let order = |event: &Event| if let Event::Fault(fault) = event { Some((**fault).clone()) } else { None };
    record.events().filter_map(|(_, event)| order(event)).find(|fault| fault.kind == of).expect("it is ordered")
}

fn verification(record: &CellRecord, of: FaultKind, stage: VerificationStage) -> VerificationEvent {
    let id = order(record, of).id;
    let seen = |event: &Event| if let Event::Verification(seen) = event { Some((**seen).clone()) } else { None };
    let mut all = record.events().filter_map(|(_, event)| seen(event));
    all.find(|one| one.id == id && one.stage == stage).expect("it is verified, or not")
}

#[test]
fn a_partition_outlives_a_lost_reply_on_its_host() {
    let record = beside_a_lost_reply(1_900, 6_000);
    let (lost, cut) = (order(&record, FaultKind::LostReply), order(&record, FaultKind::Partition));
    assert_eq!(lost.hosts, cut.hosts);
    let ended = verification(&record, FaultKind::LostReply, VerificationStage::Healed);
    let Some(Evidence::Modelled { links }) = ended.seen.as_deref() else { panic!("{ended:?}") };
    assert!(links.len() == 3 && links.iter().all(|link| link.held == Some(Direction::Both)), "{ended:?}");
    let healed = verification(&record, FaultKind::Partition, VerificationStage::Healed);
    assert!(ended.verified && healed.verified && ended.to < healed.from, "{ended:?} {healed:?}");
}

#[test]
fn a_lost_reply_outlives_a_partition_of_its_host() {
    let record = beside_a_lost_reply(8_000, 3_000);
    let healed = verification(&record, FaultKind::Partition, VerificationStage::Healed);
    // Its candidate enrols again.
    let lost = verification(&record, FaultKind::LostReply, VerificationStage::Injected);
    assert!(healed.verified && lost.verified && lost.from > healed.to, "{healed:?} {lost:?}");
    let check = summarise_cell(&record).checks.into_iter().find(|check| check.name == "verification");
    let check = check.expect("it is checked");
    assert_eq!(check.verdict, Verdict::Pass, "{check:#?}");
}
