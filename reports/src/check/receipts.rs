//! Did every fault happen? What was ordered but is not proven counts for nothing, and says so.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::section::Section;
use super::words::moment;
use crate::index::{Fault, Index, Proof};
use crate::stats::{Distribution, Samples};
use hustings_record::{FaultKind, Grade, Nanos};

/// What became of the faults that were ordered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Faults {
    /// Proven to have taken effect, and to have ended where they last.
    pub verified: u64,
    pub unverified: u64,
    /// From the time that the plan intends to the order.
    pub lateness: Option<Distribution>,
    pub receipts: Vec<Receipt>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    pub fault: u32,
    pub kind: FaultKind,
    pub intended: Nanos,
    pub injected: Option<(Nanos, Nanos)>,
    pub healed: Option<(Nanos, Nanos)>,
    pub verified: bool,
    pub evidence: String,
    /// Host names hit.
    pub hosts: Vec<String>,
    /// Ids of the servers hit.
    #[serde(default)]
    pub servers: Vec<u32>,
    pub groups: u64,
}

impl Section for Faults {
    const NAME: &'static str = "receipts";
    const ABOUT: &'static str = "Did every fault take effect, and was it healed, by proof?";
    const RESTS_ON: &'static [Grade] = &[Grade::Process, Grade::Wire];

    fn applies(_: &Index<'_>) -> bool {
        true
    }

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let faults = &index.faults.all;
        for fault in faults {
            let named = || format!("{} number {} at {}", fault.kind, fault.id, moment(index, fault.t));
            match &fault.injected {
                None => finding.inconclusive(format!("{}: no receipt, no sample", named())),
                Some(p) if !p.verified => {
                    finding.inconclusive(format!("{}: not seen to take effect: {}", named(), words(p)));
                }
                Some(p) if fault.kind.is_partition() && !p.recorded() => {
                    finding.inconclusive(format!("{}: what proves that its links were cut is not recorded", named()));
                }
                Some(_) => {}
            }
            match &fault.healed {
                None if fault.kind.facts().until_healed => {
                    finding.inconclusive(format!("{}: never seen to be healed", named()))
                }
                Some(p) if !p.verified => {
                    finding.inconclusive(format!("{}: not seen to be healed: {}", named(), words(p)));
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
        let proofs = || faults.iter().flat_map(|f| f.injected.iter().chain(&f.healed));
        let trusted = proofs().filter(|p| p.verified && !p.recorded()).count();
        if trusted > 0 {
            finding.note(format!(
                "what {trusted} of {} receipts rest on is not recorded: they are believed",
                proofs().count()
            ));
        }
        finding.headline(format!("{} of {} faults proven", index.verified_faults(), faults.len()));
        finding.section = count(faults, faults.iter().map(|f| receipt(index, f)).collect());
        finding
    }
}

/// Why a proof proves nothing.
fn words(proof: &Proof) -> String {
    let told = proof.evidence.join("; ");
    match &proof.unfounded {
        Some(why) => format!("{why}, though its receipt says otherwise ({told})"),
        None => told,
    }
}

fn count(faults: &[Fault<'_>], receipts: Vec<Receipt>) -> Faults {
    let verified = receipts.iter().filter(|receipt| receipt.verified).count() as u64;
    let mut lateness = Samples::default();
    for fault in faults {
        lateness.push(fault.t.saturating_sub(fault.intended));
    }
    Faults { verified, unverified: receipts.len() as u64 - verified, lateness: lateness.distribution(), receipts }
}

fn receipt(index: &Index<'_>, fault: &Fault<'_>) -> Receipt {
    let span = |p: &Option<Box<Proof<'_>>>| p.as_ref().map(|p| -> (Nanos, Nanos) { (p.from, p.to) });
    let healed = !fault.kind.facts().until_healed || fault.healed.as_ref().is_some_and(|p| p.verified);
    let proofs = fault.injected.iter().chain(&fault.healed);
    let mut evidence: Vec<&str> = proofs.flat_map(|p| &p.evidence).copied().collect();
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
