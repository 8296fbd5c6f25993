//! Faults within simulated processes: they are ordered to end, their work hangs, their wall clocks are set.

use std::rc::Rc;

use hustings_record::{Evidence, ProcessFate};

use super::recipe_slot::RecipeSlot;
use super::sim_cell::{SimCell, WithheldWrite};
use super::world::nanos;
use crate::driver::{Backend as _, InjectedFault, Remedy, Verification};
use crate::model::Micros;

/// How long a process may take to end when ordered to.
const GRACE_US: Micros = 10_000_000;
/// Interval between checks for that.
const LOOK_AGAIN_US: Micros = 1_000;
/// A leader with anything to write does so within this.
const WRITES_WITHIN_US: Micros = 1_000_000;

impl SimCell {
    /// Orders all candidates of these hosts to stop. Ends their processes once they have, or after the grace period.
    pub(super) async fn terminate(self: &Rc<Self>, hosts: &[u16]) -> InjectedFault {
        let (world, from) = (&self.world, self.world.clock.now());
        let touches = self.touches(hosts);
        let alive: Vec<u16> = hosts.iter().copied().filter(|host| world.network.is_alive(*host)).collect();
        let slots: Vec<_> = self.slots.borrow().iter().filter(|slot| alive.contains(&slot.host)).cloned().collect();
        slots.iter().for_each(|slot| slot.stop());
        let until = from + GRACE_US;
        while slots.iter().any(|slot| !slot.over.get()) && world.clock.now() < until {
            if !self.goes_on_until(nanos(world.clock.now() + LOOK_AGAIN_US)).await {
                break;
            }
        }
        let late = slots.iter().filter(|slot| !slot.over.get()).count();
        let ended: Vec<u16> = alive.iter().copied().filter(|host| self.kill_host(*host)).collect();
        let evidence = match late {
            0 => format!("{} of {} processes ended when they were told to", ended.len(), hosts.len()),
            late => {
                format!("{} of {} processes ended, and {late} candidates had not stopped", ended.len(), hosts.len())
            }
        };
        let verified = !hosts.is_empty() && ended.len() == hosts.len();
        let seen = Some(Evidence::of_processes(ended.iter().map(|host| (*host, ProcessFate::Ended)).collect()));
        let to = nanos(world.clock.now());
        let proof = Verification { from: nanos(from), to, verified, evidence, touches, seen };
        InjectedFault { proof, remedy: Remedy::Restart(ended) }
    }

    /// The resource accepts no writes of these hosts, and answers none.
    pub(super) async fn hang(self: &Rc<Self>, hosts: &[u16]) -> InjectedFault {
        let (world, from) = (&self.world, self.world.clock.now());
        hosts.iter().for_each(|host| _ = self.hung.borrow_mut().entry(*host).or_default());
        let withheld = || -> Vec<(u16, u64)> {
            let hung = self.hung.borrow();
            hosts.iter().map(|host| (*host, hung.get(host).map_or(0, |writes| writes.len() as u64))).collect()
        };
        while withheld().iter().any(|(_, writes)| *writes == 0) && world.clock.now() < from + WRITES_WITHIN_US {
            if !self.goes_on_until(nanos(world.clock.now() + LOOK_AGAIN_US)).await {
                break;
            }
        }
        let seen = withheld();
        let verified = !seen.is_empty() && seen.iter().all(|(_, writes)| *writes > 0);
        let evidence = format!(
            "{} writes of {} hosts came in and were not taken",
            seen.iter().map(|(_, n)| n).sum::<u64>(),
            seen.len()
        );
        let to = nanos(world.clock.now());
        let seen = Some(Evidence::Withheld { hosts: seen });
        let proof = Verification { from: nanos(from), to, verified, evidence, seen, ..Verification::default() };
        InjectedFault { proof, remedy: Remedy::Take(hosts.to_vec()) }
    }

    /// The resource accepts the withheld writes, and new ones from now on.
    pub(super) fn take_again(self: &Rc<Self>, hosts: &[u16]) -> Verification {
        let mut taken = Vec::new();
        for host in hosts {
            let withheld = self.hung.borrow_mut().remove(host).unwrap_or_default();
            taken.push((*host, withheld.len() as u64));
            for WithheldWrite { slot, token, sent } in withheld {
                RecipeSlot { sim: self.clone(), slot }.taken(token, sent);
            }
        }
        let evidence =
            format!("{} writes were taken that had come meanwhile", taken.iter().map(|(_, n)| n).sum::<u64>());
        self.seen(true, evidence, Vec::new(), Some(Evidence::Withheld { hosts: taken }))
    }

    /// Sets the wall clocks of these hosts.
    pub(super) fn set_clocks(&self, hosts: &[u16], by_ms: i64) -> Verification {
        let slots = self.slots.borrow();
        let mut seen = Vec::new();
        for host in hosts {
            let of_host: Vec<_> = slots.iter().filter(|slot| slot.host == *host).collect();
            let ahead = |slot: &Rc<super::slot::SimSlot>| slot.wall_ahead.get() / 1_000_000;
            let before = of_host.first().map_or(0, |slot| ahead(slot));
            of_host.iter().for_each(|slot| slot.wall_ahead.set(slot.wall_ahead.get() + by_ms * 1_000_000));
            seen.push((*host, before, of_host.first().map_or(0, |slot| ahead(slot))));
        }
        let evidence = format!("{} wall clocks set by {by_ms} ms", seen.len());
        self.seen(!seen.is_empty(), evidence, Vec::new(), Some(Evidence::WallClocks { hosts: seen, due_ms: by_ms }))
    }
}
