//! Faults whose heal is not recorded: they last until their targets do what they cannot do under them.

use crate::effect::writing_all_along;
use crate::foreign::introduce;
use crate::*;

/// Host 0 leads two groups, and is stopped from 20 s on. Host 1 leads the first one from 24.2 s on.
fn stopped() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 2, 3, FaultKind::Pause);
    cell.inject(FaultKind::Pause, 0, &[0], 20_000, Some(10_000));
    let node = cell.node(0, 0);
    cell.notify(0, 1, &node, 24_200);
    cell.lead(0, 1, 24_201);
    cell
}

#[test]
fn a_process_whose_heal_is_not_recorded_is_stopped_until_it_stamps_something_itself() {
    // Overlaps while both ran, and while one was stopped.
    let overlaps = |program: Option<EvidenceSource>, act: fn(&mut Cell)| {
        let mut cell = stopped();
        if let Some(belief) = program {
            introduce(&mut cell, 0, belief);
        }
        act(&mut cell);
        let split = cell.summary().split_brain;
        (split.active.seen, split.latent)
    };
    let nothing: fn(&mut Cell) = |_| {};
    let disconnects: fn(&mut Cell) = |cell| {
        let (session, state) = (cell.session(0, 0), SessionState::Disconnected);
        cell.host(0).push(Event::State { t: ms(30_000), session, state });
    };
    let revokes: fn(&mut Cell) = |cell| cell.revoke(1, 0, 30_000, RevokeReason::SteppedDown);
    let writes: fn(&mut Cell) = |cell| cell.write(0, 0, 30_000);
    let all = [nothing, disconnects, revokes, writes];
    assert_eq!(all.map(|act| overlaps(None, act)), [(0, 1), (1, 1), (1, 1), (1, 1)]);
    // The process beside a program runs on, and reads its connections.
    let reports = Some(EvidenceSource::Report);
    assert_eq!(all.map(|act| overlaps(reports, act)), [(0, 1), (0, 1), (1, 1), (1, 1)]);
    assert_eq!(overlaps(Some(EvidenceSource::Effect), revokes), (0, 1), "it is the process beside it that says so");
}

#[test]
fn a_pause_whose_heal_is_not_recorded_explains_no_loss_long_after_its_process_ran_again() {
    let handovers = |runs_again: bool| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Pause);
        cell.inject(FaultKind::Pause, 0, &[0], 20_000, Some(2_000));
        if runs_again {
            cell.host(0).push(Event::Stall { from: ms(20_000), to: ms(22_000), ran_ns: 0, program: false });
        }
        cell.revoke(0, 0, 60_000, RevokeReason::SessionEnded);
        cell.lead(0, 1, 60_005);
        let handovers = cell.summary().handovers;
        (handovers.completed, handovers.survived, handovers.unplanned)
    };
    assert_eq!(handovers(true), (0, 1, 1));
    assert_eq!(handovers(false), (1, 0, 0), "nobody knows when it ran again");
}

#[test]
fn work_that_hangs_without_a_recorded_heal_hangs_until_the_resource_takes_a_write_of_its_host() {
    let mut cell = writing_all_along();
    cell.info.fault_kind = FaultKind::Hang;
    cell.inject(FaultKind::Hang, 0, &[0], 40_000, Some(3_000));
    let silent = |t: Nanos| (ms(40_000)..ms(43_000)).contains(&t) || (ms(50_000)..ms(56_000)).contains(&t);
    cell.coordinator.retain(|event| !matches!(event, Event::Write { t, .. } if silent(*t)));
    let effect = cell.summary().effect;
    assert_eq!((effect.hung_leads, effect.hung_longest_ns), (1, ms(3_000) - 100_000));
    assert_eq!(effect.fallen_silent, 1, "the silence from 50 s on is none of the hang's");
}

#[test]
fn servers_that_are_stopped_without_a_recorded_heal_are_so_until_all_of_them_serve_again() {
    let until = |hit: &[u32]| {
        let mut cell = Cell::of_servers(3, FaultKind::ServerPause);
        cell.watch();
        let id = cell.fault(FaultKind::ServerPause, 0, &[], 20_000, Some(5_000));
        if let Some(Event::Fault(fault)) = cell.coordinator.last_mut() {
            (fault.hosts, fault.cands, fault.servers) = (vec![], vec![], hit.to_vec());
        }
        cell.injected(id, 20_000);
        cell.state(1, (20_005, 20_015), ServerState::Silent, None);
        cell.state(1, (25_500, 25_512), ServerState::Following, Some(1 << 32));
        cell.summary().ensemble.watch.expect("they were watched").faults[0].to
    };
    assert_eq!(until(&[1]), ms(25_512));
    assert_eq!(until(&[1, 2]), ms(END), "the other one was never seen to serve again");
}
