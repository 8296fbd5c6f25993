//! The recipes on real servers, in this process: the test cases of other election libraries hold for each of them.

mod connection_faults;
mod ends;
pub(crate) mod group;
pub(crate) mod host;
mod sequence;
mod succession;

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use crate::real_support::{ServerStage, on_one_thread};
use futures::FutureExt;
use futures::future::join_all;
use group::Group;
use hustings::client::session::ZkSession;
use hustings_workloads::recipes::RecipeKind;

/// T is clamped to 2 to 20 ticks.
const TICK_MS: u64 = 500;
const CHECK_AT_MOST: Duration = Duration::from_secs(60);

/// The failures, as check, recipe and panic.
#[derive(Default)]
struct Failures(Vec<String>);

impl Failures {
    async fn bounded(check: impl Future<Output = ()>) -> Result<(), String> {
        match tokio::time::timeout(CHECK_AT_MOST, AssertUnwindSafe(check).catch_unwind()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(panic)) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                Err(text.or_else(|| panic.downcast_ref().copied()).unwrap_or("it panicked").to_owned())
            }
            Err(_) => Err(format!("it did not end within {CHECK_AT_MOST:?}")),
        }
    }

    /// Runs a check for all sound recipes at once.
    async fn check<'a, F: Future<Output = ()>>(
        &mut self,
        name: &str,
        stage: &'a ServerStage,
        check: impl Fn(&'a ServerStage, RecipeKind) -> F,
    ) {
        let started = Instant::now();
        let outcomes = join_all(RecipeKind::sound().map(|recipe| Self::bounded(check(stage, recipe)))).await;
        println!("{name}: {:.1} s", started.elapsed().as_secs_f64());
        for (recipe, outcome) in RecipeKind::sound().zip(outcomes) {
            self.0.extend(outcome.err().map(|why| format!("{name}, {recipe}: {why}")));
        }
    }

    /// Runs a check that does not depend on a recipe.
    async fn once(&mut self, name: &str, check: impl Future<Output = ()>) {
        let started = Instant::now();
        let outcome = Self::bounded(check).await;
        println!("{name}: {:.1} s", started.elapsed().as_secs_f64());
        self.0.extend(outcome.err().map(|why| format!("{name}: {why}")));
    }
}

macro_rules! check {
    ($failures:ident, $stage:ident, $($area:ident :: $check:ident),+ $(,)?) => {
        $($failures.check(stringify!($check), &$stage, $area::$check).await;)+
    };
}

#[test]
fn recipes_hold_on_real_servers() {
    on_one_thread(async {
        let stage = <ServerStage>::set_up(TICK_MS).await;
        let mut failures = Failures::default();
        failures.once("no_ensemble_at_the_start_is_an_error", no_ensemble_at_the_start_is_an_error()).await;
        check!(
            failures,
            stage,
            succession::a_sole_candidate_leads_by_an_ephemeral_and_leaves_a_deletable_election,
            succession::a_follower_leads_after_a_crash_and_one_who_comes_back_follows,
            succession::a_breadcrumb_stays_after_a_crash_and_goes_with_a_resign,
            succession::a_follower_leads_after_a_resign_and_the_rejoiner_follows,
            succession::a_follower_in_the_middle_goes_and_the_leader_is_untouched,
            succession::a_leader_whose_znode_is_deleted_steps_down_and_stands_anew,
            succession::sessions_that_expire_at_random_leave_one_leader_and_no_orphans,
            ends::deleting_a_missing_election_is_no_error,
            ends::a_deletion_from_outside_tells_everyone,
            ends::one_who_was_away_is_told_when_it_comes_back,
            connection_faults::a_resign_without_the_ensemble_ends_in_time,
            connection_faults::a_create_whose_reply_is_lost_leaves_one_znode,
            connection_faults::a_deletion_whose_reply_is_lost_does_not_hit_the_next_leader,
            connection_faults::two_quick_disconnects_leave_one_znode_and_one_leader,
            connection_faults::a_partition_longer_than_the_timeout_hands_the_lead_over,
        );
        failures.once("a_broken_recipe_is_caught", a_broken_recipe_is_caught(&stage)).await;
        failures.once("churn_leaves_no_watches_behind", churn_leaves_no_watches_behind(&stage)).await;
        check!(failures, stage, ends::a_thousand_that_come_while_it_is_deleted_all_end);
        // Last, because it leaves two servers.
        let killed = async {
            let groups =
                join_all(RecipeKind::sound().map(|recipe| connection_faults::with_links(&stage, recipe))).await;
            connection_faults::the_leaders_server_is_killed(&stage, &groups).await;
        };
        failures.once("the_leaders_server_is_killed", killed).await;
        stage.tear_down().await;
        assert!(failures.0.is_empty(), "{} checks failed:\n{}", failures.0.len(), failures.0.join("\n"));
    });
}

#[test]
fn recipes_hold_at_the_end_of_the_sequence_numbers() {
    on_one_thread(async {
        let stage = <ServerStage>::set_up(TICK_MS).await;
        sequence::numbers_that_repeat_let_nobody_past_who_came_first(&stage).await;
        stage.tear_down().await;
    });
}

/// Shows that these checks can fail.
async fn a_broken_recipe_is_caught(stage: &ServerStage) {
    let check = succession::a_follower_in_the_middle_goes_and_the_leader_is_untouched(stage, RecipeKind::NoRelist);
    let why = Failures::bounded(check).await.expect_err("a second leader");
    assert!(why.contains("two led at once"), "{why}");
}

async fn no_ensemble_at_the_start_is_an_error() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("a free port");
    let nobody = nobody.to_string();
    let connecting = ZkSession::connect(&nobody, Duration::from_secs(1));
    let outcome = tokio::time::timeout(Duration::from_secs(10), connecting).await.expect("it is given up");
    let error = outcome.err().expect("there is nobody").to_string();
    for part in [nobody.as_str(), "1000 ms", "see that the ensemble runs"] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
}

/// After all the joining and leaving, the servers hold no more watches than before.
async fn churn_leaves_no_watches_behind(stage: &ServerStage) {
    let settled = async || {
        let mut count = crate::watches::watch_count(stage).await;
        for _ in 0..50 {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let again = crate::watches::watch_count(stage).await;
            if again == count {
                break;
            }
            count = again;
        }
        count
    };
    let groups = join_all(RecipeKind::sound().map(|recipe| Group::of(stage, recipe, 3))).await;
    let before = settled().await;
    join_all(groups.iter().map(succession::two_hundred_rounds_of_resign_and_rejoin)).await;
    let after = settled().await;
    println!("{before} watches before the churn, {after} after");
    assert!(before > 0);
    assert_eq!(after, before, "watches were left behind, or are missing");
}
