//! The registry of checkers. A line here is a checker and its section of the summary; the order is that of the reports, and
//! means nothing else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::CheckResult;
use super::injections::InjectionCost;
use super::section::Section;
use crate::excerpts::correlated_expiry::CorrelatedExpiry;
use crate::excerpts::exceptions::Exception;
use crate::excerpts::load::Load;
use crate::excerpts::timelines::Timeline;
use crate::index::Index;
use crate::verdict::Verdict;
use hustings_record::{CellInfo, EvidenceSource};

/// Turns each line into a field of [`CellSummary`], an entry of [`CHECKERS`] and an export of `sections`.
macro_rules! checkers {
    ($($field:ident: $module:ident::$section:ident,)+) => {
        /// The sections of all checkers, for readers of summaries.
        pub mod sections {
            $(pub use crate::check::$module::$section;)+
        }

        /// Everything that the reports show of one cell.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct CellSummary {
            pub info: CellInfo,
            pub verdict: Verdict,
            /// True when something unsafe was seen that the scenario expects of this cell.
            pub unsafe_as_expected: bool,
            /// T: the negotiated session timeout, in milliseconds; None when no session was established.
            pub timeout_ms: Option<u64>,
            pub checks: Vec<CheckResult>,
            $(#[serde(default)] pub $field: super::$module::$section,)+
            /// What each injection cost, in order of time: what two runs are compared by.
            #[serde(default)]
            pub injections: Vec<InjectionCost>,
            /// The groups worth looking at, worst first, few.
            pub timelines: Vec<Timeline>,
            /// Which groups fell together, injection by injection.
            #[serde(default)]
            pub correlated_expiries: Vec<CorrelatedExpiry>,
            /// How loaded the servers were, for a picture. None: nobody asked them, or none answered.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub load: Option<Load>,
            /// Handovers that are no plain sample, the first of each kind.
            #[serde(default)]
            pub exceptions: Vec<Exception>,
        }

        impl CellSummary {
            /// The summary of a cell that was not examined.
            #[must_use]
            pub fn of(info: CellInfo, timeout_ms: Option<u64>) -> Self {
                let (verdict, unsafe_as_expected) = (Verdict::Pass, false);
                let (checks, injections, timelines) = (Vec::new(), Vec::new(), Vec::new());
                let (correlated_expiries, exceptions) = (Vec::new(), Vec::new());
                $(let $field = super::$module::$section::default();)+
                Self {
                    info,
                    verdict,
                    unsafe_as_expected,
                    timeout_ms,
                    checks,
                    $($field,)+
                    injections,
                    timelines,
                    correlated_expiries,
                    load: None,
                    exceptions,
                }
            }
        }

        /// Every checker, in the order in which a report shows them.
        pub const CHECKERS: &[Checker] = &[$(Checker {
            name: <super::$module::$section as Section>::NAME,
            about: <super::$module::$section as Section>::ABOUT,
            rests_on: <super::$module::$section as Section>::RESTS_ON,
            applies: <super::$module::$section as Section>::applies,
            fill: |index, summary| {
                let mut finding = <super::$module::$section as Section>::check(index);
                if is_unread(index, <super::$module::$section as Section>::RESTS_ON) {
                    finding.doubt(", but not all connections of its programs could be read");
                }
                let rests_on = rests_on(index, <super::$module::$section as Section>::RESTS_ON);
                let (result, section) = finding.into_parts(<super::$module::$section as Section>::NAME, rests_on);
                summary.$field = section;
                result
            },
        }),+];
    };
}

checkers! {
    split_brain: split_brain::SplitBrain,
    writes: stale_writes::Writes,
    stray_writes: stray_writes::StrayWrites,
    write_tokens: write_tokens::WriteTokens,
    grant_tokens: grant_tokens::GrantTokens,
    handovers: handovers::Handovers,
    leaderless: liveness::LeaderlessTime,
    standing: participation::Participation,
    effect: effect::EffectSection,
    promptness: promptness::Promptness,
    failover: failover::Failover,
    fan_out: fan_out::FanOutSection,
    deletion_watches: servers::DeletionWatches,
    ownership: ownership::Ownership,
    sessions: sessions::SessionsSection,
    ensemble: server_elections::EnsembleSection,
    faults: verifications::FaultsSection,
    enrolment: enrolment::Enrolment,
    stalls: stalls::Stalls,
    programs: programs::Programs,
    witness: witness::Witness,
    wholeness: records::RecordContents,
}

/// Judges the cell by the checkers that are wanted and apply to it.
pub(crate) fn judged(index: &Index<'_>, is_wanted: impl Fn(&Checker) -> bool) -> CellSummary {
    let mut summary = CellSummary::blank(index);
    for checker in CHECKERS.iter().filter(|checker| is_wanted(checker) && (checker.applies)(index)) {
        checker.run(index, &mut summary);
    }
    summary
}

/// A checker of the registry, independent of its section's type.
pub struct Checker {
    pub name: &'static str,
    /// What it looks for, in a sentence.
    pub about: &'static str,
    /// Sources that it relies on where candidates report their beliefs.
    pub rests_on: &'static [EvidenceSource],
    /// Whether the cell contains its subject.
    pub applies: fn(&Index<'_>) -> bool,
    /// Judges the cell, and stores the section in the summary.
    fill: fn(&Index<'_>, &mut CellSummary) -> CheckResult,
}

impl Checker {
    /// Judges the cell: fills in this checker's section, and adds its result to the summary.
    pub fn run(&self, index: &Index<'_>, summary: &mut CellSummary) {
        let result = (self.fill)(index, summary);
        summary.verdict = summary.verdict.merge(result.verdict);
        summary.unsafe_as_expected |= result.unsafe_as_expected;
        summary.checks.push(result);
    }
}

/// Whether not all connections that a check relies on were readable. It has no better source than these.
fn is_unread(index: &Index<'_>, rests_on: &[EvidenceSource]) -> bool {
    !index.unread.is_empty() && rests_on.contains(&EvidenceSource::Wire) && !rests_on.contains(&EvidenceSource::Effect)
}

/// Sources of a check in this cell: programs' reports are not accepted everywhere as their beliefs.
fn rests_on(index: &Index<'_>, usual: &[EvidenceSource]) -> Vec<EvidenceSource> {
    let reports = index.belief;
    let grades = usual.iter().map(|&grade| if grade == EvidenceSource::Report { reports } else { grade });
    let mut grades: Vec<EvidenceSource> = grades.collect();
    grades.sort_unstable();
    grades.dedup();
    grades
}

impl CellSummary {
    /// A summary that no checker has filled in yet.
    #[must_use]
    pub fn blank(index: &Index<'_>) -> Self {
        Self::of(index.info.clone(), index.timeout.map(|ns| ns / 1_000_000))
    }

    /// Whether it is inconclusive because of harness stalls only.
    #[must_use]
    pub fn is_spoilt(&self) -> bool {
        let mut open = self.checks.iter().filter(|check| check.verdict == Verdict::Inconclusive);
        self.verdict == Verdict::Inconclusive && open.all(|check| check.by_stalls)
    }
}
