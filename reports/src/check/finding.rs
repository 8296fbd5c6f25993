//! A checker's result: a verdict, a headline, details, and its section of the summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::testability::Testability;
use crate::verdict::Verdict;
use hustings_record::{EvidenceSource, Expectation};

/// Maximum of detail lines, so that a report stays readable.
const DETAILS_MAX: usize = 20;

/// One checker's word on one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    /// Name in the registry of checkers.
    pub name: String,
    pub verdict: Verdict,
    /// One line: what was seen, with n and bounds.
    pub headline: String,
    /// What a person would look at next, most telling first, at most 20 lines.
    pub details: Vec<String>,
    pub unsafe_as_expected: bool,
    /// Whom one has to trust for it; nobody but the harness where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<EvidenceSource>,
    /// It is inconclusive for nothing but stalls of the harness: the same again, undisturbed, would tell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_stalls: bool,
    /// Of a check that passed: whether it could have failed on this cell, by mutations of the record. None: not examined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub testability: Option<Testability>,
}

impl CheckResult {
    /// Why it did not pass: the worst detail. For a pass, the headline.
    #[must_use]
    pub fn reason(&self) -> &str {
        let worst = self.details.first().filter(|_| self.verdict > Verdict::Pass);
        worst.unwrap_or(&self.headline)
    }
}

/// What a checker found.
#[derive(Debug, Default)]
pub struct Finding<S> {
    verdict: Verdict,
    headline: String,
    /// Each line with the verdict that it supports.
    details: Vec<(Verdict, String)>,
    /// A reason other than a harness stall makes it inconclusive.
    doubtful: bool,
    pub(super) unsafe_as_expected: bool,
    /// The checker's own part of the summary.
    pub section: S,
}

impl<S> Finding<S> {
    pub(super) fn headline(&mut self, text: String) {
        self.headline = text;
    }

    /// Something worth knowing that changes no verdict.
    pub(super) fn note(&mut self, text: String) {
        self.details.push((Verdict::Pass, text));
    }

    pub(super) fn inconclusive(&mut self, text: String) {
        self.doubtful = true;
        self.worsen(Verdict::Inconclusive, text);
    }

    /// Inconclusive because of a harness stall only.
    pub(super) fn inconclusive_by_stall(&mut self, text: String) {
        self.worsen(Verdict::Inconclusive, text);
    }

    pub(super) fn fail(&mut self, text: String) {
        self.worsen(Verdict::Fail, text);
    }

    fn worsen(&mut self, verdict: Verdict, text: String) {
        self.verdict = self.verdict.merge(verdict);
        self.details.push((verdict, text));
    }

    /// Turns every failure into an inconclusive result, for the reason `why`.
    pub(super) fn doubt(&mut self, why: &str) {
        for (verdict, text) in self.details.iter_mut().filter(|detail| detail.0 == Verdict::Fail) {
            *verdict = Verdict::Inconclusive;
            text.push_str(why);
            self.doubtful = true;
        }
        self.verdict = self.verdict.min(Verdict::Inconclusive);
    }

    /// Compares the observed count with the expectation. `what` names the quantity; `evidence` says whether a zero is
    /// meaningful. True if it was observed and is allowed.
    pub(super) fn judge(&mut self, expected: Expectation, seen: u64, what: &str, evidence: Result<(), String>) -> bool {
        match (expected, seen, evidence) {
            (Expectation::None | Expectation::Excused, 1.., _) => self.fail(format!("{seen} {what}, and none may be")),
            (Expectation::Some | Expectation::Any, 1.., _) => {
                self.note(format!("{seen} {what}, as expected"));
                return true;
            }
            (Expectation::Some, 0, Ok(())) => {
                self.fail(format!("theory says that {what} should have shown here, and there were none"));
            }
            (Expectation::None | Expectation::Any | Expectation::Excused, 0, Ok(())) => {}
            (_, 0, Err(why)) => self.inconclusive(format!("no {what}, but {why}")),
        }
        false
    }

    /// The result for the report, under the checker's name, and the section.
    pub(super) fn into_parts(mut self, name: &str, rests_on: Vec<EvidenceSource>) -> (CheckResult, S) {
        self.details.sort_by_key(|d| std::cmp::Reverse(d.0));
        if self.details.len() > DETAILS_MAX {
            let more = self.details.len() - (DETAILS_MAX - 1);
            self.details.truncate(DETAILS_MAX - 1);
            self.details.push((Verdict::Pass, format!("and {more} more")));
        }
        let result = CheckResult {
            name: name.to_owned(),
            verdict: self.verdict,
            headline: self.headline,
            details: self.details.into_iter().map(|d| d.1).collect(),
            unsafe_as_expected: self.unsafe_as_expected,
            rests_on,
            by_stalls: self.verdict == Verdict::Inconclusive && !self.doubtful,
            testability: None,
        };
        (result, self.section)
    }
}
