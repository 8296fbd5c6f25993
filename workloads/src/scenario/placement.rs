//! Assigns candidates to hosts.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::cell::Cell;
use crate::seed;

/// Group and host of every candidate of a cell. The index is the candidate's number, and the candidates of one group
/// are adjacent. It is drawn from the seed, and balanced. Within a group the hosts' candidate counts differ by at most
/// one. Over all groups no host has more than the rounded-up average.
#[must_use]
pub fn placement(cell: &Cell, seed: u64) -> Vec<(u32, u16)> {
    let mut rng: ChaCha8Rng = seed::rng(seed, &cell.round_variance(), "placement");
    let mut load = vec![0_u64; usize::from(cell.hosts)];
    let mut places = Vec::with_capacity(usize::try_from(cell.candidates()).unwrap_or(0));
    for group in 0..cell.groups {
        let mut hosts = spread(cell, &mut load, &mut rng);
        // The seed also decides which candidate comes first in a group, and so tends to lead it.
        hosts.shuffle(&mut rng);
        places.extend(hosts.into_iter().map(|host| (group, host)));
    }
    places
}

/// The hosts of one group: all of them as often as possible, then the least loaded ones.
fn spread(cell: &Cell, load: &mut [u64], rng: &mut ChaCha8Rng) -> Vec<u16> {
    let mut order: Vec<u16> = (0..cell.hosts).collect();
    order.shuffle(rng);
    order.sort_by_key(|host| load[usize::from(*host)]);
    let chosen: Vec<u16> =
        order.iter().copied().cycle().take(usize::try_from(cell.candidates_per_group).unwrap_or(0)).collect();
    for host in &chosen {
        load[usize::from(*host)] += 1;
    }
    chosen
}
