//! Plans: the times and the targets of faults.

use hustings_record::{FaultKind, WithheldReason};
use hustings_workloads::faults::Fault;
use hustings_workloads::leaders::Leaders;
use hustings_workloads::plan::{
    LeaderView, PlannedFault, ResolvedTarget, handover_max_ms, lengthened_gap_ms, plan, resolve,
};
use hustings_workloads::scenario::{Cell, SHIPPED, Scenario, ShippedScenario, placement};
use proptest::prelude::*;

fn cell(sets: &[&str]) -> Cell {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let text = "name = \"x\"\n[faults.it]\nkind = \"resign\"\n";
    Scenario::parse(text, "test.toml", &sets).unwrap_or_else(|e| panic!("{e}")).cells().remove(0)
}

/// All hosts are available, and the first candidate of each group leads.
struct AllHealthy {
    cell: Cell,
    places: Vec<(u32, u16)>,
    leaders: Vec<Option<(u32, u16)>>,
    alive: Vec<u16>,
}

impl AllHealthy {
    fn new(cell: Cell) -> Self {
        let places = placement(&cell, 7);
        let leads = |group: u32| {
            let cand = group * cell.candidates_per_group;
            Some((cand, places[cand as usize].1))
        };
        let leaders = (0..cell.groups).map(leads).collect();
        let alive = (0..cell.hosts).collect();
        Self { cell, places, leaders, alive }
    }

    fn view(&self) -> LeaderView<'_> {
        LeaderView {
            leader_of_group: &self.leaders,
            placement: &self.places,
            alive: &self.alive,
            server_leader: Some(1),
            servers: &[1, 2, 3],
        }
    }

    fn aim(&self, seed: u64) -> Result<ResolvedTarget, WithheldReason> {
        let fault: PlannedFault = plan(&self.cell, seed).faults.remove(0);
        resolve(&self.cell, seed, &fault, self.view())
    }

    fn hit(&self, seed: u64) -> ResolvedTarget {
        self.aim(seed).expect("it hits somebody")
    }

    fn led_by(&self, host: u16) -> usize {
        self.leaders.iter().flatten().filter(|leader| leader.1 == host).count()
    }
}

#[test]
fn a_plan_depends_on_the_seed_and_the_cell_alone() {
    let cell = cell(&["faults.it.repeat=5"]);
    assert_eq!(plan(&cell, 1), plan(&cell, 1));
    assert_ne!(plan(&cell, 1), plan(&cell, 2));
    let other = Cell { name: "other".into(), ..cell.clone() };
    assert_ne!(plan(&cell, 1), plan(&other, 1));
}

#[test]
fn what_is_measured_covers_the_last_fault_and_its_handover() {
    // T is 4 s, a tick 500 ms.
    let expiry = 5_600 + 1_500 + 1_500;
    for (lines, handover, lasts) in [
        ("kind = \"crash\"", expiry, 0),
        ("kind = \"partition\"\nfor_t = 2.0", expiry, 8_000),
        ("kind = \"pause\"\nfor_ms = 70", expiry, 70),
        ("kind = \"expire\"\nrepeat = 4", 1_000, 0),
        ("kind = \"slow\"\nlatency_ms = 3\nfor_ms = 900", 1_000, 900),
    ] {
        let cell = host_world(lines).cell;
        assert_eq!(handover_max_ms(&cell, &cell.fault), handover, "{lines}");
        let plan = plan(&cell, 3);
        let last = plan.faults.last().unwrap();
        assert_eq!(plan.measure_ms, last.at_ms + lasts + handover, "{lines}");
    }
    let polling = cell(&["election.recipe=poll-race"]);
    assert_eq!(handover_max_ms(&polling, &polling.fault), 1_200, "and an interval of the poll");
}

#[test]
fn hosts_are_taken_out_one_after_the_other_however_long_the_session_timeout_is() {
    for shipped in SHIPPED {
        let cells = shipped.parse(&[]).unwrap().cells();
        assert!(cells.iter().all(|cell| lengthened_gap_ms(cell).is_none()), "{}: as it ships", shipped.name);
    }
    let longer = ["election.session_timeout_ms=10000".to_owned()];
    let cells = ShippedScenario::find("pull-request").unwrap().parse(&longer).unwrap().cells();
    let gaps: Vec<_> = cells.iter().map(|cell| (cell.fault_name.as_str(), lengthened_gap_ms(cell))).collect();
    let lengthened = Some((9_000, 18_750));
    assert_eq!(gaps, [("crash", lengthened), ("partition", lengthened), ("expire", None), ("resign", None)]);
    for seed in 0..50 {
        let faults = plan(&cells[0], seed).faults;
        assert_eq!((faults.len(), faults[0].for_ms()), (4, Some(15_000)));
        let gaps = faults.windows(2).map(|pair| pair[1].at_ms - pair[0].at_ms);
        assert!(gaps.min() >= Some(15_000), "the first host is back, seed {seed}");
    }
    // For good: T is 4 s, a tick 500 ms.
    let gone = host_world("kind = \"crash\"\nrepeat = 2\nevery_ms = 1000").cell;
    assert_eq!(lengthened_gap_ms(&gone), Some((1_000, 5_938)));
    let paused = host_world("kind = \"pause\"\nfor_ms = 900\nrepeat = 2\nevery_ms = 1000").cell;
    assert_eq!(lengthened_gap_ms(&paused), None);
}

#[test]
fn leaders_of_distinct_groups_are_hit_and_nobody_else() {
    let world = AllHealthy::new(cell(&["faults.it.groups=6"]));
    let hit = world.hit(1);
    assert_eq!((hit.groups.len(), hit.cands.len()), (6, 6));
    for (group, cand) in hit.groups.iter().zip(&hit.cands) {
        assert_eq!(world.leaders[*group as usize].unwrap().0, *cand);
    }
    assert_ne!(hit, world.hit(2), "another seed, others");
}

#[test]
fn no_more_leaders_are_hit_than_there_are() {
    let mut world = AllHealthy::new(cell(&["faults.it.groups=20"]));
    world.leaders[3] = None;
    let gone = world.leaders[4].unwrap().1;
    world.alive.retain(|host| *host != gone);
    let hit = world.hit(1);
    assert!(!hit.groups.contains(&3) && !hit.groups.contains(&4));
    assert!(hit.hosts.iter().all(|host| *host != gone));
}

#[test]
fn followers_are_hit_and_no_leader_is() {
    let world = AllHealthy::new(cell(&["faults.it.target=followers", "faults.it.groups=6"]));
    let hit = world.hit(1);
    assert_eq!((hit.cands.len(), hit.groups.len()), (6, 0));
}

fn host_world(lines: &str) -> AllHealthy {
    let text = format!("name = \"x\"\n[faults.it]\n{lines}\n");
    AllHealthy::new(Scenario::parse(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}")).cells().remove(0))
}

#[test]
fn the_host_that_leads_most_is_hit_with_all_that_it_carries() {
    let world = host_world("kind = \"crash\"");
    let hit = world.hit(1);
    let [host] = hit.hosts.as_slice() else { panic!("{hit:?}") };
    let most = (0..5).map(|host| world.led_by(host)).max().unwrap();
    assert_eq!((world.led_by(*host), hit.groups.len()), (most, most));
    assert_eq!(hit.cands.len(), 20, "one candidate of every group");
}

#[test]
fn hosts_are_never_taken_out_beyond_a_minority_unless_asked() {
    let lines = "kind = \"pause\"\nfor_ms = 100\ntarget = \"leaders\"\ngroups = 20";
    let mut world = host_world(lines);
    assert_eq!(world.hit(1).hosts.len(), 2);
    world.alive.truncate(4);
    assert_eq!(world.hit(1).hosts.len(), 1, "one is out already");
    world.alive.truncate(3);
    assert_eq!(world.aim(1), Err(WithheldReason::MajorityOut));
    let world = host_world(&format!("{lines}\nallow_majority = true"));
    assert_eq!(world.hit(1).hosts.len(), 5);
}

#[test]
fn a_fault_that_hits_nobody_says_why() {
    let mut world = AllHealthy::new(cell(&["faults.it.groups=6"]));
    world.alive.clear();
    assert_eq!(world.aim(1), Err(WithheldReason::NoHealthyHost));
    world = AllHealthy::new(cell(&["faults.it.groups=6"]));
    world.leaders.fill(None);
    assert_eq!(world.aim(1), Err(WithheldReason::NoLeader));
    world = AllHealthy::new(cell(&["faults.it.target=followers", "faults.it.groups=6"]));
    let leaders: Vec<u16> = world.leaders.iter().flatten().map(|leader| leader.1).collect();
    world.leaders.truncate(1);
    world.alive = vec![leaders[0]];
    assert_eq!(world.aim(1), Err(WithheldReason::NoFollower));
}

#[test]
fn a_parent_delete_needs_no_healthy_host_and_a_resignation_does() {
    let lines = "kind = \"parent-delete\"\ntarget = \"leaders\"\ngroups = 6";
    let mut world = host_world(lines);
    let all_healthy = world.hit(1);
    world.alive.clear();
    assert_eq!(world.hit(1), all_healthy);
    let mut world = host_world(&lines.replace("parent-delete", "resign"));
    world.alive.clear();
    assert_eq!(world.aim(1), Err(WithheldReason::NoHealthyHost));
}

#[test]
fn what_ends_a_shared_session_hits_all_of_its_host() {
    let world = AllHealthy::new(cell(&["election.sessions=per-host"]));
    let mut world = AllHealthy { cell: Cell { ..world.cell.clone() }, ..world };
    world.cell.fault.fault = Fault::Expire;
    let hit = world.hit(1);
    assert_eq!((hit.hosts.len(), hit.cands.len()), (1, 20));
    assert_eq!(hit.groups.len(), world.led_by(hit.hosts[0]));
}

#[test]
fn a_share_is_of_all_candidates_or_of_all_hosts() {
    let world = AllHealthy::new(cell(&["faults.it.target=share", "faults.it.share=0.25"]));
    assert_eq!(world.hit(1).cands.len(), 25);
    let world = host_world("kind = \"slow\"\nlatency_ms = 5\nfor_ms = 100\ntarget = \"share\"\nshare = 0.8");
    assert_eq!(world.hit(1).hosts.len(), 4);
}

proptest! {
    #[test]
    fn faults_come_in_order_and_their_gaps_stay_within_the_jitter(
        repeat in 1..50_u32, every in 100..5_000_u64, seed in any::<u64>()
    ) {
        let cell = cell(&[&format!("faults.it.repeat={repeat}"), &format!("faults.it.every_ms={every}")]);
        let faults = plan(&cell, seed).faults;
        prop_assert_eq!(faults.len(), repeat as usize);
        for pair in faults.windows(2) {
            let gap = (pair[1].at_ms - pair[0].at_ms) as f64;
            prop_assert!(gap >= 0.79 * every as f64 - 1.0 && gap <= 1.21 * every as f64 + 1.0);
            prop_assert_eq!(pair[0].id.map(|id| id + 1), pair[1].id);
        }
    }
}

#[test]
fn faults_on_single_candidates_are_one_each_and_those_on_hosts_stay_whole() {
    let placed = vec![(0, 0), (0, 1), (1, 1), (1, 0)];
    let mut leaders = Leaders::new(2, placed);
    let token = |session| Some(hustings_workloads::host::Token { czxid: 1, session });
    leaders.believe(1, token(1));
    leaders.believe(2, token(2));
    let hit = ResolvedTarget { hosts: vec![1], cands: vec![1, 2], groups: vec![0, 1], servers: Vec::new() };
    let one =
        |cand, group| ResolvedTarget { hosts: vec![1], cands: vec![cand], groups: vec![group], servers: Vec::new() };
    let per_candidate = cell(&[]);
    let split = |cell: &Cell, kind| hit.clone().split(cell, kind, &leaders);
    assert_eq!(split(&per_candidate, FaultKind::Resign), [one(1, 0), one(2, 1)]);
    assert_eq!(split(&per_candidate, FaultKind::Expire), [one(1, 0), one(2, 1)]);
    assert_eq!(split(&per_candidate, FaultKind::Crash), std::slice::from_ref(&hit));
    let per_host = cell(&["election.sessions=per-host"]);
    assert_eq!(split(&per_host, FaultKind::Expire), std::slice::from_ref(&hit));
}
