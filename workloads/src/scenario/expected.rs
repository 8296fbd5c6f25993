//! The expectations for one cell: all entries that apply to it, merged.

use hustings_record::{Expect, Expectation};

use super::axis::{Axis, Coordinates};
use super::cell::Cell;
use super::expect::ExpectSpec;

impl Coordinates {
    /// Whether the cell keeps a policy listed here, if any is. The policy of a program that declares none is unknown.
    fn asks_for_policy_of(&self, cell: &Cell) -> bool {
        self.step_down.is_none() || cell.policy().is_some_and(|policy| Axis::holds(self.step_down.as_ref(), &policy))
    }

    /// As `covers`, but entries with policies also match a program that declares none.
    pub(super) fn may_cover(&self, cell: &Cell) -> bool {
        let whatever_policy = || Self { step_down: None, ..self.clone() };
        self.covers(cell) || cell.policy().is_none() && whatever_policy().covers(cell)
    }

    /// Whether a cell matches all the values given here.
    #[must_use]
    pub fn covers(&self, cell: &Cell) -> bool {
        Axis::holds(self.servers.as_ref(), &cell.servers)
            && Axis::holds(self.tick_ms.as_ref(), &cell.tick_ms)
            && Axis::holds(self.recipe.as_ref(), &cell.recipe)
            && self.asks_for_policy_of(cell)
            && Axis::holds(self.session_timeout_ms.as_ref(), &cell.session_timeout_ms)
            && Axis::holds(self.groups.as_ref(), &cell.groups)
            && Axis::holds(self.hosts.as_ref(), &cell.hosts)
            && Axis::holds(self.candidates_per_group.as_ref(), &cell.candidates_per_group)
            && Axis::holds(self.work_interval_ms.as_ref(), &cell.work_interval_ms)
            && Axis::holds(self.fault.as_ref(), &cell.fault_name)
            && Axis::holds(self.resource.as_ref(), &cell.resource)
            && Axis::holds(self.fencing.as_ref(), &cell.fencing)
            && Axis::holds(self.sessions.as_ref(), &cell.sessions)
    }
}

/// Merges all entries that apply to this cell; later ones take precedence. Which others a loss wakes is declared by the
/// recipe: entries that contradict it are rejected.
pub(super) fn resolve(entries: &[ExpectSpec], cell: &Cell) -> Expect {
    let declared = cell.declares().map(|declared| declared.leader_wakes);
    let mut expect = Expect { fan_out: declared, ..Expect::default() };
    for entry in entries.iter().filter(|entry| entry.when.covers(cell)) {
        // Theory predicts the findings of recipes. For a program it does so only where they follow from its policy.
        let is_certain = cell.recipe.own().is_some() || entry.when.step_down.is_some();
        let shown = |asked: Expectation| if is_certain { asked } else { asked.at_most() };
        expect.overlap = entry.overlap.map_or(expect.overlap, shown);
        expect.overlap_of_t_max = entry.overlap_of_t_max.or(expect.overlap_of_t_max);
        expect.stale_writes = entry.stale_writes.map_or(expect.stale_writes, shown);
        expect.unplanned = entry.unplanned.map_or(expect.unplanned, shown);
        expect.handovers = entry.handovers.or(expect.handovers);
        expect.hung_leads = entry.hung_leads.or(expect.hung_leads);
        expect.server_leader = entry.server_leader.or(expect.server_leader);
        if let Some(because) = &entry.because {
            expect.because.clone_from(because);
        }
    }
    expect
}
