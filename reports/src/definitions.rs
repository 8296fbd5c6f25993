//! Definitions of terms, checks, figures and verdicts, and the known biases of figures. They are written only in
//! `METHODOLOGY.md` and `BIAS.md`; reports and `hustings explain` show them from there.

const METHODOLOGY: &str = include_str!("../METHODOLOGY.md");
const BIAS: &str = include_str!("../BIAS.md");
/// Parts of the document that hold the definitions for reports, by their headings.
pub const PARTS: [&str; 4] = ["Terms", "Measures", "Verdicts", "Evidence"];
/// The part on the figures of `hustings tune`, which are in no report of a record.
const TUNE_PART: &str = "Session timeout";
const BIAS_OF_REPORTS: &str = "In every report";

/// One section of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// One of [`PARTS`], or the part on `hustings tune`.
    pub part: &'static str,
    pub title: &'static str,
    /// Names by which `hustings explain` finds it: checks, figures and terms.
    pub names: Vec<&'static str>,
    /// Its first paragraph, which reports show.
    pub short: &'static str,
    /// The whole text.
    pub text: &'static str,
}

/// All definitions, in their order.
#[must_use]
pub fn all() -> Vec<Definition> {
    parts().flat_map(|part| sections(METHODOLOGY, part).filter_map(move |text| definition(part, text))).collect()
}

fn parts() -> impl Iterator<Item = &'static str> {
    PARTS.into_iter().chain([TUNE_PART])
}

/// The definitions that explain this name.
#[must_use]
pub fn of(name: &str) -> Vec<Definition> {
    all().into_iter().filter(|definition| definition.names.contains(&name)).collect()
}

/// Known biases of the figures in every report.
#[must_use]
pub fn biases() -> Vec<&'static str> {
    let part = part(BIAS, BIAS_OF_REPORTS);
    part.split("\n- ").skip(1).map(str::trim).collect()
}

/// The text under a heading of the second level.
fn part(document: &'static str, heading: &str) -> &'static str {
    let parts = document.split("\n## ").filter_map(|part| part.split_once('\n'));
    parts.into_iter().find(|(title, _)| *title == heading).map_or("", |(_, text)| text)
}

fn sections(document: &'static str, heading: &str) -> impl Iterator<Item = &'static str> {
    part(document, heading).split("\n### ").skip(1)
}

fn definition(part: &'static str, text: &'static str) -> Option<Definition> {
    let (title, rest) = text.split_once('\n')?;
    let (names, text) = rest.trim_start().strip_prefix("<!-- explains: ")?.split_once("-->")?;
    let text = text.trim();
    let short = text.split("\n\n").next()?;
    Some(Definition { part, title, names: names.trim().split(", ").collect(), short, text })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::check::CHECKERS;
    use crate::gate::FIGURES;

    #[test]
    fn every_section_of_the_parts_has_a_title_a_name_and_a_definition() {
        let all = all();
        let headings = parts().flat_map(|part| sections(METHODOLOGY, part)).count();
        assert_eq!(all.len(), headings, "a section without its line of names");
        assert!(parts().all(|part| all.iter().any(|definition| definition.part == part)));
        for definition in &all {
            assert!(!definition.names.is_empty() && definition.short.ends_with('.'), "{definition:?}");
        }
        let titles: BTreeSet<&str> = all.iter().map(|definition| definition.title).collect();
        assert_eq!(titles.len(), all.len(), "a title stands twice");
        assert!(biases().len() > 3);
    }

    #[test]
    fn every_check_and_every_figure_of_a_limit_has_a_definition() {
        for name in CHECKERS.iter().map(|checker| checker.name).chain(FIGURES.iter().map(|figure| figure.name)) {
            assert!(!of(name).is_empty(), "{name} has no definition in METHODOLOGY.md");
        }
    }

    #[test]
    fn the_figures_of_tune_have_definitions() {
        for name in ["false-failover", "false_failovers", "step-down", "step_downs_per_week", "downtime", "outage_ms"] {
            assert!(of(name).iter().any(|definition| definition.part == TUNE_PART), "{name}");
        }
    }
}
