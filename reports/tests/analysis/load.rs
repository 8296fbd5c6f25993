//! The load that servers reported.

use crate::*;

/// Two servers that reported every second until the first one went, with a fault in the middle.
fn told() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Crash);
    cell.crash(20_000, 300);
    for second in 5..60_u32 {
        for server in [1, 2_u32].into_iter().filter(|&server| server == 2 || second < 30) {
            let told = [("num_alive_connections", 7.0), ("packets_received", f64::from(second * 40 * server))];
            let metrics = told.map(|(name, value)| (name.to_owned(), value)).into();
            let t = ms(u64::from(second) * 1_000);
            cell.coordinator.push(Event::ServerLoad { t, server, load: Box::new(ServerLoad::of(&metrics)) });
        }
    }
    cell
}

#[test]
fn load_is_told_by_server_beside_the_faults_of_its_time() {
    let summary = told().summary();
    let load = summary.load.expect("servers told of it");
    assert_eq!((load.from, load.to), (ms(5_000), ms(59_000)));
    assert_eq!(load.measured, (ms(10_000), ms(59_000)), "before it, candidates enrol");
    assert_eq!(load.servers.iter().map(|(id, points)| (*id, points.len())).collect::<Vec<_>>(), [(1, 25), (2, 55)]);
    let first = load.servers[&2][1];
    assert_eq!((first.received_per_s, first.connections, first.watches), (Some(80.0), Some(7.0), None));
    assert_eq!(load.faults.iter().map(|band| band.kind).collect::<Vec<_>>(), [FaultKind::Crash]);
    assert!(Cell::new("predecessor-watch", 1, 3, FaultKind::None).summary().load.is_none(), "nobody was asked");
}
