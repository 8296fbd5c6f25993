//! The data that `tune` reads from a record: the sessions that a pause expired, those in no figure, and why.

use crate::*;
use hustings_reports::tune::{ExcludedSessions, RunMeasurements, measured};

const PAUSE: u64 = 20_000;
const LONG: u64 = 3_000;

/// Host 0, with a session for each of three groups, is stopped for `LONG`.
fn paused(verified: bool) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 3, 3, FaultKind::Pause);
    let id = cell.inject(FaultKind::Pause, 0, &[0, 1, 2], PAUSE, Some(LONG));
    cell.verification(id, VerificationStage::Healed, PAUSE + LONG, verified, Vec::new());
    cell
}

fn says(cell: &mut Cell, group: u32, after: u64, state: SessionState) {
    let session = cell.session(group, 0);
    cell.host(0).push(Event::State { t: ms(PAUSE + LONG + after), session, state });
}

/// One session goes on, one has expired, and the fate of one is unknown.
fn outcomes(cell: &mut Cell) {
    (0..3).for_each(|group| says(cell, group, 1, SessionState::Disconnected));
    says(cell, 0, 8, SessionState::Connected);
    says(cell, 1, 9, SessionState::Ended(SessionEnd::Expired));
}

#[test]
fn a_session_goes_on_or_has_expired_after_a_pause() {
    let mut cell = paused(true);
    outcomes(&mut cell);
    let RunMeasurements { pairs, left, reconnect_ms, settings, .. } = measured(&cell.record());
    assert_eq!(left, ExcludedSessions { unknown: 1, ..ExcludedSessions::default() });
    assert_eq!((settings, reconnect_ms), (vec![(T, TICK)], Some(8.0)));
    let expired: Vec<_> = pairs.iter().map(|pair| pair.expired).collect();
    assert_eq!(expired, [false, true]);
    assert!(
        pairs.iter().all(|pair| (pair.pause_ms - LONG as f64).abs() < 1e-9 && pair.injection == pairs[0].injection)
    );
    assert!(
        (pairs[0].setting.timeout_ms - T as f64).abs() < 1e-9 && (pairs[0].setting.reconnect_ms - 8.0).abs() < 1e-9
    );
}

#[test]
fn a_session_that_never_lost_its_connection_went_on() {
    let measured = measured(&paused(true).record());
    assert_eq!((measured.pairs.len(), measured.left), (3, ExcludedSessions::default()));
    assert!(measured.pairs.iter().all(|pair| !pair.expired));
}

#[test]
fn a_pause_that_nobody_proved_is_none() {
    let mut cell = paused(false);
    outcomes(&mut cell);
    let measured = measured(&cell.record());
    assert_eq!(
        (measured.pairs.len(), measured.left),
        (0, ExcludedSessions { unverified: 3, ..ExcludedSessions::default() })
    );
}

#[test]
fn what_a_stall_lies_beside_is_left_out() {
    let mut cell = paused(true);
    outcomes(&mut cell);
    let from = ms(PAUSE + LONG);
    cell.coordinator.push(Event::Stall { from, to: from + ms(T / 8), ran_ns: 0, program: false });
    let measured = measured(&cell.record());
    assert_eq!(
        (measured.pairs.len(), measured.left),
        (0, ExcludedSessions { stalled: 3, ..ExcludedSessions::default() })
    );
}

#[test]
fn what_comes_after_the_next_pause_is_not_of_this_one() {
    let mut cell = paused(true);
    says(&mut cell, 0, 1, SessionState::Disconnected);
    let next = PAUSE + LONG + 2_000;
    cell.lasting(FaultKind::Pause, 0, &[0, 1, 2], (next, next + LONG));
    says(&mut cell, 0, 2_000 + LONG, SessionState::Ended(SessionEnd::Expired));
    let RunMeasurements { pairs, left, .. } = measured(&cell.record());
    // The result of the first pause is not known in time, and the second cannot hit a session without a connection.
    assert_eq!((pairs.len(), left.unknown), (2, 3), "{pairs:?}");
}

#[test]
fn sessions_of_other_hosts_and_cells_that_broke_off_show_nothing() {
    let mut cell = paused(true);
    outcomes(&mut cell);
    cell.complete = false;
    assert!(measured(&cell.record()).pairs.is_empty());
}
