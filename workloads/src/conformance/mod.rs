//! The conformance suite of [`Session`]. The same body runs against real servers and against any model of them; a model
//! is valid only while it passes. Checks panic with the mismatch; [`check_all`] collects these.

mod sessions;
mod tree;
mod unknown;
mod watches;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;

use futures::FutureExt;
use futures::future::{Either, select};

use hustings_record::Direction;

use crate::coordination::{CreateMode, OpError, Refusal, Session, SessionState, States, Watch, WatchEvent};

/// Bound on a check, and on a wait inside one: far more than any of them needs.
const CHECK_MAX_MS: u64 = 60_000;
const SOON_MS: u64 = 15_000;

/// Long enough to see that something does not happen.
const QUIET_MS: u64 = 300;

/// One implementation under test, with the means to inject faults into it. Each session has its own link. A failure in
/// the arm itself is a panic.
#[expect(async_fn_in_trait, reason = "a host is single-threaded: its futures need no Send")]
pub trait ConformanceTarget {
    type Session: Session;

    /// A new session, connected over its own link. Its T is at least 2 s and at most 10 s.
    async fn connect(&self) -> Self::Session;
    /// Resets the session's connection. The session can reconnect at once, unless the link is held.
    async fn cut(&self, session: &Self::Session);
    /// Lets nothing pass from now on; data that is sent is queued. May take up to a fifth of T.
    async fn hold(&self, session: &Self::Session, way: Direction);
    async fn release(&self, session: &Self::Session);
    /// Attaches the same session by a second connection, which has no link. The first connection loses the session.
    async fn take_over(&self, session: &Self::Session) -> Self::Session;
    /// How many servers there are.
    fn servers(&self) -> usize;
    /// As [`take_over`](Self::take_over), by a connection to this server.
    async fn take_over_at(&self, session: &Self::Session, server: usize) -> Self::Session;
    /// Makes the ensemble end the session now.
    async fn expire(&self, session: &Self::Session);
    /// Closes the session; false when that was not answered.
    async fn close(&self, session: Self::Session) -> bool;
    /// Watches that the servers hold, of all sessions.
    async fn watch_count(&self) -> u64;
    async fn sleep(&self, ms: u64);
    /// The time since some fixed moment.
    fn now_ms(&self) -> u64;
    /// A number that was not returned before.
    fn fresh(&self) -> u64;
}

/// The result of all checks on one arm.
#[derive(Debug, Default)]
pub struct Conformance {
    /// Number of checks that ran: all there are.
    pub run: usize,
    /// Names of the failed checks, with their messages.
    pub failures: Vec<(&'static str, String)>,
}

impl Conformance {
    /// Prints how many passed.
    ///
    /// # Panics
    /// With the messages of the failed checks, if there are any.
    pub fn assert_whole(&self, arm: &str) {
        println!("conformance of {arm}: {} of {} checks passed", self.run - self.failures.len(), self.run);
        let told: Vec<String> = self.failures.iter().map(|(check, why)| format!("{check}: {why}")).collect();
        assert!(told.is_empty() && self.run > 0, "{arm}: {} of {} failed:\n{}", told.len(), self.run, told.join("\n"));
    }
}

/// Runs every check, each below a znode of its own.
pub async fn check_all<A: ConformanceTarget>(arm: &A) -> Conformance {
    let mut done = Conformance::default();
    macro_rules! run {
        ($($area:ident :: { $($check:ident),+ $(,)? })+) => { $($(
            done.run += 1;
            if let Err(why) = bounded(arm, $area::$check(arm)).await {
                done.failures.push((concat!(stringify!($area), "::", stringify!($check)), why));
            }
        )+)+ };
    }
    run! {
        tree::{
            every_mode_creates_what_it_says, a_create_that_cannot_be_is_refused, sequence_numbers_count_the_parents_creates,
            the_sequence_starts_again_with_its_parent, a_delete_wants_the_version_and_no_children,
            children_are_listed_by_name, data_is_set_by_version, a_transaction_is_all_or_nothing,
            a_failed_transaction_wakes_nobody, the_steps_of_a_transaction_number_their_znodes_in_order,
            a_container_is_a_parent_like_any_other, after_a_sync_the_writes_of_others_are_seen, requests_take_effect_in_the_order_they_were_sent,
        }
        watches::{
            a_watch_tells_what_happened, a_watch_on_children_tells_who_comes_and_goes_and_nothing_else, a_watch_fires_once_for_the_first_change, a_watch_sees_its_own_sessions_change,
            a_wait_that_was_dropped_loses_nothing, only_an_exists_watches_a_missing_znode, a_dropped_watch_costs_nothing,
            a_watch_beside_a_dropped_one_stays_armed, a_watch_outlives_its_connection,
            what_happened_meanwhile_is_told_after_a_reconnect, many_watches_are_set_again_at_once, one_deleted_and_made_again_meanwhile_has_changed,
            the_end_of_the_session_ends_its_watches,
        }
        sessions::{
            ephemerals_belong_to_their_session, a_lost_connection_is_told_and_the_session_goes_on,
            a_short_silence_is_not_even_noticed, a_long_silence_ends_the_session, an_expired_session_is_told_and_refuses,
            a_close_is_answered_and_takes_the_ephemerals, a_take_over_keeps_the_ephemerals_until_it_closes,
            a_take_over_works_at_every_server, sessions_expire_after_their_timeout_in_the_order_of_their_silence,
        }
        unknown::{
            a_request_that_did_not_arrive_is_unknown, a_request_whose_reply_was_lost_is_unknown,
            every_kind_of_request_ends_when_its_connection_does, a_request_made_without_a_connection_ends_too,
            a_future_that_is_dropped_takes_nothing_back,
        }
    }
    done
}

async fn bounded<A: ConformanceTarget>(arm: &A, check: impl Future<Output = ()>) -> Result<(), String> {
    let check = pin!(AssertUnwindSafe(check).catch_unwind());
    match select(check, pin!(arm.sleep(CHECK_MAX_MS))).await {
        Either::Left((Ok(()), _)) => Ok(()),
        Either::Left((Err(panic), _)) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            Err(text.or_else(|| panic.downcast_ref().copied()).unwrap_or("it panicked").to_owned())
        }
        Either::Right(_) => Err(format!("it did not end within {CHECK_MAX_MS} ms")),
    }
}

/// Waits for `awaited`, or fails.
async fn soon<A: ConformanceTarget, T>(arm: &A, what: &str, awaited: impl Future<Output = T>) -> T {
    match select(pin!(awaited), pin!(arm.sleep(SOON_MS))).await {
        Either::Left((value, _)) => value,
        Either::Right(_) => panic!("{what}: not within {SOON_MS} ms"),
    }
}

/// A persistent znode for one check, created by `session`.
async fn place<A: ConformanceTarget>(arm: &A, session: &A::Session) -> String {
    let path = format!("/conformance-{}", arm.fresh());
    session.create(&path, b"", CreateMode::Persistent).await.expect("a place of its own");
    path
}

async fn two<A: ConformanceTarget>(arm: &A) -> (A::Session, A::Session, String) {
    let (one, other) = (arm.connect().await, arm.connect().await);
    let place = place(arm, &one).await;
    other.sync(&place).await.expect("synced");
    (one, other, place)
}

async fn close_all<A: ConformanceTarget>(arm: &A, sessions: impl IntoIterator<Item = A::Session>) {
    for session in sessions {
        assert!(arm.close(session).await, "a close is answered");
    }
}

async fn make<S: Session>(session: &S, path: &str) {
    session.create(path, b"0", CreateMode::Persistent).await.expect("created");
}

fn refused<T: std::fmt::Debug>(answer: Result<T, OpError>) -> Refusal {
    match answer {
        Err(OpError::Refused(refusal)) => refusal,
        other => panic!("it is refused, and not {other:?}"),
    }
}

async fn state_comes<A: ConformanceTarget>(arm: &A, states: &mut impl States, wanted: SessionState) {
    let wait = async {
        let mut state = states.now();
        while state != wanted {
            state = states.changed().await;
        }
    };
    soon(arm, &format!("{wanted:?}"), wait).await;
}

async fn told<A: ConformanceTarget>(arm: &A, watch: &mut impl Watch) -> WatchEvent {
    soon(arm, "the notification", watch.fired()).await
}

/// Whether the watch fires no event for `QUIET_MS`.
async fn is_silent<A: ConformanceTarget>(arm: &A, watch: &mut impl Watch) -> bool {
    matches!(select(pin!(watch.fired()), pin!(arm.sleep(QUIET_MS))).await, Either::Right(_))
}

/// Resets the connection, and waits until there is a new one.
async fn reconnect<A: ConformanceTarget>(arm: &A, session: &A::Session) {
    let mut states = session.states();
    arm.cut(session).await;
    // Both changes may have passed by now, but at least one change has occurred.
    soon(arm, "the loss of the connection", states.changed()).await;
    state_comes(arm, &mut states, SessionState::Connected).await;
}

/// Waits until the znode exists, or does not.
async fn until_exists<A: ConformanceTarget>(arm: &A, session: &A::Session, path: &str, wanted: bool) {
    let wait = async {
        while session.exists(path).await.expect("answered").is_some() != wanted {
            arm.sleep(20).await;
        }
    };
    soon(arm, &format!("{path} there: {wanted}"), wait).await;
}
