//! Allows at most a minority of the hosts or servers out at a time, unless the scenario allows more.

use hustings_record::numbers::whole;

use super::add;
use crate::faults::Moment;
use crate::scenario::cell::Cell;
use crate::scenario::error::Problem;
use crate::scenario::fault::{FaultSpec, Target};
use crate::scenario::plan::SHORTEST_GAP;

/// Whether the faults of a cell leave a majority of the hosts and of the servers.
pub(super) fn check(cell: &Cell, found: &mut Vec<Problem>) {
    let hosts = OutageSide {
        noun: "hosts",
        of: u64::from(cell.hosts),
        remedy: "let crashed hosts come back with for_ms",
        comes_back: true,
        most: |cell, all| u64::from(cell.hosts_out_max(all)),
        outage: hosts_out,
    };
    let servers = OutageSide {
        noun: "servers",
        of: u64::from(cell.servers),
        remedy: "let killed servers come back with for_ms before the next one goes",
        comes_back: false,
        most: |cell, all| u64::from(cell.servers_out_max(all)),
        outage: servers_out,
    };
    one_side(cell, &hosts, found);
    one_side(cell, &servers, found);
}

/// The counted objects, and their words for messages.
struct OutageSide {
    noun: &'static str,
    of: u64,
    remedy: &'static str,
    /// Whether they come back anyway, so that the remedy does not apply.
    comes_back: bool,
    /// How many may be out in a cell, by whether all of them may be.
    most: fn(&Cell, bool) -> u64,
    outage: fn(&Cell, &FaultSpec) -> Option<Outage>,
}

/// How many a fault takes out.
struct Outage {
    /// By each injection.
    at_once: u64,
    /// By all of its repeats together.
    in_all: u64,
    /// Whether they stay out.
    for_good: bool,
    /// The key that determines this.
    field: &'static str,
}

fn one_side(cell: &Cell, side: &OutageSide, found: &mut Vec<Problem>) {
    let outages: Vec<_> =
        cell.faults().filter_map(|(name, fault)| Some((name, fault, (side.outage)(cell, fault)?))).collect();
    for (name, fault, outage) in &outages {
        let most = (side.most)(cell, fault.allow_majority);
        if outage.for_good && outage.in_all >= side.of && fault.allow_majority {
            let what = format!("takes all {} {} out for good, and nobody can lead in the end", side.of, side.noun);
            let name = if outage.field == "repeat" { &cell.fault_name } else { *name };
            add(found, &format!("faults.{name}.{}", outage.field), what, "give them back with for_ms, or hit fewer");
        } else if outage.in_all > most {
            let good = if outage.for_good { " for good" } else { "" };
            let what = format!("takes {} of {} {} out{good}", outage.in_all, side.of, side.noun);
            // The main fault determines how often both hit.
            let name = if outage.field == "repeat" { &cell.fault_name } else { *name };
            add(found, &format!("faults.{name}.{}", outage.field), what, remedy(most, side, outage.for_good));
        }
    }
    // The combination is reported only where each one alone is allowed.
    if let [(name, main, first), (_, with, second)] = outages.as_slice() {
        let most = (side.most)(cell, main.allow_majority && with.allow_majority);
        let both = first.at_once + second.at_once;
        if together(cell, main, first) && first.in_all.max(second.in_all) <= most && both > most {
            let what = format!("takes {both} of {} {} out together with the other fault", side.of, side.noun);
            let remedy = "let it hit later, by with_after_ms, or set allow_majority = true for both";
            add(found, &format!("faults.{name}.with"), what, remedy);
        }
    }
}

fn remedy(most: u64, side: &OutageSide, for_good: bool) -> String {
    match most {
        _ if most > 0 && !for_good && side.comes_back => format!("hit {most} at most, or set allow_majority = true"),
        0 => "use 3 of them at least, or set allow_majority = true".to_owned(),
        _ => format!("hit {most} at most, {}, or set allow_majority = true", side.remedy),
    }
}

/// Whether the targets of the first fault are still out when the other one hits.
fn together(cell: &Cell, main: &FaultSpec, outage: &Outage) -> bool {
    let lasts = cell.fault_lasts_ms(main);
    outage.for_good || lasts.is_some_and(|lasts| lasts > main.with_after_ms.unwrap_or(0))
}

fn hosts_out(cell: &Cell, fault: &FaultSpec) -> Option<Outage> {
    if !fault.takes_hosts_out() {
        return None;
    }
    let (at_once, field) = match fault.target() {
        Target::HostLeadingMost { hosts } | Target::Host { hosts } => (u64::from(hosts), "hosts"),
        Target::Share { share } => (whole((share * f64::from(cell.hosts)).ceil()), "share"),
        Target::Leaders { .. } | Target::Followers { .. } => (1, "repeat"),
        Target::EnsembleLeader | Target::EnsembleFollower | Target::Servers { .. } | Target::AllServers => return None,
    };
    // A fault that waits for a winner hits only one of its hosts.
    let at_once = if fault.moment == Moment::Won { 1 } else { at_once };
    let for_good = cell.fault_lasts_ms(fault).is_none();
    let times = if for_good { u64::from(cell.fault.repeat) } else { 1 };
    Some(Outage { at_once, in_all: at_once * times, for_good, field })
}

/// A restart always takes out all servers, and brings all of them back.
fn servers_out(cell: &Cell, fault: &FaultSpec) -> Option<Outage> {
    if !fault.kind().takes_servers_out() {
        return None;
    }
    let at_once = match fault.target() {
        Target::Servers { ids } => ids.len() as u64,
        Target::EnsembleLeader | Target::EnsembleFollower => 1,
        Target::Leaders { .. }
        | Target::Followers { .. }
        | Target::HostLeadingMost { .. }
        | Target::Host { .. }
        | Target::Share { .. }
        | Target::AllServers => return None,
    };
    let repeat = u64::from(cell.fault.repeat);
    let lasts = cell.fault_lasts_ms(fault);
    let times = match (lasts, cell.fault.every_ms) {
        (None, _) => repeat,
        (Some(lasts), Some(every)) => repeat.min(whole((lasts as f64 / (every as f64 * SHORTEST_GAP)).ceil())),
        (Some(_), None) => 1,
    };
    // A fault on listed ids hits the same servers again, not others.
    let named = matches!(fault.target(), Target::Servers { .. });
    let in_all = if named { at_once } else { at_once * times };
    let field = match (named, times) {
        (true, _) => "servers",
        (false, 1) => "target",
        (false, _) => "repeat",
    };
    Some(Outage { at_once, in_all, for_good: lasts.is_none(), field })
}
