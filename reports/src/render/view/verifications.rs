//! The proof that each fault took effect, as a table: no verification, no sample.

use serde::Serialize;

use crate::render::{clean, format};
use crate::summary::{CellSummary, FaultVerification};

/// Rows of the table. Where there are more verifications, those that failed come first and the rest is counted.
const ROWS_MAX: usize = 100;
const HOSTS_MAX: usize = 6;

#[derive(Serialize)]
pub(super) struct VerificationTable {
    /// `12 of 12 planned faults verified`.
    headline: String,
    withheld: Vec<WithheldLine>,
    withheld_left_out: usize,
    rows: Vec<FaultLine>,
    left_out: usize,
}

/// A planned fault that was not ordered.
#[derive(Serialize)]
struct WithheldLine {
    planned: u32,
    kind: &'static str,
    intended: String,
    why: &'static str,
}

#[derive(Serialize)]
struct FaultLine {
    fault: u32,
    kind: &'static str,
    /// Intended time, since the first fault of the cell.
    intended: String,
    injected: String,
    healed: String,
    verified: bool,
    evidence: String,
    hosts: String,
    groups: String,
}

impl VerificationTable {
    pub(super) fn new(cell: &CellSummary) -> Self {
        let intended = cell.faults.verifications.iter().map(|verification| verification.intended);
        let first = intended.chain(cell.faults.withheld.iter().map(|fault| fault.intended)).min().unwrap_or(0);
        let mut verifications: Vec<&FaultVerification> = cell.faults.verifications.iter().collect();
        let left_out = verifications.len().saturating_sub(ROWS_MAX);
        if left_out > 0 {
            verifications.sort_by_key(|verification| verification.verified);
        }
        let faults = &cell.faults;
        let headline = if verifications.is_empty() && faults.withheld.is_empty() {
            "no fault was injected".into()
        } else {
            let (verified, planned) = (format::count(faults.planned_verified), format::count(faults.planned));
            format!("{verified} of {planned} planned faults verified")
        };
        let withheld = faults.withheld.iter().map(|fault| WithheldLine {
            planned: fault.planned,
            kind: fault.kind.name(),
            intended: format!("+{}", format::duration(fault.intended.saturating_sub(first))),
            why: fault.why.about(),
        });
        let withheld_left_out = faults.withheld.len().saturating_sub(ROWS_MAX);
        Self {
            headline,
            withheld: withheld.take(ROWS_MAX).collect(),
            withheld_left_out,
            rows: verifications.into_iter().take(ROWS_MAX).map(|r| line(r, first)).collect(),
            left_out,
        }
    }
}

fn line(verification: &FaultVerification, first: u64) -> FaultLine {
    let servers = verification.servers.iter().map(|id| format!("server {id}"));
    let hosts = verification.hosts.iter().take(HOSTS_MAX).map(|host| clean::short(host, 40));
    let hosts: Vec<String> = hosts.chain(servers.take(HOSTS_MAX)).collect();
    let more =
        verification.hosts.len().saturating_sub(HOSTS_MAX) + verification.servers.len().saturating_sub(HOSTS_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    FaultLine {
        fault: verification.fault,
        kind: verification.kind.name(),
        intended: format!("+{}", format::duration(verification.intended.saturating_sub(first))),
        injected: verification
            .injected
            .map_or_else(|| "never".into(), |(from, to)| since(verification.intended, from, to)),
        healed: match (verification.healed, verification.injected) {
            (Some((healed, _)), Some((injected, _))) => {
                format!("after {}", format::duration(healed.saturating_sub(injected)))
            }
            (Some(_), None) => "yes".into(),
            (None, _) => format::NOTHING.into(),
        },
        verified: verification.verified,
        evidence: clean::short(&verification.evidence, 400),
        hosts: format!("{}{more}", hosts.join(", ")),
        groups: format::count(verification.groups),
    }
}

fn since(intended: u64, from: u64, to: u64) -> String {
    let took = format::duration(to.saturating_sub(from));
    format!("{} late, took {took}", format::duration(from.saturating_sub(intended)))
}
