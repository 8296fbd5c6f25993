//! `slow` in a simulated cell: verified by probes over the links, each direction separately.

use hustings_record::{Direction, Evidence, Slowness};

use super::sim_cell::SimCell;
use super::world::SimWorld;
use crate::driver::Verification;
use crate::faults::LinkSlowdown;
use crate::model::Micros;

/// Probes of each link and direction.
const PROBES: usize = 8;
/// Size of a probe of the rate.
const PROBE_BYTES: u64 = 65_536;

impl SimCell {
    pub(super) fn make_slow(&self, hosts: &[u16], how: &LinkSlowdown) -> Verification {
        self.slow(hosts, how);
        let mut held = Vec::new();
        let seen: Result<Vec<String>, String> = [Direction::Up, Direction::Down]
            .into_iter()
            .map(|way| prove(&self.world, hosts, how, way, &mut held))
            .collect();
        let verified = seen.is_ok() && !hosts.is_empty();
        let seen = seen.map_or_else(|wrong| format!("NOT as it should be: {wrong}"), |seen| seen.join(", "));
        let servers = 1..=self.state.cell.servers;
        let links = hosts.iter().flat_map(|&host| servers.clone().map(move |server| (host, server))).collect();
        let evidence = format!("{how} on {} links: {seen}", hosts.len());
        self.seen(verified, evidence, Vec::new(), Some(Evidence::Slow { links, held }))
    }
}

/// Sends probes over the links in one direction. Returns their durations as text, or the error. The measured and due
/// durations are added to `held`.
fn prove(
    world: &SimWorld,
    hosts: &[u16],
    how: &LinkSlowdown,
    way: Direction,
    held: &mut Vec<Slowness>,
) -> Result<String, String> {
    let acts = if way.is_up() { how.direction.is_up() } else { how.direction.is_down() };
    let (least_us, most_us) = match acts {
        true => (how.latency_ms.saturating_sub(how.jitter_ms) * 1_000, (how.latency_ms + how.jitter_ms) * 1_000),
        false => (0, 0),
    };
    let line_due_us = how.bytes_a_second().filter(|_| acts).map_or(0, |rate| (PROBE_BYTES * 1_000_000).div_ceil(rate));
    let added: Vec<Micros> = hosts.iter().flat_map(|host| (0..PROBES).map(|_| world.added_us(*host, way))).collect();
    let (quickest, slowest) = (added.iter().min().copied().unwrap_or(0), added.iter().max().copied().unwrap_or(0));
    let line_us = hosts.iter().map(|host| world.network.line_us(*host, way, || PROBE_BYTES)).min().unwrap_or(0);
    let words = format!("{way} {} to {} ms later, {PROBE_BYTES} B take {} ms", ms(quickest), ms(slowest), ms(line_us));
    let took = |what: String, us: Micros, due_us: Micros| Slowness {
        what,
        seen_ms: Some(ms(us)),
        of: Vec::new(),
        due_ms: ms(due_us),
        spared: !acts,
    };
    held.push(took(format!("{way} later by"), quickest, least_us));
    held.push(took(format!("{way} {PROBE_BYTES} B take"), line_us, line_due_us));
    let right = least_us <= quickest && slowest <= most_us && line_us == line_due_us;
    let varies = !acts || how.jitter_ms == 0 || hosts.is_empty() || quickest < slowest;
    if right && varies { Ok(words) } else { Err(words) }
}

fn ms(us: Micros) -> f64 {
    us as f64 / 1e3
}
