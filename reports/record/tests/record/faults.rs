//! The facts of the fault kinds are consistent.

use hustings_record::{Counters, Elects, FaultKind, Hits, Lasts, LinkNeed};

#[test]
fn what_a_row_says_in_two_places_agrees() {
    for kind in FaultKind::ALL.iter().copied() {
        let facts = kind.facts();
        assert_eq!(facts.cuts.is_some(), kind.name().starts_with("partition"), "{kind}");
        assert_eq!(facts.hits == Hits::Servers, kind.name().starts_with("server-"), "{kind}");
        assert_eq!(facts.elects != Elects::Never, facts.hits == Hits::Servers, "{kind}");
        assert_eq!(facts.counters != Counters::Kept, facts.hits == Hits::Servers, "{kind}");
        assert!(facts.lasts != Lasts::Must || facts.until_healed, "{kind} says how long, and so is healed");
        assert!(facts.links == LinkNeed::None || facts.hits == Hits::Hosts, "{kind}: only hosts have links");
        assert!(!facts.lets_sessions_expire || facts.takes_out, "{kind}: a host that is there touches its sessions");
        assert!(!facts.proof.is_empty(), "{kind}");
    }
}

#[test]
fn hosts_under_a_fault_that_lasts_are_hit_by_no_other() {
    let exempting: Vec<&str> =
        FaultKind::ALL.iter().filter(|kind| kind.exempts_hosts()).map(|kind| kind.name()).collect();
    assert_eq!(
        exempting,
        ["crash", "terminate", "partition", "partition-up", "partition-down", "slow", "pause", "hang", "clock-step"]
    );
}

#[test]
fn faults_take_znodes_that_do_not_leave_them_to_expire_with_their_sessions() {
    let taking: Vec<&str> = FaultKind::ALL.iter().filter(|kind| kind.takes_znodes()).map(|kind| kind.name()).collect();
    assert_eq!(taking, ["resign", "terminate", "expire", "parent-delete"]);
}
