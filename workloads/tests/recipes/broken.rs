//! The broken recipes show their bugs on the schedules of their cases, and the recipes that they derive from do not.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use hustings_record::{Event, StepDown};
use hustings_workloads::coordination::SessionEnd;
use hustings_workloads::host::{Departure, Order, RevokeReason, Token};
use hustings_workloads::model::Bugs;
use hustings_workloads::recipes::{Case, RecipeKind, cases};
use hustings_workloads::simulation::bench::{Bench, JournalEntry, TIMEOUT_MS, election};
use hustings_workloads::simulation::{EventSink, Simulation, Timing, Writer, simulate};

#[derive(Default)]
struct RecordedEvents(RefCell<Vec<Event>>);

impl EventSink for RecordedEvents {
    fn record(&self, _: Writer, event: Event) {
        self.0.borrow_mut().push(event);
    }
}

/// The result of one schedule.
#[derive(Default)]
struct ScheduleResult {
    /// The leaders at the end.
    leads: Vec<u32>,
    /// The most simultaneous leaders.
    at_once: usize,
    /// The tokens of all terms, in order.
    tokens: Vec<(u32, Token)>,
    /// The longest time between a leader and the next.
    leaderless_ms: u64,
    stepped_down: usize,
    notified: usize,
    joined: usize,
    /// Watches at the servers at the end.
    watches: f64,
}

fn play(case: &Case, recipe: RecipeKind, bugs: Bugs) -> ScheduleResult {
    let schedule = Some(case.schedule.to_vec());
    let tale = Rc::new(RecordedEvents::default());
    let cell = case.cell(recipe).unwrap();
    assert!(simulate(&Simulation { cell, seed: 1, timing: Timing::default(), bugs, schedule }, tale.clone()).in_order);
    let mut seen = ScheduleResult::default();
    let mut idle_since = None;
    let mut leads: BTreeMap<u32, u32> = BTreeMap::new();
    for event in tale.0.take() {
        match event {
            Event::Grant { t, cand, term, czxid, session, .. } => {
                leads.insert(cand, term);
                seen.tokens.push((cand, Token { czxid, session }));
                if let Some(since) = idle_since.take() {
                    seen.leaderless_ms = seen.leaderless_ms.max((t - since) / 1_000_000);
                }
            }
            Event::Revoke { to, cand, reason, .. } => {
                leads.remove(&cand);
                idle_since = idle_since.or(leads.is_empty().then_some(to));
                seen.stepped_down += usize::from(reason == RevokeReason::SteppedDown);
            }
            // Each candidate has its own host with the same number.
            Event::HostEnded { host, killed: true, .. } => _ = leads.remove(&u32::from(host)),
            Event::Notified { .. } => seen.notified += 1,
            Event::Joined { .. } => seen.joined += 1,
            Event::Servers { metrics, .. } => seen.watches = metrics.values().map(|of| of["watch_count"]).sum(),
            _ => {}
        }
        seen.at_once = seen.at_once.max(leads.len());
    }
    seen.leads = leads.into_keys().collect();
    seen
}

/// The results of a broken recipe on the schedule of its case, and of the sound one.
fn both(name: &str) -> (ScheduleResult, ScheduleResult) {
    let case = cases().iter().find(|case| case.name == name).unwrap();
    (play(case, case.recipe, case.bugs), play(case, case.sound.unwrap(), case.bugs))
}

fn two_lead_at_once(name: &str) {
    let (broken, sound) = both(name);
    assert_eq!((broken.at_once, sound.at_once), (2, 1), "{name}");
    assert_eq!(sound.leads.len(), 1, "{name}");
}

fn nobody_leads_in_the_end(name: &str) {
    let (broken, sound) = both(name);
    assert_eq!((broken.leads.len(), broken.at_once), (0, 1), "{name}");
    assert_eq!((sound.leads.len(), sound.at_once), (1, 1), "{name}");
}

#[test]
fn without_the_relist_the_death_of_one_in_the_middle_makes_two_leaders() {
    two_lead_at_once("no-relist");
}

#[test]
fn a_leader_that_ignores_the_loss_of_its_session_leads_beside_the_next_for_a_bounded_time() {
    two_lead_at_once("ignores-session-loss");
    let mut bench = Bench::with(2, &election(RecipeKind::IgnoresSessionLoss, StepDown::OnDisconnect));
    bench.expire(0);
    bench.advance_ms(3 * TIMEOUT_MS - 100);
    assert_eq!(bench.believers(), [0, 1]);
    bench.advance_ms(200);
    assert_eq!(bench.believers(), [1]);
    assert_eq!(bench.departure(0), Some(Departure::SessionEnded(SessionEnd::Expired)));
}

#[test]
fn even_the_deaf_obey_an_order() {
    for recipe in [RecipeKind::IgnoresSessionLoss, RecipeKind::SilentWatchEnd] {
        let mut bench = Bench::with(1, &election(recipe, StepDown::OnDisconnect));
        bench.expire(0);
        bench.run();
        assert_eq!(bench.believers(), [0], "{recipe}");
        bench.order(0, Order::Stop);
        bench.advance_ms(2_000);
        assert!(bench.believers().is_empty(), "{recipe}");
        assert_eq!(bench.departure(0), Some(Departure::Stopped), "{recipe}");
        assert_eq!(bench.count(0, |e| matches!(e, JournalEntry::Said(Event::Revoke { .. }))), 1, "{recipe}");
    }
}

#[test]
fn one_that_comes_back_and_adopts_what_bears_its_name_leads_on_what_is_about_to_go() {
    two_lead_at_once("adopts-closing-session");
    two_lead_at_once("lock-by-name");
}

#[test]
fn two_handlers_of_reconnects_leave_a_leader_without_its_znode() {
    two_lead_at_once("interleaved-reconnects");
    let (broken, _) = both("interleaved-reconnects");
    let of = |cand: u32| broken.tokens.iter().filter(move |term| term.0 == cand).map(|term| term.1);
    assert!(of(0).next_back() < of(1).next(), "what it writes is stale");
}

#[test]
fn one_that_steps_down_late_is_overtaken_by_the_end_of_its_session() {
    two_lead_at_once("timer-from-suspended");
    two_lead_at_once("slow-step-down");
}

#[test]
fn a_timer_on_the_wall_clock_is_right_until_that_is_set_back() {
    two_lead_at_once("wall-clock-timer");
    let case = cases().iter().find(|case| case.name == "wall-clock-timer").unwrap();
    let left_alone = Case { schedule: &case.schedule[..1], ..*case };
    assert_eq!(play(&left_alone, case.recipe, case.bugs).at_once, 1);
}

#[test]
fn a_cancellation_between_acquiring_and_believing_is_lost() {
    two_lead_at_once("cancel-before-flag");
}

#[test]
fn a_watch_that_ends_without_a_word_leaves_a_leader_that_hears_nothing() {
    two_lead_at_once("silent-watch-end");
}

#[test]
fn one_that_does_not_look_for_its_znode_leads_without_it() {
    two_lead_at_once("no-own-check");
}

#[test]
fn one_whose_session_ends_while_it_waits_leads_when_it_wakes() {
    two_lead_at_once("no-recheck-after-wait");
}

#[test]
fn sorted_as_text_the_first_beyond_the_end_of_the_counter_comes_before_all() {
    two_lead_at_once("sorts-as-text");
}

#[test]
fn by_number_one_beyond_the_end_of_the_counter_comes_before_all() {
    two_lead_at_once("trusts-numbers");
}

#[test]
fn one_that_gives_its_znode_back_first_leads_beside_its_successor() {
    two_lead_at_once("leaves-before-it-stops");
}

#[test]
fn a_create_that_is_simply_made_again_leaves_a_znode_that_nobody_leads_on() {
    nobody_leads_in_the_end("no-guid");
}

#[test]
fn a_release_that_failed_and_is_not_repeated_keeps_the_lead() {
    nobody_leads_in_the_end("leaves-on-failed-release");
}

#[test]
fn a_notification_under_way_makes_the_znode_anew_after_the_shutdown() {
    nobody_leads_in_the_end("recreates-after-close");
}

#[test]
fn a_try_whose_clean_up_failed_stays_in_the_queue() {
    nobody_leads_in_the_end("abandons-contender");
}

#[test]
fn one_that_takes_the_end_of_its_session_for_a_lost_connection_waits_for_ever() {
    nobody_leads_in_the_end("forgets-session-end");
}

#[test]
fn two_that_begin_anew_when_their_predecessor_has_vanished_keep_each_other_from_leading() {
    nobody_leads_in_the_end("resets-instead-of-relisting");
    let (broken, sound) = both("resets-instead-of-relisting");
    assert!(broken.joined > 20 && sound.joined < 6, "over and over again");
}

#[test]
fn a_breadcrumb_that_is_written_twice_is_fought_over_with_oneself() {
    let (broken, sound) = both("breadcrumb-retry");
    assert!(broken.leaderless_ms > 5_000 && sound.leaderless_ms < 1_000, "as long as the network loses answers");
    assert_eq!((broken.at_once, sound.at_once), (1, 1));
}

#[test]
fn one_that_trusts_its_watch_over_a_reconnect_relies_on_the_servers() {
    nobody_leads_in_the_end("trusts-watches");
    let case = cases().iter().find(|case| case.name == "trusts-watches").unwrap();
    assert_eq!(play(case, case.recipe, Bugs::default()).leads, [1]);
}

#[test]
fn a_server_that_keeps_ephemerals_keeps_the_lead_with_them() {
    let case = cases().iter().find(|case| case.name == "server-keeps-ephemerals").unwrap();
    assert!(play(case, case.recipe, case.bugs).leads.is_empty());
    assert_eq!(play(case, case.recipe, Bugs::default()).leads, [1]);
}

#[test]
fn watches_on_what_has_vanished_pile_up() {
    let (broken, sound) = both("exists-on-vanished");
    assert_eq!((broken.watches, sound.watches), (10.0 + 3.0, 3.0));
}

#[test]
fn tokens_made_of_sequence_numbers_go_back_at_the_end_of_the_counter() {
    let (broken, sound) = both("sequence-as-token");
    assert!(!broken.tokens.is_sorted_by_key(|term| term.1) && sound.tokens.is_sorted_by_key(|term| term.1));
    assert_eq!((broken.at_once, broken.leads.len()), (1, 1));
}

#[test]
fn where_everybody_watches_the_head_its_loss_wakes_everybody() {
    let (broken, sound) = both("wakes-everybody");
    assert!(broken.notified > sound.notified, "{} and {}", broken.notified, sound.notified);
    assert_eq!((broken.at_once, broken.leads.len()), (1, 1));
}

#[test]
fn a_lease_that_nobody_renews_hands_the_lead_over_without_a_cause() {
    let (broken, sound) = both("lease-not-renewed");
    assert!(broken.stepped_down > 1 && sound.stepped_down == 0);
    assert_eq!((broken.at_once, sound.leads.len()), (1, 1));
}
