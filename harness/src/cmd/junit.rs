//! JUnit XML: one suite per cell, one case per requirement. Inconclusive results are errors, because most systems show
//! skipped tests as green. Untestable checks, excluded repetitions and overridden refusals are skipped, with the reason.

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use hustings_reports::gate::{GateResult, Item};
use hustings_reports::render::clean_prose;
use hustings_reports::verdict::Verdict;

/// The gate's result as a file for CI systems.
///
/// # Errors
/// None that is known of.
pub(super) fn junit(gated: &GateResult) -> Result<String, SerializeError> {
    let mut report = Report::new(format!("hustings gate: {}", gated.scenario));
    for (name, items) in gated.by_cell() {
        let mut suite = TestSuite::new(name.unwrap_or("record"));
        suite.add_property(("run", gated.run.as_str()));
        suite.add_test_cases(items.into_iter().map(|item| case(name, item)));
        report.add_test_suite(suite);
    }
    for left in &gated.left_out {
        let mut suite = TestSuite::new(left.cell.as_str());
        suite.add_property(("run", gated.run.as_str()));
        suite.add_test_case(skipped("repetition", format!("left out: {}", left.why)));
        report.add_test_suite(suite);
    }
    if !gated.forced.is_empty() {
        let mut suite = TestSuite::new("baseline");
        suite.add_property(("run", gated.run.as_str()));
        for (at, forced) in gated.forced.iter().enumerate() {
            let name = format!("not alike {}", at + 1);
            suite.add_test_case(skipped(&name, format!("compared all the same: {forced}")));
        }
        report.add_test_suite(suite);
    }
    // It leaves out the control characters that XML refuses, and no others.
    report.to_string().map(|text| clean_prose(&text))
}

fn skipped(name: &str, why: String) -> TestCase {
    let mut status = TestCaseStatus::skipped();
    status.set_message(why);
    TestCase::new(name, status)
}

fn case(cell: Option<&str>, item: &Item) -> TestCase {
    let mut status = match item.verdict {
        Verdict::Pass if item.not_testable.is_some() => TestCaseStatus::skipped(),
        Verdict::Pass => TestCaseStatus::success(),
        Verdict::Fail => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Verdict::Inconclusive => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    if item.verdict != Verdict::Pass {
        status.set_type(if item.verdict == Verdict::Fail { item.what.name() } else { "inconclusive" });
        status.set_message(item.text.as_str());
    }
    if let Some(why) = &item.not_testable {
        status.set_message(format!("not testable here: {why}"));
    }
    let mut case = TestCase::new(item.title(), status);
    case.set_classname(cell.unwrap_or("record"));
    case.add_property(("seen", item.text.as_str()));
    case
}

#[cfg(test)]
mod tests {
    use hustings_reports::gate::GateQuestion;

    use super::*;

    #[test]
    fn texts_from_outside_do_nothing_on_a_terminal() {
        let odd = || "a\u{1b}[31m\u{7}\u{7f}\u{9b}\u{202e}b".to_owned();
        let (verdict, what) = (Verdict::Fail, GateQuestion::Check);
        let item = Item { cell: Some(odd()), what, name: odd(), verdict, text: odd(), not_testable: None };
        let (hopeless, forced, left_out) = (None, vec![odd()], Vec::new());
        let gated = GateResult { verdict, run: odd(), scenario: odd(), hopeless, forced, left_out, items: vec![item] };
        let text = junit(&gated).expect("XML");
        let acts = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!text.contains(acts) && text.contains("<failure"), "{text:?}");
        Report::deserialize_from_str(&text).expect("JUnit");
    }

    #[test]
    fn each_override_by_force_is_a_skipped_case_with_its_reason() {
        let (verdict, run, scenario) = (Verdict::Pass, "run".to_owned(), "gate".to_owned());
        let forced =
            ["machine.cpu one against another", "cell naive: tick_ms 200 against 300"].map(str::to_owned).to_vec();
        let (hopeless, left_out, items) = (None, Vec::new(), Vec::new());
        let gated = GateResult { verdict, run, scenario, hopeless, forced, left_out, items };
        let text = junit(&gated).expect("XML");
        Report::deserialize_from_str(&text).expect("JUnit");
        assert_eq!(text.matches("<skipped").count(), 2, "{text}");
        for forced in &gated.forced {
            assert!(text.contains(&format!("compared all the same: {forced}")), "{text}");
        }
    }
}
