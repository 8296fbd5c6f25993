//! What an examination found.

use hustings_record::EvidenceSource;
use serde::Serialize;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckOutcome {
    pub name: &'static str,
    pub need: Need,
    /// What is trusted for it.
    pub grade: EvidenceSource,
    pub result: KitFinding,
    /// What was seen, or why it was not looked at.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Need {
    /// Without it a program cannot take part.
    Required,
    /// It gives better evidence, or more faults that can be tried.
    Optional,
    /// What people want of it in production. It can take part without.
    Advised,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KitFinding {
    Passed,
    Failed,
    Untested,
}

/// Everything that an examination found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExaminationReport {
    /// What it calls itself; empty where it said nothing.
    pub name: String,
    pub version: String,
    pub outcomes: Vec<CheckOutcome>,
    /// In which grades verdicts on it can be had.
    pub evidence: Vec<EvidenceSource>,
    /// The last lines of its logs, where something failed.
    pub last_words: Vec<String>,
    /// Why the examination itself failed: then the outcomes are those until then, and no verdict on the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// What passing says nothing about, and the command that looks at it.
    pub not_tested: &'static [&'static str],
    pub next: String,
}

/// What takes a run of a scenario.
pub(super) const NOT_TESTED: &[&str] = &[
    "partitions: a program that leads beside another one while it is cut off passes here",
    "answers that are lost",
    "a program that is started again before the sessions of the one that died have ended",
    "faults on servers",
    "more than two candidates an election",
    "real servers",
];

/// The run of a program that tests the most dangerous of these.
pub(crate) fn run_of(command: &[String]) -> String {
    let words = command.iter().map(String::as_str);
    let line = shlex::try_join(words).unwrap_or_else(|_| command.join(" "));
    let quoted = shlex::try_quote(&line).map_or_else(|_| line.clone(), std::borrow::Cow::into_owned);
    format!("hustings run split-brain --candidate {quoted}")
}

/// The checks that every program has to pass. One that is missing from an examination has not been passed.
pub(super) const REQUIRED: [&str; 14] = [
    "says_hello",
    "runs_twice",
    "stands_where_it_is_told",
    "leads_and_writes",
    "one_writes_steadily",
    "hands_over_when_its_session_ends",
    "stands_again_after_its_session_ended",
    "gives_up_when_its_session_ends",
    "hands_over_when_it_is_stopped",
    "gives_up_when_it_wakes",
    "hands_over_when_it_is_killed",
    "stops_by_order",
    "ends_with_its_input",
    "speaks_the_protocol_alone",
];

/// Whether a check of this name is among the outcomes and has passed.
pub(super) fn has_passed(outcomes: &[CheckOutcome], name: &str) -> bool {
    outcomes.iter().any(|outcome| outcome.name == name && outcome.result == KitFinding::Passed)
}

impl ExaminationReport {
    /// Whether it has everything that is required.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.trouble.is_none()
            && REQUIRED.iter().all(|name| has_passed(&self.outcomes, name))
            && self.of(Need::Required).all(|outcome| outcome.result == KitFinding::Passed)
            && self.of(Need::Optional).all(|outcome| outcome.result != KitFinding::Failed)
    }

    pub fn of(&self, need: Need) -> impl Iterator<Item = &CheckOutcome> {
        self.outcomes.iter().filter(move |outcome| outcome.need == need)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examined(names: &[&'static str]) -> ExaminationReport {
        let passed = |&name: &&'static str| CheckOutcome {
            name,
            need: Need::Required,
            grade: EvidenceSource::Effect,
            result: KitFinding::Passed,
            text: String::new(),
        };
        let outcomes = names.iter().map(passed).collect();
        let (name, version, next) = (String::new(), String::new(), String::new());
        ExaminationReport {
            name,
            version,
            outcomes,
            evidence: Vec::new(),
            last_words: Vec::new(),
            trouble: None,
            not_tested: NOT_TESTED,
            next,
        }
    }

    #[test]
    fn a_required_check_that_did_not_come_about_is_no_pass() {
        assert!(examined(&REQUIRED).passes());
        assert!((0..REQUIRED.len()).all(|missing| {
            let others: Vec<_> = REQUIRED.into_iter().filter(|name| *name != REQUIRED[missing]).collect();
            !examined(&others).passes()
        }));
    }

    #[test]
    fn an_examination_that_failed_itself_is_no_pass_and_keeps_its_findings() {
        let broken = ExaminationReport { trouble: Some("its session ended".to_owned()), ..examined(&REQUIRED) };
        assert!(!broken.passes());
        let json = serde_json::to_value(&broken).expect("JSON");
        assert_eq!(json["trouble"], "its session ended");
        assert_eq!(json["outcomes"].as_array().map(Vec::len), Some(REQUIRED.len()));
        let whole = serde_json::to_value(examined(&REQUIRED)).expect("JSON");
        assert!(whole.get("trouble").is_none());
    }
}
