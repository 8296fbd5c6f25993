//! Did every fault happen? What was ordered but is not proven counts for nothing, and says so.

use super::{Finding, moment};
use crate::index::{Fault, Index, heals};
use crate::record::Nanos;
use crate::stats::Samples;
use crate::summary::{CellSummary, Faults, Receipt};

pub(super) fn check(index: &Index<'_>, summary: &mut CellSummary) -> Finding {
    let mut finding = Finding::default();
    let faults = &index.faults.all;
    for fault in faults {
        let named = || format!("{} number {} at {}", fault.kind, fault.id, moment(index, fault.t));
        match &fault.injected {
            None => finding.inconclusive(format!("{}: no receipt, no sample", named())),
            Some(p) if !p.verified => {
                finding.inconclusive(format!("{}: not seen to take effect: {}", named(), p.evidence.join("; ")));
            }
            Some(_) => {}
        }
        match &fault.healed {
            None if heals(fault.kind) => finding.inconclusive(format!("{}: never seen to be healed", named())),
            Some(p) if !p.verified => {
                finding.inconclusive(format!("{}: not seen to be healed: {}", named(), p.evidence.join("; ")));
            }
            _ => {}
        }
    }
    if faults.is_empty() && !index.is_control() {
        finding.inconclusive(format!("no {} was ever ordered", index.info.fault_kind));
    }
    let aimed: usize = faults.iter().map(|f| f.groups.len()).sum();
    let met = index.losses.all.len();
    if met < aimed {
        finding.note(format!("{aimed} leaders were aimed at, and {met} met while they led"));
    }
    finding.headline(format!("{} of {} faults proven", index.verified_faults(), faults.len()));
    summary.receipts = faults.iter().map(|f| receipt(index, f)).collect();
    summary.faults = count(faults, &summary.receipts);
    finding
}

fn count(faults: &[Fault<'_>], receipts: &[Receipt]) -> Faults {
    let verified = receipts.iter().filter(|receipt| receipt.verified).count() as u64;
    let mut lateness = Samples::default();
    for fault in faults {
        lateness.push(fault.t.saturating_sub(fault.intended));
    }
    Faults { verified, unverified: receipts.len() as u64 - verified, lateness: lateness.distribution() }
}

fn receipt(index: &Index<'_>, fault: &Fault<'_>) -> Receipt {
    let span = |p: &Option<crate::index::Proof>| p.as_ref().map(|p| -> (Nanos, Nanos) { (p.from, p.to) });
    let healed = !heals(fault.kind) || fault.healed.as_ref().is_some_and(|p| p.verified);
    let proofs = fault.injected.iter().chain(&fault.healed);
    let mut evidence: Vec<&str> = proofs.flat_map(|p| &p.evidence).map(String::as_str).collect();
    if evidence.is_empty() {
        evidence.push("no receipt");
    }
    Receipt {
        fault: fault.id,
        kind: fault.kind,
        intended: fault.intended,
        injected: span(&fault.injected),
        healed: span(&fault.healed),
        verified: fault.verified() && healed,
        evidence: evidence.join("; "),
        hosts: fault.hosts.iter().map(|&host| index.host_name(host)).collect(),
        servers: fault.servers.to_vec(),
        groups: fault.groups.len() as u64,
    }
}
