//! The effect of a slow link on its clients, measured in virtual time: each parameter and direction separately.

use hustings_record::Direction;

use super::conforms::{SimulatedTarget, on_simulated};
use super::session::SimSession;
use crate::conformance::ConformanceTarget as _;
use crate::coordination::{CreateMode, Session as _, Watch as _};
use crate::faults::LinkSlowdown;
use crate::model::{Bugs, Micros};

/// The duration of requests over a link, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct RequestDurations {
    /// A small request and its answer.
    round_ms: f64,
    /// The difference between the quickest and the slowest of many small requests.
    spread_ms: f64,
    /// 64 KiB to the server, with a small answer.
    write_ms: f64,
    /// 64 KiB from the server.
    read_ms: f64,
    /// From the beginning of another client's write until the writer has its answer and the watcher its notification.
    /// The link slows only the notification: one way, down.
    told_ms: f64,
}

const BULK: usize = 65_536;

async fn timed<T>(arm: &SimulatedTarget, act: impl Future<Output = T>) -> f64 {
    let from = arm.world.clock.now();
    act.await;
    (arm.world.clock.now() - from) as f64 / 1e3
}

async fn measure(
    arm: &SimulatedTarget,
    session: &SimSession,
    other: &SimSession,
    how: &LinkSlowdown,
) -> RequestDurations {
    let host = usize::from(arm.host_of(session));
    let set = |how: &LinkSlowdown| arm.world.network.hosts.borrow_mut()[host].link.slow = how.clone();
    let ((), watch) = (set(&LinkSlowdown::default()), session.get_and_watch("/bulk").await.expect("there").2);
    set(how);
    let mut watch = watch;
    let told = async {
        other.set("/bulk", &[7; BULK], None).await.expect("written");
        // Waits for both. Where the watcher's link is not slow, the writer's answer may come after the notification.
        watch.fired().await;
    };
    let told_ms = timed(arm, told).await;
    let mut rounds = Vec::new();
    for _ in 0..40 {
        rounds.push(timed(arm, session.exists("/")).await);
    }
    let write_ms = timed(arm, session.set("/bulk", &[8; BULK], None)).await;
    let read_ms = timed(arm, session.get("/bulk")).await;
    let quickest = rounds.iter().copied().fold(f64::INFINITY, f64::min);
    let slowest = rounds.iter().copied().fold(0.0, f64::max);
    RequestDurations { round_ms: quickest, spread_ms: slowest - quickest, write_ms, read_ms, told_ms }
}

/// The durations over a link that is this slow, and over the same link before.
fn slowed(how: LinkSlowdown) -> (RequestDurations, RequestDurations) {
    on_simulated(3, 5, Bugs::default(), async move |arm| {
        let (session, other) = (arm.connect().await, arm.connect().await);
        other.create("/bulk", &[0; BULK], CreateMode::Persistent).await.expect("made");
        let plain = measure(arm, &session, &other, &LinkSlowdown::default()).await;
        (measure(arm, &session, &other, &how).await, plain)
    })
}

/// Checks that a duration grew by this many milliseconds, within two: a hop's own jitter and the servers' queues.
fn grew(now: f64, before: f64, by_ms: f64, what: &str) {
    assert!((now - before - by_ms).abs() < 2.0, "{what}: {before} ms before, {now} ms now, {by_ms} ms were due");
}

fn latency(direction: Direction) -> LinkSlowdown {
    LinkSlowdown { latency_ms: 100, direction, ..LinkSlowdown::default() }
}

fn rate(direction: Direction) -> LinkSlowdown {
    // 64 KiB take a second.
    LinkSlowdown { rate_kb: Some(64), direction, ..LinkSlowdown::default() }
}

#[test]
fn latency_is_added_each_way_that_is_slow() {
    for (direction, round_ms, told_ms) in
        [(Direction::Both, 200.0, 100.0), (Direction::Up, 100.0, 0.0), (Direction::Down, 100.0, 100.0)]
    {
        let (slow, plain) = slowed(latency(direction));
        grew(slow.round_ms, plain.round_ms, round_ms, &format!("a round trip, {direction}"));
        grew(slow.told_ms, plain.told_ms, told_ms, &format!("an event, {direction}"));
        grew(slow.read_ms, plain.read_ms, round_ms, "as much for much as for little");
    }
}

#[test]
fn jitter_is_to_either_side_of_the_latency() {
    let (slow, plain) = slowed(LinkSlowdown { jitter_ms: 40, ..latency(Direction::Up) });
    let (least, most) = (slow.round_ms - plain.round_ms, slow.round_ms + slow.spread_ms - plain.round_ms);
    assert!((58.0..90.0).contains(&least) && (110.0..144.0).contains(&most), "{least} to {most} ms later");
    assert!(plain.spread_ms < 2.0, "{plain:?}");
}

#[test]
fn a_jitter_above_the_latency_never_makes_time_run_backwards() {
    let (slow, plain) = slowed(LinkSlowdown { jitter_ms: 50, ..LinkSlowdown::default() });
    assert!(slow.round_ms >= plain.round_ms - 2.0 && slow.spread_ms > 25.0, "{slow:?} {plain:?}");
}

#[test]
fn a_rate_limits_the_way_that_is_slow_by_the_bytes_that_pass() {
    for (direction, write_ms, read_ms) in
        [(Direction::Both, 1_000.0, 1_000.0), (Direction::Up, 1_000.0, 0.0), (Direction::Down, 0.0, 1_000.0)]
    {
        let (slow, plain) = slowed(rate(direction));
        let near = |now: f64, before: f64, due: f64| (now - before - due).abs() < 10.0;
        assert!(near(slow.write_ms, plain.write_ms, write_ms), "write, {direction}: {slow:?}, before {plain:?}");
        assert!(near(slow.read_ms, plain.read_ms, read_ms), "read, {direction}: {slow:?}, before {plain:?}");
        assert!(slow.round_ms - plain.round_ms < 5.0, "little is hardly late: {slow:?}, before {plain:?}");
    }
}

#[test]
fn a_busy_line_makes_what_comes_behind_wait() {
    let alone: Micros = 1_000_000;
    let both = on_simulated(1, 2, Bugs::default(), async |arm| {
        let session = arm.connect().await;
        session.create("/bulk", b"", CreateMode::Persistent).await.expect("made");
        let host = usize::from(arm.host_of(&session));
        arm.world.network.hosts.borrow_mut()[host].link.slow = rate(Direction::Up);
        let from = arm.world.clock.now();
        let writes = [session.set("/bulk", &[1; BULK], None), session.set("/bulk", &[2; BULK], None)];
        futures::future::join_all(writes).await;
        arm.world.clock.now() - from
    });
    assert!(both >= 2 * alone && both < 2 * alone + 50_000, "{both} µs");
}
