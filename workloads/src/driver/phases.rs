//! The phases of a cell, from its set-up to its tear-down.

use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use futures::future::{Either, select};
use hustings_record::numbers::nanos;
use hustings_record::{Event, FaultKind, Nanos, Phase, WindowEdge};

use super::backend::{Backend, EnrolmentProgress};
use super::floor;
use super::holdings;
use super::server_load;
use super::server_logs::ServerLogs;
use super::server_watch::RunningServerWatch;
use super::write_probe::WriteProbe;

/// No action begins or ends this close to a snapshot of the servers' counters, so that it is clear what they include.
const QUIET: Duration = Duration::from_millis(300);
/// Samples of the floor: many where a latency is compared with it, few elsewhere.
const FLOOR_SAMPLES: (u32, u32) = (60, 10);

const MS: Nanos = 1_000_000;

/// Runs a cell from set-up to tear-down, which always runs.
///
/// # Errors
/// Infrastructure errors, or why the cell was cut short: the first of them.
pub async fn run<B: Backend>(backend: &Rc<B>) -> Result<(), B::Error> {
    enter(&**backend, Phase::SetUp);
    let set_up = backend.set_up().await;
    let logs = set_up.is_ok().then(|| ServerLogs::begin(&**backend));
    let load = set_up.is_ok().then(|| server_load::begin(backend));
    let mut watches = None;
    if let (Ok(()), Some(ms)) = (&set_up, backend.state().cell.watch_ms) {
        let states = RunningServerWatch::begin(backend, Duration::from_millis(ms)).await;
        watches = Some((states, WriteProbe::begin(backend)));
    }
    let lived = match set_up {
        Ok(()) => match select(pin!(live(backend)), pin!(backend.cut_short())).await {
            Either::Left((lived, _)) => lived,
            Either::Right((why, _)) => Err(why),
        },
        Err(error) => Err(error),
    };
    enter(&**backend, Phase::TearDown);
    let torn_down = backend.tear_down().await;
    drop(load);
    if let Some((states, writes)) = watches {
        writes.end();
        states.end();
    }
    if let Some(logs) = logs {
        logs.end(&**backend).await;
    }
    enter(&**backend, Phase::End);
    lived.and(torn_down)
}

/// Enrols all candidates, injects as planned, and drains. A cell whose candidates do not all enrol is noted as such in
/// its record, and ends there.
async fn live<B: Backend>(backend: &Rc<B>) -> Result<(), B::Error> {
    let cell = backend.state().cell.clone();
    enter(&**backend, Phase::Enrol);
    backend.start_hosts().await?;
    let enrolled = enrol(&**backend).await;
    backend.enrolled();
    if let Err(short) = enrolled {
        note(&**backend, &short);
        backend.warn(&format!("{}: {short}", cell.name));
        return Ok(());
    }
    enter(&**backend, Phase::WarmUp);
    let warm = backend.now() + cell.phases.warm_up_ms * MS;
    if cell.groups > 0 && backend.has_floor() {
        let samples = if cell.fault.kind() == FaultKind::Resign { FLOOR_SAMPLES.0 } else { FLOOR_SAMPLES.1 };
        floor::measure(&**backend, samples).await;
    }
    backend.sleep_until(warm).await;
    holdings::record(&**backend, WindowEdge::Begin).await;
    snapshot(&**backend, WindowEdge::Begin).await;
    quiet(&**backend).await;
    enter(&**backend, Phase::Measure);
    let until = backend.injection().await;
    backend.sleep_until(until).await;
    enter(&**backend, Phase::Heal);
    enter(&**backend, Phase::Drain);
    let until = drain(&**backend).await;
    holdings::record(&**backend, WindowEdge::End).await;
    snapshot(&**backend, WindowEdge::End).await;
    quiet(&**backend).await;
    // Slow answers of busy servers may have cost a leader its lead in between. The record shows who leads at the end.
    let _ = settled(&**backend, until, || ()).await;
    Ok(())
}

/// Records the beginning of a phase.
fn enter<B: Backend>(backend: &B, phase: Phase) {
    backend.record(Event::Phase { t: backend.now(), phase });
}

fn note<B: Backend>(backend: &B, text: &str) {
    backend.record(Event::Note { t: backend.now(), cand: None, text: text.to_owned() });
}

async fn quiet<B: Backend>(backend: &B) {
    backend.sleep_until(backend.now() + nanos(QUIET)).await;
}

/// Waits until every candidate is enrolled and every group is led, or reports how far it came.
async fn enrol<B: Backend>(backend: &B) -> Result<(), String> {
    let cell = &backend.state().cell;
    let total = cell.candidates();
    let led = || backend.state().leaders.borrow().led();
    let tell = || {
        let EnrolmentProgress { standing, .. } = backend.standing();
        backend
            .progress(|| format!("{}: {standing}/{total} enrolled, {}/{} groups led", cell.name, led(), cell.groups));
    };
    let short = |()| {
        let EnrolmentProgress { connected, standing, .. } = backend.standing();
        format!(
            "after {} s only {standing} of {total} candidates stand ({connected} connected) and {} of {} groups are led; \
             no fault was injected",
            cell.phases.enrol_max_ms / 1_000,
            led(),
            cell.groups,
        )
    };
    settled(backend, backend.now() + cell.phases.enrol_max_ms * MS, tell).await.map_err(short)
}

/// Liveness is demanded now: waits for every group to be led, for at least the drain's minimum and at most its maximum.
/// Returns the end of that maximum.
async fn drain<B: Backend>(backend: &B) -> Nanos {
    let cell = &backend.state().cell;
    backend.progress(|| format!("{}: draining", cell.name));
    let (least, until) = (backend.now() + cell.phases.drain_ms * MS, backend.now() + cell.phases.drain_max_ms * MS);
    backend.sleep_until(least).await;
    if settled(backend, until, || ()).await.is_err() {
        note(backend, "the drain ended before every candidate stood and every group was led");
    }
    until
}

/// Waits until every candidate is enrolled and every group is led.
async fn settled<B: Backend>(backend: &B, until: Nanos, tell: impl Fn()) -> Result<(), ()> {
    loop {
        tell();
        let EnrolmentProgress { candidates, standing, .. } = backend.standing();
        let all_led = {
            let leaders = backend.state().leaders.borrow();
            leaders.led() == leaders.groups()
        };
        if all_led && standing >= candidates {
            return Ok(());
        }
        if backend.now() >= until {
            return Err(());
        }
        backend.changed(until).await;
    }
}

/// Records the servers' own counters. If they cannot be read the record has none, and the affected check says so.
async fn snapshot<B: Backend>(backend: &B, at: WindowEdge) {
    match backend.counters().await {
        Ok(metrics) => backend.record(Event::Servers { t: backend.now(), at, metrics }),
        Err(error) => note(backend, &format!("the servers' counters could not be read: {error}")),
    }
}
