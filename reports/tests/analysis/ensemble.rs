//! Builds the servers' part of a record: their states, their logs and the faults on them.

use crate::*;

impl Cell {
    /// A cell with only servers.
    pub(crate) fn of_servers(servers: u32, kind: FaultKind) -> Self {
        let mut cell = Self::new("none", 0, 0, kind);
        cell.info.servers = servers;
        cell
    }

    /// Server 3 of three leads in epoch 1, and is watched every 10 ms.
    pub(crate) fn watch(&mut self) {
        let every_ns = ms(10);
        self.coordinator.push(Event::ServerWatch { t: ms(4_000), every_ns });
        for server in 1..=3 {
            let state = if server == 3 { ServerState::Leading } else { ServerState::Following };
            self.state(server, (4_000, 4_010), state, Some(1 << 32));
            let longest_gap_ns = ms(15);
            self.coordinator.push(Event::ServerWatched { t: ms(TEAR_DOWN), server, looks: 1_000, longest_gap_ns });
        }
    }

    /// Probes wrote every 5 ms from the start of the watch to the tear-down; no write was acknowledged in these gaps.
    pub(crate) fn probe(&mut self, gaps: &[(u64, u64)]) {
        self.coordinator.push(Event::WriteProbe { t: ms(4_000), every_ns: ms(5) });
        for &(from, to) in gaps {
            self.coordinator.push(Event::WriteGap { from: ms(from), to: ms(to), ended: to >= TEAR_DOWN });
        }
        self.coordinator.push(Event::WriteProbed { t: ms(TEAR_DOWN), acknowledged: 9_000 });
    }

    pub(crate) fn state(&mut self, server: u32, (from, to): (u64, u64), state: ServerState, zxid: Option<i64>) {
        self.coordinator.push(Event::ServerState { from: ms(from), to: ms(to), server, state, zxid });
    }

    pub(crate) fn log(&mut self, server: u32, at: u64, line: ServerLine) {
        self.coordinator.push(Event::ServerLog { t: ms(at), server, line });
    }

    /// A verified fault on these servers, from `at` to `healed`.
    pub(crate) fn server_fault(&mut self, kind: FaultKind, servers: &[u32], at: u64, healed: u64) -> u32 {
        let id = self.fault(kind, 0, &[], at, Some(healed - at));
        if let Some(Event::Fault(fault)) = self.coordinator.last_mut() {
            (fault.hosts, fault.cands, fault.servers) = (vec![], vec![], servers.to_vec());
        }
        self.injected(id, at);
        self.healed(id, healed);
        id
    }

    /// Server 3 is killed at `at` and back 5 s later; `winner` leads 400 ms after the kill.
    pub(crate) fn lose_server_3(&mut self, at: u64, winner: u32) {
        self.server_fault(FaultKind::ServerKill, &[3], at, at + 5_000);
        self.state(3, (at - 5, at + 5), ServerState::Down, None);
        for server in [1, 2] {
            self.state(server, (at, at + 12), ServerState::NotServing, None);
            let (state, zxid) =
                if server == winner { (ServerState::Leading, 2 << 32) } else { (ServerState::Following, 1) };
            self.state(server, (at + 390, at + 402), state, Some(zxid));
        }
        self.state(3, (at + 5_000, at + 5_200), ServerState::NotServing, None);
        self.state(3, (at + 5_500, at + 5_512), ServerState::Following, Some(1));
    }

    /// The log lines of that: each server looks from 18 ms after the kill on, and serves after 396 ms. Votes are
    /// (server, time after the kill at which the winner received it, epoch, zxid).
    pub(crate) fn tell_election(&mut self, at: u64, winner: u32, votes: &[(u32, u64, i64, i64)]) {
        for server in [1, 2] {
            self.log(server, at + 18, ServerLine::Looking);
            self.log(server, at + 340, ServerLine::Elected { leading: server == winner, took_ms: 322 });
            self.log(server, at + 396, ServerLine::Serving { leading: server == winner });
        }
        for &(from, after, epoch, zxid) in votes {
            self.log(winner, at + after, ServerLine::Vote { from, round: 2, epoch, zxid });
        }
    }
}
