//! The driver's state of a running cell: leaders, accepted writes, and what is under a fault.

use std::cell::{Cell as StdCell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use hustings_record::FaultKind;

use super::server_observations::ServerObservations;
use crate::leaders::Leaders;
use crate::plan::ResolvedTarget;
use crate::resource::Resource;
use crate::scenario::Cell;

/// The state of a cell under way. Single-threaded.
pub struct State {
    pub cell: Rc<Cell>,
    pub seed: u64,
    /// As far as the hosts have reported.
    pub leaders: RefCell<Leaders>,
    pub resource: RefCell<Resource>,
    /// The last observed states, in cells with faults on servers.
    pub servers: ServerObservations,
    /// Hosts, and ids of servers, under a fault that lasts.
    injured_hosts: RefCell<BTreeSet<u16>>,
    /// Hosts on which a fault waits for its trigger.
    armed_hosts: RefCell<BTreeSet<u16>>,
    injured_servers: RefCell<BTreeSet<u32>>,
    faults: StdCell<u32>,
}

impl State {
    /// A cell that has not begun, with its placement (group and host of each candidate).
    #[must_use]
    pub fn new(cell: Rc<Cell>, seed: u64, placement: Vec<(u32, u16)>) -> Self {
        let groups = cell.groups as usize;
        Self {
            cell,
            seed,
            leaders: RefCell::new(Leaders::new(groups, placement)),
            resource: RefCell::new(Resource::new(groups)),
            servers: ServerObservations::default(),
            injured_hosts: RefCell::default(),
            armed_hosts: RefCell::default(),
            injured_servers: RefCell::default(),
            faults: StdCell::new(0),
        }
    }

    /// The number of the next fault in the record.
    pub fn next_fault(&self) -> u32 {
        self.faults.replace(self.faults.get() + 1)
    }

    /// Whether a host is under a fault that lasts.
    #[must_use]
    pub fn is_injured(&self, host: u16) -> bool {
        self.injured_hosts.borrow().contains(&host)
    }

    /// Whether a fault of this kind would wait for a trigger on this host beside another one that does.
    #[must_use]
    pub fn is_armed(&self, kind: FaultKind, host: u16) -> bool {
        kind.facts().waits_at_sync_point && self.armed_hosts.borrow().contains(&host)
    }

    /// Ids of the servers under a fault that lasts.
    #[must_use]
    pub fn injured_servers(&self) -> BTreeSet<u32> {
        self.injured_servers.borrow().clone()
    }

    /// Marks the target: until its heal, no other lasting fault hits the same host or server. Faults on single
    /// candidates do not mark their hosts. A fault that waits for a trigger excludes only others that do.
    pub fn injure(&self, kind: FaultKind, hit: &ResolvedTarget) {
        if kind.hits_servers() {
            self.injured_servers.borrow_mut().extend(&hit.servers);
        }
        if kind.exempts_hosts() {
            self.injured_hosts.borrow_mut().extend(&hit.hosts);
        }
        if kind.facts().waits_at_sync_point {
            self.armed_hosts.borrow_mut().extend(&hit.hosts);
        }
    }

    pub(super) fn restore(&self, kind: FaultKind, hit: &ResolvedTarget) {
        if kind.hits_servers() {
            self.injured_servers.borrow_mut().retain(|server| !hit.servers.contains(server));
        }
        if kind.exempts_hosts() {
            self.injured_hosts.borrow_mut().retain(|host| !hit.hosts.contains(host));
        }
        if kind.facts().waits_at_sync_point {
            self.armed_hosts.borrow_mut().retain(|host| !hit.hosts.contains(host));
        }
    }
}
