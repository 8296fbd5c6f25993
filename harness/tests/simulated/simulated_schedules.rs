//! Schedules that once showed an error, in a recipe or in the simulation itself.

use hustings::simulate::{Trial, own_cell, try_simulation};
use hustings_workloads::model::Bugs;
use hustings_workloads::recipes::{FindingKind, RecipeKind};
use hustings_workloads::scenario::{Scenario, ShippedScenario};
use hustings_workloads::schedule::{Action, ScheduledRequest, Step, StepTrigger};
use hustings_workloads::simulation::{Simulation, chaos};

/// With another seed, messages may arrive in another order.
const SEEDS: std::ops::Range<u64> = 0..20;

fn at(ms: u64, action: Action) -> Step {
    Step { when: StepTrigger::At(ms), action }
}

fn sent(cand: u32, kind: ScheduledRequest, nth: u32, action: Action) -> Step {
    Step { when: StepTrigger::Sent { cand, kind, part: "", nth, after_ms: None }, action }
}

/// Five candidates of one group, one host each, T = 1 s.
fn each(recipe: &str, schedule: &[Step], mut look: impl FnMut(u64, Trial)) {
    let text = format!(
        "name = \"one\"\n[ensemble]\nservers = 3\ntick_ms = 100\n[election]\nrecipe = \"{recipe}\"\ngroups = 1\nhosts = 5\n\
         candidates_per_group = 5\nsession_timeout_ms = 1000\n[phases]\ndrain_ms = 3000\ndrain_max_ms = 10000\n\
         [[expect]]\noverlap = \"excused\"\nstale_writes = \"excused\"\nunplanned = \"excused\"\n"
    );
    let cell = Scenario::parse(&text, "one", &[]).expect("valid").cells().remove(0);
    for seed in SEEDS {
        let simulation = Simulation { schedule: Some(schedule.to_vec()), ..Simulation::of(cell.clone(), seed) };
        look(seed, try_simulation(&simulation).unwrap_or_else(|error| panic!("seed {seed}: {error:#}")));
    }
}

#[test]
fn a_leader_cut_off_from_its_closed_session_does_not_lead_again_on_a_server_that_lags() {
    let schedule = [at(652, Action::Lag { cand: 0, by_ms: 75 }), at(1_764, Action::Expire(0))];
    for recipe in RecipeKind::sound().map(RecipeKind::name) {
        each(recipe, &schedule, |seed, trial| {
            let apart = trial.summary.split_brain.excused.total();
            assert!(
                !trial.caught.contains(&FindingKind::Overlap),
                "{recipe}, {seed}: {:?}, {apart} apart",
                trial.caught
            );
        });
    }
}

#[test]
fn a_candidate_whose_process_was_killed_before_it_joined_joins_once() {
    let schedule = [
        sent(0, ScheduledRequest::Create, 1, Action::Crash { cand: 4, for_ms: Some(93) }),
        Step { when: StepTrigger::Leads { cand: 0, nth: 1 }, action: Action::Crash { cand: 0, for_ms: Some(1_942) } },
    ];
    each("lock-race", &schedule, |seed, trial| {
        assert!(trial.enrolled && trial.caught.is_empty(), "seed {seed}: {:?}", trial.caught);
        // Five, and one more for the killed leader.
        let enrolment = &trial.summary.enrolment;
        let sessions = [&enrolment.connect, &enrolment.connect_anew].into_iter().flatten().map(|d| d.n).sum::<u64>();
        assert_eq!(sessions, 6, "seed {seed}");
    });
}

#[test]
fn a_host_that_dies_as_soon_as_all_have_joined_does_not_hold_the_cell_up() {
    let schedule = [sent(4, ScheduledRequest::Any, 2, Action::Crash { cand: 4, for_ms: Some(3_488) })];
    each("naive", &schedule, |seed, trial| {
        assert!(trial.enrolled && trial.caught.is_empty(), "seed {seed}: {:?}", trial.caught);
    });
}

#[test]
fn who_could_not_delete_its_znode_in_time_deletes_it_before_it_stands_again() {
    // It resigns just as its connection begins to flap, for longer than a departure may take.
    let mut schedule = vec![at(1_000, Action::Resign(0)), at(900, Action::Slow { cand: 0, by_ms: 45 })];
    schedule.extend((0..12).map(|round| at(1_000 + 160 * round, Action::Disconnect(0))));
    // The next order arrives before it can begin to clear up.
    schedule.push(at(2_500, Action::Resign(0)));
    let mut behind = 0;
    for recipe in RecipeKind::sound().map(RecipeKind::name) {
        each(recipe, &schedule, |seed, trial| {
            let caught = trial.caught.intersection(&[FindingKind::Orphan, FindingKind::Leaderless].into()).count();
            assert!(trial.enrolled && caught == 0, "{recipe}, seed {seed}: {:?}", trial.caught);
            behind += u64::from(trial.summary.faults.verifications.iter().any(|verification| !verification.verified));
        });
    }
    assert!(behind > 0, "every deletion was answered in time");
}

/// Seeds of random schedules on which a check once wrongly failed a sound recipe.
const ACCUSED: [(&str, &[u64]); 3] = [
    ("predecessor-watch-resign", &[5_489, 12_298, 17_018, 43_787, 55_881, 56_272, 81_687, 86_013, 87_390, 92_570]),
    ("naive-resign", &[772, 27_191, 31_218, 39_739, 86_404, 97_872]),
    ("lock-race-resign", &[85_835]),
];

#[test]
fn random_schedules_on_which_a_sound_recipe_was_once_accused_show_nothing_of_it() {
    let cells = ShippedScenario::find("quick").expect("it ships").parse(&[]).expect("valid").cells();
    for (name, seeds) in ACCUSED {
        let cell = cells.iter().find(|cell| cell.name == name).unwrap_or_else(|| panic!("{name}: no such cell"));
        for &seed in seeds {
            let simulation = chaos(&own_cell(cell.clone()), Bugs::default(), seed, None);
            let trial = try_simulation(&simulation).unwrap_or_else(|error| panic!("{name}, {seed}: {error:#}"));
            assert!(trial.failed.is_empty(), "{name}, seed {seed}: {:?}", trial.failed);
        }
    }
}
