//! The acting manager's decision, from what all managers published: a pure function.

use std::collections::{BTreeMap, BTreeSet};

use super::parameters::ManagerParameters;
use super::published::PublishedNodes;
use super::snapshot::ManagerSnapshot;

/// What the acting manager does in a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Too few managers say anything of this server.
    Wait { node: u16, seen_by: usize },
    /// The master serves; the servers by what they are for.
    Keep(PublishedNodes),
    /// The master is lost, or there is none: one of these servers takes its place. They are fit, the quickest first.
    Promote(Vec<u16>),
    /// A promotion of this server was begun.
    Finish(u16),
    /// The same, and no server is fit to.
    NoCandidate,
}

/// Decides about `nodes` servers. `own` is the acting manager's snapshot, one of `snapshots`; `published` is what clients
/// see.
#[must_use]
pub fn decide(
    nodes: u16,
    snapshots: &[ManagerSnapshot],
    own: &ManagerSnapshot,
    published: &PublishedNodes,
    parameters: &ManagerParameters,
) -> Decision {
    let (mut up, mut down): (BTreeMap<u16, usize>, BTreeMap<u16, usize>) = (BTreeMap::new(), BTreeMap::new());
    for snapshot in snapshots {
        snapshot.available.keys().for_each(|node| *up.entry(*node).or_default() += 1);
        snapshot.unavailable.iter().for_each(|node| *down.entry(*node).or_default() += 1);
    }
    let count = |of: &BTreeMap<u16, usize>, node: u16| of.get(&node).copied().unwrap_or(0);
    let seen_by = |node: u16| count(&up, node) + count(&down, node);
    if let Some(node) = (0..nodes).find(|node| seen_by(*node) < parameters.managers_required) {
        return Decision::Wait { node, seen_by: seen_by(node) };
    }
    let is_lost = |node: u16| parameters.strategy.is_unavailable(count(&down, node), count(&up, node));
    let lost: BTreeSet<u16> = (0..nodes).filter(|node| is_lost(*node)).collect();
    match published.master.filter(|master| !lost.contains(master)) {
        Some(master) => Decision::Keep(PublishedNodes {
            master: Some(master),
            promoting: None,
            replicas: (0..nodes).filter(|node| *node != master && !lost.contains(node)).collect(),
            unavailable: lost.into_iter().collect(),
            token: published.token,
        }),
        None => {
            // A server that one manager does not reach may be cut off from its clients as well.
            let fit = |node: &u16| count(&down, *node) == 0 && own.available.contains_key(node);
            if let Some(begun) = published.promoting.filter(fit) {
                return Decision::Finish(begun);
            }
            let fit = by_latency(snapshots, (0..nodes).filter(fit));
            if fit.is_empty() { Decision::NoCandidate } else { Decision::Promote(fit) }
        }
    }
}

/// These servers, by how soon they answered in the mean of all managers that reach them.
fn by_latency(snapshots: &[ManagerSnapshot], fit: impl Iterator<Item = u16>) -> Vec<u16> {
    let mean = |node: u16| -> f64 {
        let all: Vec<u64> = snapshots.iter().filter_map(|snapshot| snapshot.available.get(&node).copied()).collect();
        all.iter().sum::<u64>() as f64 / all.len().max(1) as f64
    };
    let mut fit: Vec<(f64, u16)> = fit.map(|node| (mean(node), node)).collect();
    fit.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    fit.into_iter().map(|(_, node)| node).collect()
}

#[cfg(test)]
mod tests {
    use super::super::parameters::NodeStrategy;
    use super::*;

    /// Of three servers: latencies of those that answer, None of those that do not.
    fn sees(nodes: [Option<u64>; 3]) -> ManagerSnapshot {
        let mut snapshot = ManagerSnapshot::default();
        for (node, latency) in (0..).zip(nodes) {
            match latency {
                Some(ms) => _ = snapshot.available.insert(node, ms),
                None => _ = snapshot.unavailable.insert(node),
            }
        }
        snapshot
    }

    fn led_by(master: u16) -> PublishedNodes {
        PublishedNodes { master: Some(master), ..PublishedNodes::default() }
    }

    fn decided(strategy: NodeStrategy, snapshots: &[ManagerSnapshot], published: &PublishedNodes) -> Decision {
        let parameters = ManagerParameters { strategy, ..ManagerParameters::default() };
        decide(3, snapshots, &snapshots[0], published, &parameters)
    }

    #[test]
    fn one_manager_that_is_cut_off_makes_only_single_fail_over() {
        let seen =
            [sees([None, Some(1), Some(2)]), sees([Some(1), Some(1), Some(2)]), sees([Some(1), Some(1), Some(2)])];
        for (strategy, fails_over) in
            [(NodeStrategy::Majority, false), (NodeStrategy::Consensus, false), (NodeStrategy::Single, true)]
        {
            let found = decided(strategy, &seen, &led_by(0));
            assert_eq!(found == Decision::Promote(vec![1, 2]), fails_over, "{strategy:?}: {found:?}");
        }
    }

    #[test]
    fn a_manager_that_still_sees_the_master_blocks_consensus() {
        let seen = [sees([None, Some(1), Some(2)]), sees([None, Some(1), Some(2)]), sees([Some(1), Some(1), Some(2)])];
        assert_eq!(decided(NodeStrategy::Majority, &seen, &led_by(0)), Decision::Promote(vec![1, 2]));
        assert!(matches!(decided(NodeStrategy::Consensus, &seen, &led_by(0)), Decision::Keep(_)));
    }

    #[test]
    fn a_server_that_a_manager_does_not_reach_is_not_promoted() {
        let seen = [sees([None, Some(1), Some(9)]), sees([None, None, Some(9)])];
        assert_eq!(decided(NodeStrategy::Majority, &seen, &led_by(0)), Decision::Promote(vec![2]));
        let none_left = [sees([None, None, None])];
        assert_eq!(decided(NodeStrategy::Majority, &none_left, &led_by(0)), Decision::NoCandidate);
    }

    #[test]
    fn a_promotion_that_was_begun_goes_on_with_the_same_server() {
        let seen = [sees([None, Some(1), Some(9)])];
        let begun = PublishedNodes { promoting: Some(2), ..PublishedNodes::default() };
        assert_eq!(decided(NodeStrategy::Majority, &seen, &begun), Decision::Finish(2));
        let lost = [sees([None, Some(1), None])];
        assert_eq!(decided(NodeStrategy::Majority, &lost, &begun), Decision::Promote(vec![1]));
    }

    #[test]
    fn no_decision_without_enough_managers() {
        let seen = [sees([None, Some(1), Some(2)])];
        let parameters = ManagerParameters { managers_required: 2, ..ManagerParameters::default() };
        let found = decide(3, &seen, &seen[0], &led_by(0), &parameters);
        assert_eq!(found, Decision::Wait { node: 0, seen_by: 1 });
    }

    #[test]
    fn a_lost_replica_is_published_as_such() {
        let seen = [sees([Some(1), None, Some(2)])];
        let Decision::Keep(nodes) = decided(NodeStrategy::Majority, &seen, &led_by(0)) else { panic!("it serves") };
        assert_eq!((nodes.master, nodes.replicas, nodes.unavailable), (Some(0), vec![2], vec![1]));
    }
}
