//! How often and for how long a server was away looking for a leader, under the names of ZooKeeper's `mntr`. The driver
//! reports every state to it: the model itself keeps no such times.

use hustings_record::ServerState;

use super::op::{Metrics, Micros};

/// The absences of one server since it was started.
#[derive(Clone, Copy, Debug, Default)]
pub struct AvailabilityMetrics {
    looking_since: Option<Micros>,
    /// Whether it has served before: a search before that does not count as an absence.
    has_served: bool,
    elections: u64,
    election_ms: u64,
    count: u64,
    sum_ms: u64,
}

impl AvailabilityMetrics {
    /// The server has this state from now on. Returns for how many milliseconds it looked for a leader, if it found
    /// one.
    pub fn has_become(&mut self, now: Micros, state: ServerState) -> u64 {
        match state {
            ServerState::Down => *self = Self::default(),
            ServerState::NotServing => self.looking_since = self.looking_since.or(Some(now)),
            ServerState::Following | ServerState::Leading | ServerState::Standalone => {
                let away = std::mem::replace(&mut self.has_served, true);
                let Some(since) = self.looking_since.take() else { return 0 };
                let ms = (now - since) / 1_000;
                self.elections += 1;
                self.election_ms += ms;
                if away {
                    self.count += 1;
                    self.sum_ms += ms;
                }
                return ms;
            }
            // A pause neither starts nor ends its search for a leader.
            ServerState::Silent => {}
        }
        0
    }

    /// Adds the counts to those of the server.
    pub fn count(&self, metrics: &mut Metrics) {
        let counts = [
            ("looking_count", self.elections + u64::from(self.looking_since.is_some())),
            ("cnt_election_time", self.elections),
            ("sum_election_time", self.election_ms),
            ("cnt_unavailable_time", self.count),
            ("sum_unavailable_time", self.sum_ms),
        ];
        metrics.extend(counts.map(|(name, value)| (name.to_owned(), value as f64)));
    }
}

#[cfg(test)]
mod tests {
    use super::{AvailabilityMetrics, Metrics, ServerState};

    #[test]
    fn a_server_was_unavailable_only_between_two_times_that_it_served() {
        let mut absences = AvailabilityMetrics::default();
        let told = |absences: &AvailabilityMetrics| {
            let mut metrics = Metrics::new();
            absences.count(&mut metrics);
            ["looking_count", "sum_election_time", "cnt_unavailable_time", "sum_unavailable_time"].map(|n| metrics[n])
        };
        absences.has_become(0, ServerState::NotServing);
        assert_eq!(absences.has_become(400_000, ServerState::Following), 400);
        assert_eq!(told(&absences), [1.0, 400.0, 0.0, 0.0]);
        absences.has_become(1_000_000, ServerState::NotServing);
        assert_eq!(told(&absences), [2.0, 400.0, 0.0, 0.0]);
        assert_eq!(absences.has_become(1_250_000, ServerState::Leading), 250);
        assert_eq!(told(&absences), [2.0, 650.0, 1.0, 250.0]);
        absences.has_become(2_000_000, ServerState::Down);
        assert_eq!(told(&absences), [0.0; 4]);
    }
}
