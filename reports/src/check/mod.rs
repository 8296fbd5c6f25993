//! Checkers: one file each, one line each in the registry. A checker is a pure function of a cell; it fills in its part of
//! the summary and says what that is worth. A zero without evidence behind it is never a pass.

mod enrolment;
mod failover;
mod fan_out;
mod handovers;
mod liveness;
mod ownership;
mod receipts;
mod records;
mod server_elections;
mod servers;
mod sessions;
mod split_brain;
mod stale_writes;
mod stalls;
mod sweep;
mod unavailable;
mod votes;
mod write_gaps;

pub(crate) use liveness::gaps;
pub(crate) use split_brain::definite_overlaps;
pub(crate) use stale_writes::stale_in_group;
pub use sweep::{Overlap, Piece, sweep};

use crate::index::Index;
use crate::record::{Expectation, Nanos};
use crate::summary::{CellSummary, CheckResult};
use crate::verdict::Verdict;

/// Lines of detail that a person would read.
const DETAILS_MAX: usize = 20;

/// What a checker speaks of. Where a cell has none of it, the checker is neither run nor listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    Candidates,
    /// The ensemble's servers, where they were watched, or should have been.
    Servers,
    /// The candidates' sessions, where a fault on a server or anything else disturbed them.
    Sessions,
    Anything,
}

impl About {
    /// Whether the cell has any of it.
    #[must_use]
    pub fn is_in(self, index: &Index<'_>) -> bool {
        match self {
            Self::Candidates => index.has_candidates(),
            Self::Servers => {
                let hit = index.faults.all.iter().any(|fault| fault.kind.hits_servers());
                index.servers.watched() || hit || index.info.expect.server_leader.is_some()
            }
            Self::Sessions => index.has_candidates() && sessions::disturbed(index),
            Self::Anything => true,
        }
    }
}

pub struct Checker {
    pub name: &'static str,
    pub about: About,
    pub check: fn(&Index<'_>, &mut CellSummary) -> Finding,
}

/// Every checker, in the order in which a report shows them. Later ones may read what earlier ones filled in.
pub const CHECKERS: &[Checker] = &[
    Checker { name: "split-brain", about: About::Candidates, check: split_brain::check },
    Checker { name: "stale-writes", about: About::Candidates, check: stale_writes::check },
    Checker { name: "handovers", about: About::Candidates, check: handovers::check },
    Checker { name: "liveness", about: About::Candidates, check: liveness::check },
    Checker { name: "failover", about: About::Candidates, check: failover::check },
    Checker { name: "fan-out", about: About::Candidates, check: fan_out::check },
    Checker { name: "servers", about: About::Candidates, check: servers::check },
    Checker { name: "ownership", about: About::Candidates, check: ownership::check },
    Checker { name: "sessions", about: About::Sessions, check: sessions::check },
    Checker { name: "server-elections", about: About::Servers, check: server_elections::check },
    Checker { name: "receipts", about: About::Anything, check: receipts::check },
    Checker { name: "enrolment", about: About::Candidates, check: enrolment::check },
    Checker { name: "stalls", about: About::Anything, check: stalls::check },
    Checker { name: "record", about: About::Anything, check: records::check },
];

impl Checker {
    #[must_use]
    pub fn run(&self, index: &Index<'_>, summary: &mut CellSummary) -> CheckResult {
        (self.check)(index, summary).into_result(self.name)
    }
}

/// What a checker found, while it is finding it.
#[derive(Debug, Default)]
pub struct Finding {
    verdict: Verdict,
    headline: String,
    /// With the verdict that each line speaks for.
    details: Vec<(Verdict, String)>,
    unsafe_as_expected: bool,
}

impl Finding {
    fn headline(&mut self, text: String) {
        self.headline = text;
    }

    /// Something worth knowing that changes no verdict.
    fn note(&mut self, text: String) {
        self.details.push((Verdict::Pass, text));
    }

    fn inconclusive(&mut self, text: String) {
        self.worsen(Verdict::Inconclusive, text);
    }

    fn fail(&mut self, text: String) {
        self.worsen(Verdict::Fail, text);
    }

    fn worsen(&mut self, verdict: Verdict, text: String) {
        self.verdict = self.verdict.merge(verdict);
        self.details.push((verdict, text));
    }

    /// Holds what was seen against what was expected. `what` names it; `evidence` is why a zero would mean something.
    /// True when it was seen and may be.
    fn judge(&mut self, expected: Expectation, seen: u64, what: &str, evidence: Result<(), String>) -> bool {
        match (expected, seen, evidence) {
            (Expectation::None, 1.., _) => self.fail(format!("{seen} {what}, and none may be")),
            (Expectation::Some | Expectation::Any, 1.., _) => {
                self.note(format!("{seen} {what}, as expected"));
                return true;
            }
            (Expectation::Some, 0, Ok(())) => {
                self.fail(format!("theory says that {what} should have shown here, and there were none"));
            }
            (Expectation::None | Expectation::Any, 0, Ok(())) => {}
            (_, 0, Err(why)) => self.inconclusive(format!("no {what}, but {why}")),
        }
        false
    }

    fn into_result(mut self, name: &str) -> CheckResult {
        self.details.sort_by_key(|d| std::cmp::Reverse(d.0));
        if self.details.len() > DETAILS_MAX {
            let more = self.details.len() - (DETAILS_MAX - 1);
            self.details.truncate(DETAILS_MAX - 1);
            self.details.push((Verdict::Pass, format!("and {more} more")));
        }
        CheckResult {
            name: name.to_owned(),
            verdict: self.verdict,
            headline: self.headline,
            details: self.details.into_iter().map(|d| d.1).collect(),
            unsafe_as_expected: self.unsafe_as_expected,
        }
    }
}

/// What a zero in this cell stands on: proven faults, or the intention to have none.
fn evidence(index: &Index<'_>) -> Result<(), String> {
    if index.has_candidates() && index.terms.all.iter().all(|t| t.granted.is_none()) {
        return Err("nobody ever led".into());
    }
    if index.is_control() || index.verified_faults() > 0 {
        return Ok(());
    }
    Err("no fault is proven to have taken effect: no receipt, no sample".into())
}

/// A duration for people.
fn time(ns: Nanos) -> String {
    match ns {
        0..1_000_000 => format!("{:.0} µs", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.2} s", ns as f64 / 1e9),
    }
}

/// A moment for people: since the cell began.
fn moment(index: &Index<'_>, t: Nanos) -> String {
    format!("+{:.3} s", t.saturating_sub(index.span.0) as f64 / 1e9)
}

fn bound(upper: Option<f64>) -> String {
    upper.map_or_else(|| "no bound".into(), |p| format!("95 % bound {:.2} %", p * 100.0))
}
