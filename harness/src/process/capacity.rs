//! Checks before the start whether the requested number of sessions fits this machine's limits. At the descriptor
//! limit, connections hang instead of failing.

use std::{fs, io};

use hustings_record::words::plural;
use rustix::process::{Resource, getrlimit};

use super::limits::{descriptor_limit, raise_descriptor_limit};

/// Descriptors of our processes in addition to sessions: standard streams, runtime, record, control connections.
pub const PROCESS_DESCRIPTORS: u64 = 64;
/// Descriptors of a ZooKeeper server in addition to sessions: jars, logs, quorum connections, the JVM itself.
pub const SERVER_DESCRIPTORS: u64 = 256;
/// Descriptors for the runtime, which panics without them, and for the files of any command.
const COMMAND_DESCRIPTORS: u64 = 16;
/// Standard input, output and error.
const STANDARD_STREAMS: u64 = 3;

/// The demand of a run. Sessions are assumed to be spread evenly over hosts and servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// One per candidate, or one per host if sessions are shared.
    pub sessions: u32,
    pub hosts: u32,
    pub servers: u32,
    /// Whether the servers run on this machine, under its limits.
    pub local_servers: bool,
    /// Whether sessions go over links.
    pub links: bool,
    /// Whether they go over the coordinator's tunnel to servers that speak TLS.
    pub tunnel: bool,
    pub a_session: SessionPlacement,
}

/// How a host holds a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionPlacement {
    /// A client in the host process connects directly.
    Direct,
    /// A client in the host process connects over the same paths as programs.
    Relayed,
    /// A foreign program holds it, with the host beside it.
    Beside,
}

impl SessionPlacement {
    /// Descriptors of the host per session.
    const fn descriptors(self) -> u64 {
        /// Both ends of the relayed connection, and the connection for writes.
        const RELAYED: u64 = 3;
        match self {
            Self::Direct => 1,
            Self::Beside => RELAYED,
            // Plus the client's own ends.
            Self::Relayed => RELAYED + 2,
        }
    }
}

/// Limits of one process on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open descriptors: the hard limit, to which our processes and JVMs raise their soft limit.
    pub descriptors: u64,
    /// Ports for outgoing connections to one destination.
    pub ports: u64,
}

/// The exceeded limit, with the arithmetic and the remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapacityError {
    #[error(
        "a host process would need {needed} descriptors ({sessions} sessions / {hosts} hosts = {share}, {each} each, \
         + {PROCESS_DESCRIPTORS}), \
         and a process may have {limit}; {}{RAISE}", hosts_or(*.enough, "")
    )]
    Host { sessions: u32, hosts: u32, share: u64, each: u64, needed: u64, limit: u64, enough: Option<u64> },
    #[error(
        "the proxy of one host's links would need {needed} descriptors (2 x {share} sessions of a host + {servers} ports \
         + {PROCESS_DESCRIPTORS}), and a process may have {limit}; {}{RAISE}",
        hosts_or(*.enough, "a fault that needs no links, ")
    )]
    Proxy { share: u64, servers: u32, needed: u64, limit: u64, enough: Option<u64> },
    #[error(
        "the tunnel to servers that speak TLS would need {needed} descriptors (2 x {sessions} sessions + \
         {PROCESS_DESCRIPTORS}), and a process may have {limit}; use fewer candidates, or {RAISE}"
    )]
    Tunnel { sessions: u32, needed: u64, limit: u64 },
    #[error(
        "a server would need {needed} descriptors ({sessions} sessions / {} = {share}, + {SERVER_DESCRIPTORS}), and a process \
         may have {limit}; use more servers, fewer candidates, or {RAISE}", plural(u64::from(*.servers), "server", "servers")
    )]
    Server { sessions: u32, servers: u32, share: u64, needed: u64, limit: u64 },
    #[error(
        "a server's port would get {share} connections ({sessions} sessions / {}), and this machine has {limit} ports for \
         connections to one destination; use more servers, fewer candidates, or widen the range \
         (sysctl net.ipv4.ip_local_port_range)", plural(u64::from(*.servers), "server", "servers")
    )]
    Ports { sessions: u32, servers: u32, share: u64, limit: u64 },
    #[error("sessions need at least one host and one server")]
    Nobody,
    #[error(
        "any command needs {COMMAND_DESCRIPTORS} more descriptors, and this process may open {left} more (its limit is {limit}); {RAISE}"
    )]
    Command { left: u64, limit: u64 },
}

const RAISE: &str = "raise the hard limit (ulimit -Hn, LimitNOFILE= of a service, --ulimit nofile= of a container)";

/// Whether `demand` fits this machine. The error is the first limit that is exceeded.
///
/// # Errors
/// [`CapacityError`] shows the arithmetic and the remedy.
pub fn check_capacity(demand: Demand) -> Result<(), CapacityError> {
    demand.check(Limits::of_this_machine())
}

/// Whether this process may open the descriptors that any command needs. Raises the soft limit if that is too low.
///
/// # Errors
/// [`CapacityError::Command`].
pub fn check_descriptors() -> Result<(), CapacityError> {
    if enough_descriptors(descriptor_limit(), open_descriptors()).is_err() {
        // Whether that was of use is looked at below.
        let _ = raise_descriptor_limit();
    }
    enough_descriptors(descriptor_limit(), open_descriptors())
}

/// Number of open descriptors of this process. None: not even the list of them can be opened.
fn open_descriptors() -> Option<u64> {
    match fs::read_dir("/proc/self/fd") {
        Ok(open) => Some(open.count() as u64),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(STANDARD_STREAMS),
        Err(_) => None,
    }
}

fn enough_descriptors(limit: u64, open: Option<u64>) -> Result<(), CapacityError> {
    let left = open.map_or(0, |open| limit.saturating_sub(open));
    if left < COMMAND_DESCRIPTORS { Err(CapacityError::Command { left, limit }) } else { Ok(()) }
}

impl Limits {
    /// Limits that the kernel reports for this process. Child processes inherit them.
    #[must_use]
    pub fn of_this_machine() -> Self {
        let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
        let mut ends = range.split_whitespace().filter_map(|end| end.parse::<u64>().ok());
        let (low, high) = (ends.next().unwrap_or(32_768), ends.next().unwrap_or(60_999));
        let descriptors = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
        Self { descriptors, ports: (high + 1).saturating_sub(low) }
    }
}

impl Demand {
    /// As [`check_capacity`], with the given limits.
    ///
    /// # Errors
    /// As for [`check_capacity`].
    pub fn check(self, limits: Limits) -> Result<(), CapacityError> {
        let Self { sessions, hosts, servers, .. } = self;
        if hosts == 0 || servers == 0 {
            return Err(CapacityError::Nobody);
        }
        let limit = limits.descriptors;
        let share = self.sessions_per_host();
        let each = self.a_session.descriptors();
        let needed = share * each + PROCESS_DESCRIPTORS;
        if needed > limit {
            let enough = hosts_enough(sessions, limit.saturating_sub(PROCESS_DESCRIPTORS) / each);
            return Err(CapacityError::Host { sessions, hosts, share, each, needed, limit, enough });
        }
        let needed = self.proxy_descriptors();
        if self.links && needed > limit {
            let room = limit.saturating_sub(PROCESS_DESCRIPTORS + u64::from(servers)) / 2;
            let enough = hosts_enough(sessions, room);
            return Err(CapacityError::Proxy { share, servers, needed, limit, enough });
        }
        let needed = 2 * u64::from(sessions) + PROCESS_DESCRIPTORS;
        if self.tunnel && needed > limit {
            return Err(CapacityError::Tunnel { sessions, needed, limit });
        }
        let share = u64::from(sessions).div_ceil(servers.into());
        let needed = share + SERVER_DESCRIPTORS;
        if self.local_servers && needed > limit {
            return Err(CapacityError::Server { sessions, servers, share, needed, limit });
        }
        if share > limits.ports {
            return Err(CapacityError::Ports { sessions, servers, share, limit: limits.ports });
        }
        Ok(())
    }

    /// Maximum number of sessions that fit, with the rest of the demand unchanged.
    #[must_use]
    pub fn sessions_max(self, limits: Limits) -> u32 {
        // The numbers that fit form an interval from 0, so bisect.
        let (mut fits, mut too_many) = (0, u64::from(u32::MAX));
        while too_many - fits > 1 {
            let middle = (fits + too_many) / 2;
            let sessions = u32::try_from(middle).unwrap_or(u32::MAX);
            if (Self { sessions, ..self }).check(limits).is_ok() { fits = middle } else { too_many = middle }
        }
        u32::try_from(fits).unwrap_or(u32::MAX)
    }

    fn sessions_per_host(self) -> u64 {
        u64::from(self.sessions).div_ceil(self.hosts.max(1).into())
    }

    /// Descriptors of a proxy for one host's links. `links::processes_needed` spreads hosts over processes.
    fn proxy_descriptors(self) -> u64 {
        2 * self.sessions_per_host() + u64::from(self.servers) + PROCESS_DESCRIPTORS
    }
}

/// Sufficient number of hosts if each has room for this many sessions. None: there is no room, so no number suffices.
fn hosts_enough(sessions: u32, room: u64) -> Option<u64> {
    (room > 0).then(|| u64::from(sessions).div_ceil(room))
}

/// The remedies before the last one.
fn hosts_or(enough: Option<u64>, others: &str) -> String {
    enough.map_or_else(String::new, |enough| format!("use at least {enough} hosts, fewer candidates, {others}or "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{CapacityError, Demand, Limits, SessionPlacement, enough_descriptors};

    const LIMITS: Limits = Limits { descriptors: 1_000, ports: 500 };

    fn demand(sessions: u32, hosts: u32, links: bool) -> Demand {
        Demand {
            sessions,
            hosts,
            servers: 3,
            local_servers: true,
            links,
            tunnel: false,
            a_session: SessionPlacement::Direct,
        }
    }

    #[test]
    fn each_limit_is_met_exactly_and_exceeded_by_one() {
        let wide = Limits { descriptors: 1_000, ports: 10_000 };
        let external = |d: Demand| Demand { local_servers: false, ..d };
        assert_eq!(external(demand(936, 1, false)).check(wide), Ok(()));
        assert!(matches!(
            external(demand(937, 1, false)).check(wide),
            Err(CapacityError::Host { needed: 1_001, enough: Some(2), .. })
        ));
        assert_eq!(external(demand(466, 1, true)).check(wide), Ok(()));
        assert!(matches!(
            external(demand(467, 1, true)).check(wide),
            Err(CapacityError::Proxy { needed: 1_001, enough: Some(2), .. })
        ));
        let tunnelled = |sessions| Demand { tunnel: true, ..external(demand(sessions, 9, false)) };
        assert_eq!(tunnelled(468).check(wide), Ok(()));
        assert!(matches!(tunnelled(469).check(wide), Err(CapacityError::Tunnel { needed: 1_002, .. })));
        let beside = |sessions| Demand { a_session: SessionPlacement::Beside, ..external(demand(sessions, 1, false)) };
        assert_eq!(beside(312).check(wide), Ok(()));
        assert!(matches!(beside(313).check(wide), Err(CapacityError::Host { needed: 1_003, enough: Some(2), .. })));
        let relayed =
            |sessions| Demand { a_session: SessionPlacement::Relayed, ..external(demand(sessions, 1, false)) };
        assert_eq!(relayed(187).check(wide), Ok(()));
        assert!(matches!(relayed(188).check(wide), Err(CapacityError::Host { needed: 1_004, enough: Some(2), .. })));
        assert_eq!(demand(2_232, 9, false).check(wide), Ok(()));
        assert!(matches!(demand(2_233, 9, false).check(wide), Err(CapacityError::Server { needed: 1_001, .. })));
        assert_eq!(demand(1_500, 9, false).check(LIMITS), Ok(()));
        assert!(matches!(demand(1_501, 9, false).check(LIMITS), Err(CapacityError::Ports { share: 501, .. })));
        assert_eq!(demand(1, 0, false).check(LIMITS), Err(CapacityError::Nobody));
    }

    proptest! {
        #[test]
        fn as_many_hosts_as_are_advised_are_enough_and_where_none_would_be_none_are_advised(
            sessions in 1_u32..2_000_000,
            hosts in 1_u32..5_000,
            descriptors in 0_u64..70_000,
            links: bool,
        ) {
            let asked = Demand { local_servers: false, servers: 3, ..demand(sessions, hosts, links) };
            let limits = Limits { descriptors, ports: u64::MAX };
            if let Err(CapacityError::Host { enough, .. } | CapacityError::Proxy { enough, .. }) = asked.check(limits) {
                match enough {
                    Some(enough) => {
                        let hosts = u32::try_from(enough).expect("no more than there are sessions");
                        prop_assert!(hosts <= sessions);
                        let again = Demand { hosts, ..asked }.check(limits);
                        let still = matches!(again, Err(CapacityError::Host { .. }));
                        prop_assert!(!still, "{:?}", again);
                    }
                    None => {
                        let least = Demand { hosts: sessions, ..asked }.check(limits);
                        prop_assert!(least.is_err(), "a host of one session each would do");
                    }
                }
            }
        }
    }

    #[test]
    fn a_command_gets_the_descriptors_that_it_needs_or_is_refused() {
        assert_eq!(enough_descriptors(20, Some(4)), Ok(()));
        assert_eq!(enough_descriptors(u64::MAX, Some(4)), Ok(()));
        for (limit, open, left) in [(19, Some(4), 15), (6, Some(7), 0), (1_024, None, 0)] {
            assert_eq!(enough_descriptors(limit, open), Err(CapacityError::Command { left, limit }));
        }
    }

    #[test]
    fn the_most_that_fits_fits_and_one_more_does_not() {
        for (hosts, links) in [(1, false), (5, false), (1, true), (5, true)] {
            let most = demand(0, hosts, links).sessions_max(LIMITS);
            assert_eq!(demand(most, hosts, links).check(LIMITS), Ok(()));
            assert!(demand(most + 1, hosts, links).check(LIMITS).is_err());
        }
        let none = Limits { descriptors: 10, ports: 10 };
        assert_eq!(demand(0, 1, false).sessions_max(none), 0);
    }

    #[test]
    fn the_error_shows_the_arithmetic_and_the_remedy() {
        let limits = Limits { descriptors: 4_096, ports: 28_232 };
        let told = demand(50_000, 4, false).check(limits).expect_err("too many").to_string();
        insta::assert_snapshot!(told);
    }
}
