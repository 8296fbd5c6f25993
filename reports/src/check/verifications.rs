//! Did every planned fault happen? Withheld and unverified faults do not count, and are reported.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::section::Section;
use super::stall_confounder::kept_from_verification;
use super::words::moment;
use crate::index::{Fault, Index, PlanEntry, VerificationResult};
use crate::stats::{Distribution, Samples};
use hustings_record::words::{self, plural};
use hustings_record::{EvidenceSource, FaultIntent, FaultKind, Nanos, WithheldReason};

/// Limit per reason of withheld faults named individually.
const NAMED_MAX: usize = 5;

/// What became of the faults of a cell's plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultsSection {
    /// Faults of the plan. Where the record does not tell it: faults that were ordered.
    #[serde(default)]
    pub planned: u64,
    /// Those of them all of whose orders are verified.
    #[serde(default)]
    pub planned_verified: u64,
    /// Those that were not ordered.
    #[serde(default)]
    pub withheld: Vec<WithheldFault>,
    /// Those of which the record tells neither an order nor why they were withheld.
    #[serde(default)]
    pub lost: u64,
    /// Verified to have taken effect, and to have ended where they last.
    pub verified: u64,
    pub unverified: u64,
    /// From the time that the plan intends to the order.
    pub lateness: Option<Distribution>,
    pub verifications: Vec<FaultVerification>,
}

/// A planned fault that was not ordered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WithheldFault {
    /// Its number in the plan.
    pub planned: u32,
    pub kind: FaultKind,
    pub intended: Nanos,
    pub why: WithheldReason,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultVerification {
    pub fault: u32,
    pub kind: FaultKind,
    pub intended: Nanos,
    pub injected: Option<(Nanos, Nanos)>,
    pub healed: Option<(Nanos, Nanos)>,
    pub verified: bool,
    /// For how long it was in effect for certain, where that is longer than planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overran_ns: Option<Nanos>,
    pub evidence: String,
    /// Host names hit.
    pub hosts: Vec<String>,
    /// Ids of the servers hit.
    #[serde(default)]
    pub servers: Vec<u32>,
    pub groups: u64,
}

impl Section for FaultsSection {
    const NAME: &'static str = "verification";
    const ABOUT: &'static str = "Is every planned fault verified to have taken effect, and healed?";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Process, EvidenceSource::Wire];

    fn applies(_: &Index<'_>) -> bool {
        true
    }

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let faults = &index.faults.all;
        for fault in faults {
            let named = || format!("{} number {} at {}", fault.kind, fault.id, moment(index, fault.t));
            match &fault.injected {
                None => finding.inconclusive(format!("{}: unverified, so no sample counts", named())),
                Some(p) if !p.verified => {
                    let text = format!("{}: not seen to take effect: {}", named(), told(p));
                    if p.is_denied {
                        // The candidate that reported it is wrong, and no probe of the harness.
                        finding.fail(text);
                        continue;
                    }
                    match kept_from_verification(index, fault) {
                        Some(kept) => finding.inconclusive_by_stall(text + &kept),
                        None => finding.inconclusive(text),
                    }
                }
                Some(p) if fault.kind.is_partition() && !p.recorded() => {
                    finding.inconclusive(format!("{}: what shows that its links were cut is not recorded", named()));
                }
                Some(_) => {}
            }
            match &fault.healed {
                None if fault.kind.facts().until_healed => {
                    finding.inconclusive(format!("{}: never seen to be healed", named()))
                }
                Some(p) if !p.verified => {
                    finding.inconclusive(format!("{}: not seen to be healed: {}", named(), told(p)));
                }
                _ => {}
            }
        }
        judge_plan(index, &mut finding);
        for (fault, (lasted, planned_ms)) in faults.iter().filter_map(|fault| Some((fault, fault.overrun()?))) {
            let (kind, id, overrun) = (fault.kind, fault.id, words::overrun(lasted, planned_ms));
            finding.note(format!("{kind} number {id} was healed late: {overrun}; it is judged by its real span"));
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
                "what {trusted} of {} verifications rest on is not recorded: they are believed",
                proofs().count()
            ));
        }
        finding.section = count(index, faults.iter().map(|f| verification(index, f)).collect());
        finding.headline(headline(&finding.section));
        finding
    }
}

/// Checks that every planned fault was ordered, or withheld for a reason.
fn judge_plan(index: &Index<'_>, finding: &mut Finding<FaultsSection>) {
    let Some(planned) = &index.plan.faults else { return };
    let mut reasons: BTreeMap<WithheldReason, Vec<String>> = BTreeMap::new();
    let named = |intent: &FaultIntent| {
        format!("{} number {} of the plan, intended at {}", intent.kind, intent.id, moment(index, intent.intended))
    };
    for (intent, _, why) in index.plan.withheld() {
        reasons.entry(why).or_default().push(named(intent));
    }
    for (why, faults) in reasons {
        let all = plural(faults.len() as u64, "planned fault was", "planned faults were");
        finding.inconclusive(format!("{all} withheld, because {}: {}", why.about(), first_few(&faults)));
    }
    let lost: Vec<String> =
        planned.values().filter(|planned| planned.is_lost()).map(|lost| named(lost.intent)).collect();
    if !lost.is_empty() {
        let all = plural(lost.len() as u64, "planned fault was", "planned faults were");
        finding.inconclusive(format!("{all} neither ordered nor withheld: {}", first_few(&lost)));
    }
    let strays = index.plan.strays.len() as u64;
    if strays > 0 {
        let all = plural(strays, "fault was", "faults were");
        finding.inconclusive(format!("{all} ordered that the plan does not name"));
    }
}

fn first_few(all: &[String]) -> String {
    let more = all.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", all[..all.len().min(NAMED_MAX)].join("; "))
}

fn headline(faults: &FaultsSection) -> String {
    let FaultsSection { planned, planned_verified, withheld, .. } = faults;
    let withheld = if withheld.is_empty() { String::new() } else { format!(", {} withheld", withheld.len()) };
    format!("{planned_verified} of {planned} planned faults verified{withheld}")
}

/// Why a verification is void.
fn told(proof: &VerificationResult) -> String {
    let evidence = proof.evidence.join("; ");
    match &proof.unfounded {
        Some(why) => format!("{why}, though it was reported as verified ({evidence})"),
        None => evidence,
    }
}

fn count(index: &Index<'_>, verifications: Vec<FaultVerification>) -> FaultsSection {
    let verified = verifications.iter().filter(|verification| verification.verified).count() as u64;
    let mut lateness = Samples::default();
    for fault in &index.faults.all {
        lateness.push(fault.t.saturating_sub(fault.intended));
    }
    let ordered = verifications.len() as u64;
    let took_effect = |planned: &&PlanEntry<'_>| {
        let orders = &planned.orders;
        !orders.is_empty() && planned.withheld.is_none() && orders.iter().all(|&order| verifications[order].verified)
    };
    let (planned, planned_verified, lost) = match &index.plan.faults {
        Some(all) => (
            all.len() as u64,
            all.values().filter(took_effect).count() as u64,
            all.values().filter(|planned| planned.is_lost()).count() as u64,
        ),
        None => (ordered, verified, 0),
    };
    let withheld = index.plan.withheld().map(|(intent, _, why)| {
        let FaultIntent { id: planned, kind, intended, .. } = *intent;
        WithheldFault { planned, kind, intended, why }
    });
    let (withheld, lateness) = (withheld.collect(), lateness.distribution());
    FaultsSection {
        planned,
        planned_verified,
        withheld,
        lost,
        verified,
        unverified: ordered - verified,
        lateness,
        verifications,
    }
}

fn verification(index: &Index<'_>, fault: &Fault<'_>) -> FaultVerification {
    let span = |p: &Option<Box<VerificationResult<'_>>>| p.as_ref().map(|p| -> (Nanos, Nanos) { (p.from, p.to) });
    let healed = !fault.kind.facts().until_healed || fault.healed.as_ref().is_some_and(|p| p.verified);
    let proofs = fault.injected.iter().chain(&fault.healed);
    let mut evidence: Vec<&str> = proofs.flat_map(|p| &p.evidence).copied().collect();
    if evidence.is_empty() {
        evidence.push("not verified");
    }
    FaultVerification {
        fault: fault.id,
        kind: fault.kind,
        intended: fault.intended,
        injected: span(&fault.injected),
        healed: span(&fault.healed),
        verified: fault.verified() && healed,
        overran_ns: fault.overrun().map(|(lasted, _)| lasted),
        evidence: evidence.join("; "),
        hosts: fault.hosts.iter().map(|&host| index.host_name(host)).collect(),
        servers: fault.servers.to_vec(),
        groups: fault.groups.len() as u64,
    }
}
