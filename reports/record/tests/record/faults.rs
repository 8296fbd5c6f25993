//! The facts of the fault kinds are consistent.

use std::collections::BTreeSet;

use hustings_record::{
    Counters, DurationRule, ElectionTrigger, FaultKind, LeadLoss, LinkNeed, ProcessFate, TargetClass,
};

#[test]
fn what_a_row_says_in_two_places_agrees() {
    for kind in FaultKind::ALL.iter().copied() {
        let facts = kind.facts();
        let cuts = kind.needs_links() && facts.takes_out;
        assert_eq!(facts.cuts.is_some(), cuts, "{kind}: on links, only a cut takes hosts out");
        assert_eq!(facts.elects != ElectionTrigger::Never, facts.hits == TargetClass::Servers, "{kind}");
        assert_eq!(facts.counters != Counters::Kept, facts.hits == TargetClass::Servers, "{kind}");
        assert!(facts.lasts != DurationRule::Must || facts.until_healed, "{kind} says how long, and so is healed");
        assert!(facts.links == LinkNeed::None || facts.hits == TargetClass::Hosts, "{kind}: only hosts have links");
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

/// The recount implements the facts of the kinds by itself. These are its lists.
const KINDS: &str = include_str!("../../../../ci/recounting/kinds.py");
const EXCUSES: &str = include_str!("../../../../ci/recounting/excuses.py");
const ELECTIONS: &str = include_str!("../../../../ci/recounting/elections.py");

#[test]
fn the_recount_names_every_kind_of_which_its_lists_are_true() {
    type Fact = fn(FaultKind) -> bool;
    let lists: [(&str, &str, Fact); 9] = [
        (KINDS, "LASTS_UNTIL_HEALED", |kind| kind.facts().until_healed),
        (KINDS, "LIES_IN_WAIT", |kind| kind.facts().waits_at_sync_point),
        (KINDS, "HITS_CANDIDATES", |kind| !kind.hits_hosts() && !kind.hits_servers()),
        (KINDS, "ALWAYS_COSTS", |kind| matches!(kind.facts().leads, LeadLoss::Always | LeadLoss::Anew)),
        (KINDS, "ENDS_PROCESSES", |kind| kind.facts().process == ProcessFate::Ended),
        (KINDS, "LETS_SESSIONS_EXPIRE", |kind| kind.facts().lets_sessions_expire),
        (EXCUSES, "FORCES", |kind| kind.hits_candidates() && kind.facts().defeats_client_checks),
        (EXCUSES, "BAD_LINKS", |kind| kind.needs_links() && kind.facts().until_healed),
        (ELECTIONS, "COUNTS_ANEW", |kind| matches!(kind.facts().counters, Counters::Anew | Counters::Stopped)),
    ];
    for (source, name, is_true) in lists {
        let (_, list) = source.split_once(&format!("\n{name} = (")).expect("a list of this name");
        let named: BTreeSet<&str> = list.split(')').next().expect("its end").split('"').skip(1).step_by(2).collect();
        let wanted: BTreeSet<&str> =
            FaultKind::ALL.iter().filter(|kind| is_true(**kind)).map(|kind| kind.name()).collect();
        assert_eq!(named, wanted, "{name} in ci/recounting");
    }
    for kind in FaultKind::ALL {
        let is_on_servers = kind.name().starts_with("server-");
        assert_eq!(kind.hits_servers(), is_on_servers, "{kind}: is_on_servers in ci/recounting/kinds.py");
    }
}
