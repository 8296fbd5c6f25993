//! Znodes of the same name: locks with a fixed name, and znodes of a group that was created again, whose numbers
//! restart.

use std::collections::BTreeSet;

use super::places::QueuePlaces;
use super::terms::Terms;
use hustings_record::Nanos;

/// Znodes with which candidates enrolled or led, and that share a name with another one of their group: group, name,
/// czxid, and when that was known, in this order.
#[derive(Default)]
pub struct DuplicateZnodeNames<'a>(Vec<(u32, &'a str, i64, Nanos)>);

impl<'a> DuplicateZnodeNames<'a> {
    pub(super) fn new(places: &QueuePlaces<'a>, terms: &Terms<'a>) -> Self {
        let mut shared = Vec::new();
        let groups: BTreeSet<u32> = places.groups().chain(terms.by_group.keys().copied()).collect();
        for group in groups {
            let stood = places.of_group(group).iter().map(|place| (group, place.node, place.czxid, place.from));
            let led = terms.of_group(group).iter().map(|&term| &terms.all[term]);
            let led = led.map(|term| (group, term.node, term.czxid, term.grant));
            let mut all: Vec<_> = stood.chain(led).collect();
            all.sort_unstable();
            let of_name = all.chunk_by(|a, b| a.1 == b.1);
            of_name.filter(|of| of.first().map(|z| z.2) != of.last().map(|z| z.2)).for_each(|of| shared.extend(of));
        }
        Self(shared)
    }

    /// The last one of the name with a lower czxid: its czxid, and when it was last known.
    #[must_use]
    pub fn before(&self, group: u32, node: &str, czxid: i64) -> Option<(i64, Nanos)> {
        let lower = self.0.partition_point(|other| (other.0, other.1, other.2) < (group, node, czxid));
        self.0[..lower].last().filter(|other| (other.0, other.1) == (group, node)).map(|other| (other.2, other.3))
    }
}
