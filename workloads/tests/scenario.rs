//! Scenarios: valid input, rejected input with its errors, and the resulting cells.

use hustings_record::{Expectation, FaultKind, Fencing, LinkUse};
use std::collections::{BTreeMap, BTreeSet};

use hustings_workloads::plan::plan;
use hustings_workloads::recipes::RecipeKind;
use hustings_workloads::scenario::{
    Cell, SHIPPED, Scenario, ShippedScenario, cell_duration_ms, declared_program, explain, placement,
};
use proptest::prelude::*;

fn read(text: &str, sets: &[&str]) -> Result<Scenario, String> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Scenario::parse(text, "test.toml", &sets).map_err(|error| error.to_string())
}

const SMALL: &str = r#"
name = "small"
[faults.cut]
kind = "partition"
for_t = 2.0
[faults.go]
kind = "resign"
"#;

#[test]
fn everything_that_ships_is_sound_and_says_what_to_look_at() {
    for shipped in SHIPPED {
        let scenario = shipped.parse(&[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.name, shipped.name);
        assert!(scenario.analysis.len() > 200 && !scenario.summary.is_empty(), "{}", shipped.name);
        assert!(scenario.warnings().is_empty(), "{}", shipped.name);
        let again = read(&scenario.to_toml().unwrap(), &[]).unwrap();
        assert_eq!(again, scenario, "{} is read back as it is written", shipped.name);
    }
}

#[test]
fn quick_ends_within_a_minute_and_a_half() {
    let scenario = ShippedScenario::find("quick").unwrap().parse(&[]).unwrap();
    let cells = scenario.cells();
    assert_eq!(cells.len(), 12);
    let kinds: BTreeSet<FaultKind> = cells.iter().map(|cell| cell.fault.kind()).collect();
    assert_eq!(kinds.len(), 4);
    for seed in 0..50 {
        let total: u64 = cells.iter().map(|cell| cell_duration_ms(cell, &plan(cell, seed))).sum();
        assert!(total <= 80_000, "{total} ms with seed {seed}");
    }
}

#[test]
fn split_brain_expects_what_theory_says() {
    let cells = ShippedScenario::find("split-brain").unwrap().parse(&[]).unwrap().cells();
    assert_eq!(cells.len(), 12);
    for cell in cells {
        let expiry = cell.step_down.to_string() == "on-expiry";
        let unfenced = cell.resource == Fencing::Unfenced;
        let (overlap, stale) = match (cell.fault.kind() == FaultKind::Partition, expiry) {
            (true, true) => (Expectation::Some, unfenced),
            (true, false) => (Expectation::None, false),
            (false, _) => (Expectation::Any, unfenced),
        };
        assert_eq!(cell.expect.overlap, overlap, "{}", cell.name);
        assert_eq!(cell.expect.stale_writes == Expectation::Some, stale, "{}", cell.name);
        assert!(!cell.expect.because.is_empty());
        assert!(cell.over_links, "{}: last touches are known", cell.name);
    }
}

/// Cells of `split-brain` with this program.
fn split_brain_of(declared: &[&str]) -> Vec<Cell> {
    let declared: Vec<String> = declared.iter().map(|one| (*one).to_owned()).collect();
    let spec = declared_program("--candidate", vec!["./mine".to_owned()], &declared).unwrap();
    let scenario = ShippedScenario::find("split-brain").unwrap().parse(&[]).unwrap();
    let (scenario, left_out) = scenario.with_program("candidate", spec, "--candidate").unwrap();
    assert!(left_out.is_empty(), "{left_out:?}");
    assert!(scenario.warnings().is_empty(), "{:?}", scenario.warnings());
    scenario.cells()
}

#[test]
fn every_scenario_takes_a_program_and_says_what_it_leaves_out_for_it() {
    for shipped in SHIPPED {
        let scenario = shipped.parse(&[]).unwrap();
        if scenario.cells().iter().all(|cell| cell.groups == 0) {
            continue;
        }
        let spec = declared_program("--candidate", vec!["./mine".to_owned()], &[]).unwrap();
        let fitted = scenario.with_program("candidate", spec, "--candidate");
        let (scenario, left_out) = match fitted {
            Ok(fitted) => fitted,
            Err(error) => {
                assert_eq!(shipped.name, "million", "{}: {error}", shipped.name);
                continue;
            }
        };
        let cells = scenario.cells();
        assert!(!cells.is_empty() && scenario.warnings().is_empty(), "{}: {:?}", shipped.name, scenario.warnings());
        let says = |what: &str| left_out.iter().filter(|line| line.contains(what)).count();
        match shipped.name {
            "gauntlet" => {
                assert_eq!((says("fault winner-"), left_out.len()), (2, 2), "{left_out:?}");
                let mut asked: Vec<_> =
                    cells.iter().map(|cell| (&cell.fault_name, cell.candidates_per_group)).collect();
                asked.sort();
                let count = asked.len();
                asked.dedup();
                assert!(asked.len() + 2 >= count, "cells that are the same for a program are one: {asked:?}");
            }
            "herd" => assert_eq!((says("election.hosts="), cells[0].hosts), (2, 10), "{left_out:?}"),
            _ => assert!(left_out.is_empty(), "{}: {left_out:?}", shipped.name),
        }
    }
}

#[test]
fn nothing_that_rests_on_a_policy_is_expected_of_a_program_that_declares_none() {
    let cells = split_brain_of(&[]);
    // A program without a declared policy is the same in the cells of all policies.
    assert_eq!(cells.len(), 4, "{:?}", cells.iter().map(|cell| &cell.name).collect::<Vec<_>>());
    for cell in &cells {
        assert_eq!((cell.policy(), cell.info(LinkUse::Embedded, true).step_down), (None, None));
        assert!(![cell.expect.overlap, cell.expect.stale_writes].contains(&Expectation::Some), "{}", cell.name);
        // Findings that must not occur apply to all programs.
        assert_eq!(cell.expect.overlap == Expectation::None, cell.fault_name == "partition", "{}", cell.name);
    }
}

#[test]
fn a_program_that_declares_a_policy_is_expected_to_show_what_theory_says_of_it() {
    let expected = |declared: &[&str], name: &str| {
        let cells = split_brain_of(declared);
        let cell = cells.iter().find(|cell| cell.name == name).unwrap_or_else(|| panic!("{cells:?}"));
        (cell.expect.overlap, cell.expect.stale_writes)
    };
    let (late, told) = (&["step_down=on-expiry"][..], &["step_down=as-told"][..]);
    let some = Expectation::Some;
    assert_eq!(expected(late, "foreign-candidate-partition-unfenced"), (some, some));
    assert_eq!(split_brain_of(late).len(), 4);
    assert_eq!(expected(told, "foreign-candidate-partition-on-expiry-unfenced"), (some, some));
    assert_eq!(expected(told, "foreign-candidate-partition-on-disconnect-unfenced").0, Expectation::None);
    assert_eq!(split_brain_of(told).len(), 12);
    // A pause shows it under any policy, but a program may look at its watch before it writes.
    assert_eq!(expected(told, "foreign-candidate-pause-on-expiry-unfenced").1, Expectation::Any);
    let wrong = |set: &str| {
        declared_program("--candidate", vec!["./mine".to_owned()], &[set.to_owned()]).unwrap_err().to_string()
    };
    assert!(wrong("step_down=never").contains("as-told"), "{}", wrong("step_down=never"));
    assert!(wrong("leaderwakes=one").contains("leader_wakes"), "{}", wrong("leaderwakes=one"));
}

#[test]
fn recipes_have_equal_paths_beside_a_program_or_where_they_are_asked_for() {
    let equal = |recipes: &str, paths: &str| -> Vec<bool> {
        let sets =
            [format!("matrix.recipe=[{recipes}]"), format!("election.paths={paths}"), "matrix.fault=go".to_owned()];
        let cells = read(SMALL, &sets.each_ref().map(String::as_str)).unwrap().cells();
        cells.iter().map(|cell| cell.equal_paths).collect()
    };
    let (alone, beside) = ("\"naive\"", "\"naive\", \"foreign:kazoo-lock\"");
    assert_eq!(
        (equal(alone, "auto"), equal(alone, "short"), equal(alone, "equal")),
        (vec![false], vec![false], vec![true])
    );
    // A program always has its own paths.
    assert_eq!(equal(beside, "auto"), [true, false]);
    assert_eq!(equal(beside, "equal"), [true, false]);
    assert_eq!(equal(beside, "short"), [false, false]);
}

#[test]
fn cells_with_other_servers_lie_together_and_are_told_apart() {
    let sets = ["matrix.servers=[1,3]", "matrix.tick_ms=[200,500]", "matrix.work_interval_ms=[50,500]"];
    let scenario = read(SMALL, &sets).unwrap();
    let cells = scenario.cells();
    assert_eq!(cells.len(), 16);
    let stretches: Vec<(u32, u64, usize)> =
        cells.chunk_by(Cell::same_ensemble).map(|cells| (cells[0].servers, cells[0].tick_ms, cells.len())).collect();
    assert_eq!(stretches, [(1, 200, 4), (1, 500, 4), (3, 200, 4), (3, 500, 4)]);
    let names: BTreeSet<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(names.len(), 16);
    assert!(names.contains("predecessor-watch-cut-s3-tick200-w500"), "{names:?}");
    assert_eq!(read(&scenario.to_toml().unwrap(), &[]).unwrap(), scenario);
    let told = explain(&scenario, &cells, 1);
    assert_eq!(told.matches("ensemble: ").count(), 4, "{told}");
}

#[test]
fn what_is_varied_is_kept_within_bounds_and_faults_within_the_servers_that_they_meet() {
    let problem = |sets: &[&str]| read(SMALL, sets).expect_err("refused");
    assert!(problem(&["matrix.servers=[3,4]"]).contains("matrix.servers: 4 servers"));
    assert!(problem(&["matrix.tick_ms=[5]"]).contains("matrix.tick_ms"));
    assert!(problem(&["matrix.work_interval_ms=0"]).contains("matrix.work_interval_ms"));
    let kill = "faults.kill={kind=\"server-kill\",target=\"servers\",servers=[5],for_ms=500}";
    let five = ["matrix.fault=[\"kill\"]", "matrix.servers=5", kill];
    assert_eq!(read(SMALL, &five).unwrap().cells()[0].servers, 5);
    let both = ["matrix.fault=[\"kill\"]", "matrix.servers=[3,5]", kill];
    assert!(problem(&both).contains("there is no server 5"), "a cell has three servers only");
    let expects = "expect=[{when={servers=3},server_leader=5}]";
    let meant =
        [&both[..1], &["matrix.servers=[3,5]", "faults.kill={kind=\"server-kill\",for_ms=500}", expects]].concat();
    assert!(problem(&meant).contains("expect[1].server_leader"));
}

#[test]
fn herd_covers_three_recipes_at_three_sizes() {
    let cells = ShippedScenario::find("herd").unwrap().parse(&[]).unwrap().cells();
    let seen: BTreeSet<(RecipeKind, u32)> =
        cells.iter().map(|cell| (cell.recipe.own().unwrap(), cell.candidates_per_group)).collect();
    assert_eq!(seen.len(), 9);
    assert!(cells.iter().all(|cell| cell.fault.repeat * cell.fault.groups.unwrap() >= 10));
    assert!(cells.iter().all(|cell| cell.expect.fan_out == cell.declares().map(|declared| declared.leader_wakes)));
}

#[test]
fn reconnect_runs_with_every_recipe_and_expects_what_it_declares() {
    for recipe in RecipeKind::sound() {
        let cells =
            ShippedScenario::find("reconnect").unwrap().parse(&[format!("election.recipe={recipe}")]).unwrap().cells();
        assert!(cells.iter().all(|cell| cell.expect.fan_out == Some(recipe.declares().leader_wakes)), "{recipe}");
    }
}

#[test]
fn thousand_is_five_thousand_candidates() {
    let cells = ShippedScenario::find("thousand").unwrap().parse(&[]).unwrap().cells();
    assert_eq!((cells.len(), cells[0].candidates(), cells[0].session_count()), (1, 5_000, 5_000));
}

#[test]
fn refusals_say_what_where_and_what_would_be_right() {
    let cases: BTreeMap<&str, (&str, &[&str])> = BTreeMap::from([
        ("unknown key", ("name = \"x\"\n[election]\ngrups = 3\n", &[][..])),
        ("unknown section", ("name = \"x\"\n[elections]\n", &[])),
        ("unknown key of a fault", ("name = \"x\"\n[faults.a]\nkind = \"pause\"\nfor_m = 3\n", &[])),
        ("unknown key of a matrix", ("name = \"x\"\n[matrix]\nrecipes = [\"naive\"]\n", &[])),
        ("unknown key of when", ("name = \"x\"\n[[expect]]\nwhen = { faults = \"a\" }\n", &[])),
        ("unknown kind", ("name = \"x\"\n[faults.a]\nkind = \"parition\"\n", &[])),
        ("unknown recipe", ("name = \"x\"\n[matrix]\nrecipe = [\"predecesor-watch\"]\n", &[])),
        ("unknown policy", ("name = \"x\"\n[election]\nstep_down = \"after=2\"\n", &[])),
        ("no TOML", ("name = \"x\n", &[])),
        ("wrong type", ("name = \"x\"\n[election]\ngroups = \"many\"\n", &[])),
        ("negative", ("name = \"x\"\n[election]\ngroups = -1\n", &[])),
        ("set of an unknown key", (SMALL, &["election.grups=3"])),
        ("set of an unknown fault", (SMALL, &["faults.cutt.repeat=3"])),
        ("set without a value", (SMALL, &["election.groups"])),
        ("set of a wrong type", (SMALL, &["election.groups=many"])),
        ("set below a value", (SMALL, &["name.x=1"])),
        ("set under the matrix", ("name = \"x\"\n[matrix]\nrecipe = \"naive\"\n", &["election.recipe=lock-race"])),
        ("many problems", (SMALL, &["ensemble.servers=2", "election.groups=100001", "phases.drain_ms=99999"])),
        ("broken recipe", (SMALL, &["election.recipe=broken:no-relist"])),
        ("limits", (SMALL, &["ensemble.init_limit=0", "ensemble.sync_limit=10001", "ensemble.watch_ms=4"])),
        ("majority", (SMALL, &["faults.cut.hosts=3"])),
        ("crashes for good", ("name = \"x\"\n[faults.a]\nkind = \"crash\"\nrepeat = 3\n", &[])),
        (
            "crashes of everybody for good",
            ("name = \"x\"\n[faults.a]\nkind = \"crash\"\nrepeat = 5\nallow_majority = true\n", &[]),
        ),
        ("no links", (SMALL, &["election.links=never"])),
        ("no duration", ("name = \"x\"\n[faults.a]\nkind = \"pause\"\n", &[])),
        ("needless duration", ("name = \"x\"\n[faults.a]\nkind = \"resign\"\nfor_ms = 5\n", &[])),
        ("unknown fault in the matrix", (SMALL, &["matrix.fault=cat"])),
        (
            "names",
            (SMALL, &["election.group_names=[\"a/b\", \"..\", \"zookeeper\", \"a\\u0007\", \"\", \"x\", \"x\"]"]),
        ),
        ("too few names", (SMALL, &["election.host_names=[\"a\"]"])),
        ("unknown program", (SMALL, &["election.recipe=foreign:curator-lach"])),
        ("a program of nothing", ("name = \"x\"\n[foreign.mine]\n", &[])),
        ("an adapter and a command", ("name = \"x\"\n[foreign.a]\nadapter = \"kazoo-lock\"\ncommand = [\"a\"]\n", &[])),
        ("an adapter that does not ship", ("name = \"x\"\n[foreign.a]\nadapter = \"zkfc\"\n", &[])),
        ("half a promise", ("name = \"x\"\n[foreign.a]\ncommand = [\"a\"]\nleader_wakes = \"one\"\n", &[])),
        ("no name for a program", ("name = \"x\"\n[foreign.\"A b\"]\ncommand = [\"a\"]\n", &[])),
        ("more candidates than hosts", (SMALL, &["election.recipe=foreign:kazoo-lock", "election.hosts=2"])),
        ("a program's sessions", (SMALL, &["election.recipe=foreign:kazoo-lock", "election.sessions=per-host"])),
        (
            "a program that says nothing",
            ("name = \"x\"\n[election]\nrecipe = \"foreign:a\"\n[foreign.a]\ncommand = [\"a\", \"{resource}\"]\n", &[]),
        ),
        (
            "a clock that does not jump",
            ("name = \"x\"\n[faults.a]\nkind = \"clock-step\"\nfor_ms = 9\nstep_ms = 0\n", &[]),
        ),
        (
            "a moment that programs do not tell of",
            (
                "name = \"x\"\n[election]\nrecipe = \"foreign:kazoo-lock\"\n\
                 [faults.a]\nkind = \"pause\"\nfor_ms = 9\nmoment = \"won\"\n",
                &[],
            ),
        ),
        ("a witness without links", (SMALL, &["election.witness=true", "election.links=never", "matrix.fault=go"])),
        ("an empty axis", (SMALL, &["matrix.recipe=[]"])),
        (
            "another fan-out than declared",
            ("name = \"x\"\n[[expect]]\nfan_out = \"one\"\n", &["election.recipe=lock-race"]),
        ),
    ]);
    let mut text = String::new();
    for (name, (scenario, sets)) in cases {
        let refusal = read(scenario, sets).expect_err(name);
        text += &format!("## {name}\n{}\n", refusal.trim_end());
    }
    insta::assert_snapshot!(text);
}

#[test]
fn sets_take_values_lists_and_bare_words() {
    let scenario = read(
        SMALL,
        &[
            "election.groups=7",
            "election.recipe=lock-race",
            "matrix.session_timeout_ms=[1000, 2000]",
            "faults.cut.for_t=3.5",
            "seed=9",
            "summary=a = b # c",
            "matrix.fault=cut",
        ],
    )
    .unwrap();
    assert_eq!((scenario.election.groups, scenario.election.recipe.clone()), (7, RecipeKind::LockRace.into()));
    assert_eq!((scenario.seed, scenario.summary.as_str()), (Some(9), "a = b # c"));
    let timeouts: Vec<u64> = scenario.cells().iter().map(|cell| cell.session_timeout_ms).collect();
    assert_eq!(timeouts, [1_000, 2_000]);
}

#[test]
fn what_ships_can_be_bent_to_run_a_broken_recipe() {
    let sets = [
        "allow_broken=true",
        "matrix.recipe=broken:no-relist",
        "matrix.fault=resign",
        "faults.resign.target=followers",
    ];
    let scenario = ShippedScenario::find("quick").unwrap().parse(&sets.map(str::to_owned)).unwrap();
    let cells = scenario.cells();
    assert_eq!((cells.len(), cells[0].recipe.clone()), (1, RecipeKind::NoRelist.into()));
    assert_eq!(cells[0].expect.overlap, Expectation::None, "so that it must be caught");
}

#[test]
fn a_broken_recipe_runs_only_where_it_is_allowed() {
    let sets = ["allow_broken=true", "election.recipe=broken:no-relist"];
    assert!(read(SMALL, &sets).is_ok());
    assert!(read(SMALL, &sets[1..]).is_err());
}

#[test]
fn recipes_that_fence_need_another_host_to_kill() {
    for recipe in RecipeKind::all() {
        let run = format!("election.recipe={recipe}");
        let sets = [run.as_str(), "allow_broken=true", "election.fencing=kill", "election.hosts=1"];
        let refused = read(SMALL, &sets).is_err_and(|error| error.contains("kill needs another host to kill"));
        assert_eq!(refused, recipe.fences(), "{recipe}");
    }
    let fencing: Vec<&str> = RecipeKind::sound().filter(|recipe| recipe.fences()).map(RecipeKind::name).collect();
    assert_eq!(fencing, ["lock-race"]);
}

#[test]
fn names_may_be_anything_printable() {
    let sets = ["election.groups=3", "election.group_names=[\"<script>alert(1)</script >\", \"ü \\\" '\", \"g\"]"];
    let refused = read(SMALL, &sets).unwrap_err();
    assert!(refused.contains("slash"), "{refused}");
    let sets = ["election.groups=3", "election.group_names=[\"<script>alert(1)\", \"ü \\\" '\", \"& g\"]"];
    let cells = read(SMALL, &sets).unwrap().cells();
    assert_eq!(cells[0].group_names[0], "<script>alert(1)");
    assert_eq!(cells[0].path(0), "/election/<script>alert(1)");
}

#[test]
fn names_of_cells_are_unique_and_safe_as_file_names() {
    let text = r#"
        name = "x"
        [faults."a/b c"]
        kind = "resign"
        [faults."a b/c"]
        kind = "resign"
        [matrix]
        step_down = ["on-expiry", "after=0.5"]
        sessions = ["per-candidate", "per-host"]
    "#;
    let cells = read(text, &[]).unwrap().cells();
    let names: BTreeSet<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!((cells.len(), names.len()), (8, 8));
    let safe = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-._".contains(c);
    assert!(names.iter().all(|name| name.chars().all(safe)), "{names:?}");
}

#[test]
fn later_expectations_go_before_earlier_ones_key_by_key() {
    let text = format!(
        "{SMALL}\n[[expect]]\noverlap = \"some\"\nunplanned = \"any\"\nbecause = \"a\"\n\
         [[expect]]\nwhen = {{ fault = [\"cut\"] }}\noverlap = \"any\"\n"
    );
    let cells = read(&text, &[]).unwrap().cells();
    let of = |name: &str| cells.iter().find(|cell| cell.fault_name == name).unwrap().expect.clone();
    assert_eq!((of("cut").overlap, of("cut").unplanned), (Expectation::Any, Expectation::Any));
    assert_eq!((of("go").overlap, of("cut").because.as_str()), (Expectation::Some, "a"));
}

#[test]
fn a_timeout_that_the_ensemble_will_not_grant_is_warned_of() {
    let scenario = read(SMALL, &["ensemble.tick_ms=2000", "election.session_timeout_ms=1000"]).unwrap();
    assert_eq!(scenario.cells()[0].timeout_granted_ms(), 4_000);
    assert!(scenario.warnings()[0].text.contains("grants 4000 ms"), "{:?}", scenario.warnings());
}

#[test]
fn a_scenario_without_faults_is_a_control() {
    let cells = read("name = \"calm\"", &[]).unwrap().cells();
    assert_eq!((cells.len(), cells[0].fault.kind()), (1, FaultKind::None));
    let calm = plan(&cells[0], 1);
    assert_eq!((calm.faults.len(), calm.measure_ms), (0, 5_000));
}

#[test]
fn the_dry_run_of_split_brain_reads_well() {
    let scenario =
        ShippedScenario::find("split-brain").unwrap().parse(&["matrix.resource=unfenced".to_owned()]).unwrap();
    insta::assert_snapshot!(explain(&scenario, &scenario.cells(), 1));
}

fn cell_of(groups: u32, hosts: u16, candidates: u32) -> Cell {
    let sets = [
        format!("election.groups={groups}"),
        format!("election.hosts={hosts}"),
        format!("election.candidates_per_group={candidates}"),
        "matrix.fault=go".to_owned(),
    ];
    Scenario::parse(SMALL, "test.toml", &sets).unwrap().cells().remove(0)
}

proptest! {
    #[test]
    fn candidates_are_spread_evenly_over_hosts_and_groups(
        groups in 1..40_u32, hosts in 1..9_u16, candidates in 1..12_u32, seed in any::<u64>()
    ) {
        prop_assume!(u64::from(groups) * u64::from(candidates) >= hosts.into());
        let cell = cell_of(groups, hosts, candidates);
        let places = placement(&cell, seed);
        prop_assert_eq!(&places, &placement(&cell, seed));
        prop_assert_eq!(places.len() as u64, cell.candidates());
        let mut on_host = vec![0_u64; usize::from(hosts)];
        for (group, members) in places.chunks(candidates as usize).enumerate() {
            let mut here = vec![0_u32; usize::from(hosts)];
            for (of, host) in members {
                prop_assert_eq!(*of as usize, group);
                here[usize::from(*host)] += 1;
                on_host[usize::from(*host)] += 1;
            }
            let most = candidates.div_ceil(u32::from(hosts));
            prop_assert!(here.iter().all(|n| *n <= most));
        }
        let most = cell.candidates().div_ceil(u64::from(hosts));
        prop_assert!(on_host.iter().all(|n| (1..=most).contains(n)), "{:?}", on_host);
    }
}

proptest! {
    #[test]
    fn no_text_and_no_argument_makes_it_panic(
        which in 0..SHIPPED.len(), at in any::<prop::sample::Index>(), with in ".{0,8}", set in "[a-z_.]{0,20}=?.{0,12}"
    ) {
        let mut text = SHIPPED[which].text.to_owned();
        let place = at.index(text.len());
        if text.is_char_boundary(place) {
            text.insert_str(place, &with);
        }
        for text in [text.as_str(), SMALL] {
            if let Ok(scenario) = Scenario::parse(text, "test.toml", std::slice::from_ref(&set)) {
                prop_assert!(!scenario.cells().is_empty());
            }
        }
    }

    #[test]
    fn any_size_within_bounds_can_be_explained(
        groups in 2..200_u32, hosts in 1..9_u16, repeat in 1..9_u32, timeout in 100..600_000_u64, seed in any::<u64>()
    ) {
        let sets = [
            format!("election.groups={groups}"),
            format!("election.hosts={hosts}"),
            format!("election.session_timeout_ms={timeout}"),
            format!("faults.cut.repeat={repeat}"),
        ];
        let scenario = Scenario::parse(SMALL, "test.toml", &sets).unwrap();
        let cells = scenario.cells();
        prop_assert_eq!(explain(&scenario, &cells, seed), explain(&scenario, &cells, seed));
    }
}
