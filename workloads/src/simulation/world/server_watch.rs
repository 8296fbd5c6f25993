//! Data kept of the servers of a simulated world: their counters of absences, and their log lines on elections.

use hustings_record::{Nanos, ServerLine, ServerState};

use super::clock::nanos;
use crate::model::{AvailabilityMetrics, Ballots, Metrics, Micros, Server, Zxid};

/// Data kept of the servers, whether the cell watches them or not.
pub(crate) struct ServerWatch {
    ballots: Ballots,
    absences: Vec<AvailabilityMetrics>,
    /// The log lines of each server on elections.
    logs: Vec<Vec<(Nanos, ServerLine)>>,
}

impl ServerWatch {
    pub(super) fn new(servers: usize) -> Self {
        Self {
            ballots: Ballots::default(),
            absences: vec![AvailabilityMetrics::default(); servers],
            logs: vec![Vec::new(); servers],
        }
    }

    /// The log of a server so far: it survives kills of the server.
    pub(crate) fn log(&self, server: Server) -> Vec<(Nanos, ServerLine)> {
        self.logs[server].clone()
    }

    /// Adds the server's counters of absences.
    pub(super) fn count(&self, server: Server, metrics: &mut Metrics) {
        self.absences[server].count(metrics);
    }

    pub(crate) fn has_become(&mut self, now: Micros, server: Server, state: ServerState, zxid: Zxid) {
        let took_ms = self.absences[server].has_become(now, state);
        let said = self.ballots.has_become(server, state, zxid, took_ms);
        self.write_down(now, said);
    }

    /// Two servers can communicate from now on, or cannot.
    pub(crate) fn part(&mut self, now: Micros, a: Server, b: Server, parted: bool) {
        let said = self.ballots.part(a, b, parted);
        self.write_down(now, said);
    }

    fn write_down(&mut self, now: Micros, said: Vec<(Server, ServerLine)>) {
        said.into_iter().for_each(|(server, line)| self.logs[server].push((nanos(now), line)));
    }
}
