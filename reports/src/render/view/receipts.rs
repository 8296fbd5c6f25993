//! The proof that each fault took effect, as a table: no receipt, no sample.

use serde::Serialize;

use crate::render::{clean, format};
use crate::summary::{CellSummary, Receipt};

/// Rows of the table. Where there are more receipts, those that failed come first and the rest is counted.
const ROWS_MAX: usize = 100;
const HOSTS_MAX: usize = 6;

#[derive(Serialize)]
pub(super) struct Receipts {
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

impl Receipts {
    pub(super) fn new(cell: &CellSummary) -> Self {
        let intended = cell.faults.receipts.iter().map(|receipt| receipt.intended);
        let first = intended.chain(cell.faults.withheld.iter().map(|fault| fault.intended)).min().unwrap_or(0);
        let mut receipts: Vec<&Receipt> = cell.faults.receipts.iter().collect();
        let left_out = receipts.len().saturating_sub(ROWS_MAX);
        if left_out > 0 {
            receipts.sort_by_key(|receipt| receipt.verified);
        }
        let faults = &cell.faults;
        let headline = if receipts.is_empty() && faults.withheld.is_empty() {
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
            rows: receipts.into_iter().take(ROWS_MAX).map(|r| line(r, first)).collect(),
            left_out,
        }
    }
}

fn line(receipt: &Receipt, first: u64) -> FaultLine {
    let servers = receipt.servers.iter().map(|id| format!("server {id}"));
    let hosts = receipt.hosts.iter().take(HOSTS_MAX).map(|host| clean::short(host, 40));
    let hosts: Vec<String> = hosts.chain(servers.take(HOSTS_MAX)).collect();
    let more = receipt.hosts.len().saturating_sub(HOSTS_MAX) + receipt.servers.len().saturating_sub(HOSTS_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    FaultLine {
        fault: receipt.fault,
        kind: receipt.kind.name(),
        intended: format!("+{}", format::duration(receipt.intended.saturating_sub(first))),
        injected: receipt.injected.map_or_else(|| "never".into(), |(from, to)| since(receipt.intended, from, to)),
        healed: match (receipt.healed, receipt.injected) {
            (Some((healed, _)), Some((injected, _))) => {
                format!("after {}", format::duration(healed.saturating_sub(injected)))
            }
            (Some(_), None) => "yes".into(),
            (None, _) => format::NOTHING.into(),
        },
        verified: receipt.verified,
        evidence: clean::short(&receipt.evidence, 400),
        hosts: format!("{}{more}", hosts.join(", ")),
        groups: format::count(receipt.groups),
    }
}

fn since(intended: u64, from: u64, to: u64) -> String {
    let took = format::duration(to.saturating_sub(from));
    format!("{} late, took {took}", format::duration(from.saturating_sub(intended)))
}
