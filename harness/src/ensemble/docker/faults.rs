//! The faults in effect on the servers of an ensemble.

use std::collections::BTreeSet;

use super::networks::ServerPair;

/// Faults that were injected and not healed.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerFaults {
    pub(super) killed: BTreeSet<u32>,
    pub(super) paused: BTreeSet<u32>,
    pub(super) cuts: Vec<BTreeSet<u32>>,
}

impl ServerFaults {
    /// Whether a cut lies between two servers.
    pub(super) fn part(&self, pair: ServerPair) -> bool {
        self.cuts.iter().any(|cut| cut.contains(&pair.0) != cut.contains(&pair.1))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::networks::pairs;
    use super::ServerFaults;

    #[test]
    fn cuts_add_up() {
        let cuts = vec![BTreeSet::from([1, 2]), BTreeSet::from([5])];
        let faults = ServerFaults { cuts, ..ServerFaults::default() };
        let parted: Vec<_> = pairs(5).into_iter().filter(|pair| faults.part(*pair)).collect();
        assert_eq!(parted, [(1, 3), (1, 4), (1, 5), (2, 3), (2, 4), (2, 5), (3, 5), (4, 5)]);
    }
}
