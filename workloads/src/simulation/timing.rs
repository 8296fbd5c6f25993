//! Durations: the service times of servers, network and clients. Each item waits for those served before it, so that
//! the costs of herds and bursts arise by themselves.

use serde::{Deserialize, Serialize};

use crate::model::{Code, Micros, Response};

/// Service times, each in microseconds unless its name says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timing {
    /// Processor cores that all servers and hosts share; 0: each has its own.
    pub cores: u64,
    /// The least time one way from a host to a server.
    pub link_us: Micros,
    /// The most that is added to it, uniformly distributed; messages of one connection stay in order.
    pub link_jitter_us: Micros,
    /// One way between servers.
    pub between_servers_us: Micros,
    /// A server's time for a new connection's first request.
    pub connect_us: Micros,
    /// A server's time for a ping.
    pub ping_us: Micros,
    /// A server's time for a read.
    pub read_us: Micros,
    /// For each child in an answer, in nanoseconds: a server's time to list it, and then a host's to read it.
    pub child_ns: u64,
    /// A server's time to receive a write or to forward it.
    pub write_us: Micros,
    /// The leader's time to order a write.
    pub order_us: Micros,
    /// From the order of a write to its commit: the quorum's logs.
    pub commit_us: Micros,
    /// A follower's time to apply a committed write.
    pub apply_us: Micros,
    /// A server's time for each notification, one after the other.
    pub notify_us: Micros,
    /// A host's time for each received message.
    pub client_us: Micros,
    /// From the waking of a stopped process until its client checks its state, on average: its own timers fire before.
    pub waking_us: Micros,
    /// One way from a host to the resource.
    pub resource_us: Micros,
}

impl Default for Timing {
    /// Roughly the times of three servers on one machine.
    fn default() -> Self {
        Self {
            cores: 0,
            link_us: 60,
            link_jitter_us: 40,
            between_servers_us: 60,
            connect_us: 100,
            ping_us: 10,
            read_us: 30,
            child_ns: 200,
            write_us: 40,
            order_us: 40,
            commit_us: 300,
            apply_us: 20,
            notify_us: 10,
            client_us: 20,
            waking_us: 12_000,
            resource_us: 60,
        }
    }
}

impl Timing {
    /// The most of each service time, in its own unit: ten seconds, and ten milliseconds for each child.
    pub const SERVICE_MAX: u64 = 10_000_000;
    /// The most cores.
    pub const CORES_MAX: u64 = 65_536;

    /// Refuses times that no machine has.
    ///
    /// # Errors
    /// The key, its value and its bound, or the keys of which one must be above 0.
    pub fn check(&self) -> Result<(), String> {
        let &Self {
            cores,
            link_us,
            link_jitter_us,
            between_servers_us,
            connect_us,
            ping_us,
            read_us,
            child_ns,
            write_us,
            order_us,
            commit_us,
            apply_us,
            notify_us,
            client_us,
            waking_us,
            resource_us,
        } = self;
        let services = [
            ("link_us", link_us),
            ("link_jitter_us", link_jitter_us),
            ("between_servers_us", between_servers_us),
            ("connect_us", connect_us),
            ("ping_us", ping_us),
            ("read_us", read_us),
            ("child_ns", child_ns),
            ("write_us", write_us),
            ("order_us", order_us),
            ("commit_us", commit_us),
            ("apply_us", apply_us),
            ("notify_us", notify_us),
            ("client_us", client_us),
            ("waking_us", waking_us),
            ("resource_us", resource_us),
        ];
        let bounded = services.map(|(key, time)| (key, time, Self::SERVICE_MAX)).into_iter();
        let mut all = bounded.chain([("cores", cores, Self::CORES_MAX)]);
        if let Some((key, value, most)) = all.find(|(_, value, most)| value > most) {
            return Err(format!("{key} = {value} is too much: choose {most} at most"));
        }
        if link_us == 0 && client_us == 0 {
            let why = "link_us and client_us are both 0: what follows from a message would have the time of its cause, \
                       and no check could order the two; choose 1 or more for one of them";
            return Err(why.to_owned());
        }
        Ok(())
    }

    /// The time that an answer takes a server, and then a host, beyond that of every answer.
    pub(super) fn listing_us(&self, answer: &Result<Response, Code>) -> Micros {
        match answer {
            Ok(Response::Children { names, .. }) => names.len() as u64 * self.child_ns / 1_000,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Timing;

    /// The usual times, with one that is different.
    fn with(key: &str, value: u64) -> Timing {
        toml::from_str(&format!("{key} = {value}")).expect("a timing")
    }

    #[test]
    fn every_time_has_a_bound_and_what_is_beyond_is_refused_with_it() {
        let keys = toml::Table::try_from(Timing::default()).expect("a table");
        assert_eq!(keys.len(), 16);
        for key in keys.keys() {
            let most = if key == "cores" { Timing::CORES_MAX } else { Timing::SERVICE_MAX };
            assert_eq!(with(key, most).check(), Ok(()), "{key}");
            for value in [most + 1, i64::MAX.unsigned_abs()] {
                let why = with(key, value).check().expect_err(key);
                assert!(why.contains(&format!("{key} = {value}")) && why.contains(&most.to_string()), "{why}");
            }
        }
    }

    #[test]
    fn each_time_alone_may_be_zero_but_a_message_takes_some_time() {
        let keys = toml::Table::try_from(Timing::default()).expect("a table");
        for key in keys.keys() {
            assert_eq!(with(key, 0).check(), Ok(()), "{key}");
        }
        let without = |link_us, client_us| Timing { link_us, client_us, ..Timing::default() }.check();
        assert_eq!([without(1, 0), without(0, 1)], [Ok(()), Ok(())]);
        let why = without(0, 0).expect_err("refused");
        assert!(why.contains("link_us and client_us") && why.contains("1 or more"), "{why}");
    }
}
