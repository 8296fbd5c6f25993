//! Everything that a gate checks in a record, with the results.

use serde::Serialize;

use super::figures::FigureReading;
use super::limits::{Limit, Limits, LimitsError};
use crate::check::{CellSummary, Testability};
use crate::compare::{ComparedPair, Comparison, ComparisonReport, ComparisonVerdict, Measure};
use crate::render::compared::from_to;
use crate::render::format;
use crate::sound::{Configuration, counted_verdict, decided, is_of_base, of_all_sides};
use crate::summary::Summary;
use crate::verdict::Verdict;
use hustings_record::words::{plural, three_digits};
use hustings_record::{FaultKind, REPETITIONS_MAX};

/// Minimum of injections per configuration: with fewer, no comparison can find anything.
const INJECTIONS_MIN: u64 = 4;

/// The inputs of a gate.
pub struct GateRequirements<'a> {
    pub limits: Option<&'a Limits>,
    /// The record compared with its baseline.
    pub comparing: Option<&'a ComparisonReport>,
}

/// The result of a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GateResult {
    /// The gate opens for *pass* only.
    pub verdict: Verdict,
    pub run: String,
    pub scenario: String,
    /// Why no record of this plan can pass, whatever it shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hopeless: Option<String>,
    /// In what the record and its baseline are not alike: refusals to compare them that were overridden by force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forced: Vec<String>,
    /// Repetitions that are not judged: harness stalls spoilt them, and most of their configuration's are left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<ExcludedRepetition>,
    pub items: Vec<Item>,
}

impl GateResult {
    /// The items of each cell, in the order in which cells first appear; None: of the record.
    #[must_use]
    pub fn by_cell(&self) -> Vec<(Option<&str>, Vec<&Item>)> {
        let mut cells: Vec<(Option<&str>, Vec<&Item>)> = Vec::new();
        for item in &self.items {
            match cells.iter_mut().find(|(name, _)| *name == item.cell.as_deref()) {
                Some((_, items)) => items.push(item),
                None => cells.push((item.cell.as_deref(), vec![item])),
            }
        }
        cells
    }

    /// The items with this verdict.
    pub fn that_are(&self, verdict: Verdict) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(move |item| item.verdict == verdict)
    }

    /// Adds a remark to each compared figure that does not tell the two sides apart.
    pub fn remark_undecided(&mut self, remark: &str) {
        let is_figure = |item: &Item| Measure::ALL.iter().any(|measure| measure.name() == item.name);
        let compared = self.items.iter_mut().filter(|item| item.what == GateQuestion::Comparison && is_figure(item));
        for item in compared.filter(|item| item.verdict == Verdict::Inconclusive) {
            item.text.push_str("; ");
            item.text.push_str(remark);
        }
    }

    /// The items that did not pass, failures first.
    pub fn worst_first(&self) -> impl Iterator<Item = &Item> {
        self.that_are(Verdict::Fail).chain(self.that_are(Verdict::Inconclusive))
    }
}

/// A repetition that is left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExcludedRepetition {
    pub cell: String,
    /// The check that a stall left open, and how many repetitions decide without it.
    pub why: String,
}

/// One check of a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    /// Its cell; None for the record as a whole.
    pub cell: Option<String>,
    pub what: GateQuestion,
    /// Name of the check, of the limit's figure, or of the compared measure.
    pub name: String,
    pub verdict: Verdict,
    /// The observation and the requirement.
    pub text: String,
    /// Why a check that passed could not have failed on this cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_testable: Option<String>,
}

impl Item {
    fn new(cell: Option<&str>, what: GateQuestion, name: &str, verdict: Verdict, text: String) -> Self {
        Self { cell: cell.map(str::to_owned), what, name: name.to_owned(), verdict, text, not_testable: None }
    }

    /// `check liveness`, `limit failover_p50_ms`, `injections`.
    #[must_use]
    pub fn title(&self) -> String {
        let what = self.what.name();
        if self.name == what { self.name.clone() } else { format!("{what} {}", self.name) }
    }
}

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateQuestion {
    /// Of the record: whether it is whole, and its self-tests were caught.
    Record,
    Check,
    Injections,
    Limit,
    Comparison,
}

impl GateQuestion {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Check => "check",
            Self::Injections => "injections",
            Self::Limit => "limit",
            Self::Comparison => "comparison",
        }
    }
}

/// Checks everything. `like` says whether a cell's name matches a pattern. Of a record with two sides, only the new one
/// can fail. A base that fails leaves the gate inconclusive, since nothing can be compared with it.
///
/// # Errors
/// Limits that do not apply to this record.
pub fn gate(
    summary: &Summary,
    asked: &GateRequirements<'_>,
    like: impl Fn(&str, &str) -> bool,
) -> Result<GateResult, LimitsError> {
    // Self-test cells are meant to fail; the record's item says whether they did.
    let left_out = left_out(summary);
    let is_asked = |cell: &&CellSummary| !left_out.iter().any(|one| one.cell == cell.info.name);
    let judged: Vec<&CellSummary> = summary.cells.iter().filter(|cell| !cell.info.self_test).filter(is_asked).collect();
    let mut items = of_record(summary);
    items.extend(judged.iter().flat_map(|cell| of_checks(cell)));
    let least = asked.limits.and_then(|limits| limits.injections).unwrap_or(INJECTIONS_MIN);
    let counted = counted(summary, &judged);
    items.extend(counted.iter().map(|one| injections(one, least)));
    if let Some(limits) = asked.limits {
        let limited: Vec<&CellSummary> = judged.iter().copied().filter(|cell| !is_of_base(cell)).collect();
        items.extend(limits.on(&limited, like)?.iter().map(of_limit));
    }
    if let Some(comparing) = asked.comparing {
        items.extend(comparing.pairs.iter().flat_map(of_pair));
        items.extend(comparing.doubt.as_deref().map(of_doubt));
    }
    let verdict = items.iter().map(|item| item.verdict).fold(decided(summary), Verdict::merge);
    let verdict = if judged.is_empty() { verdict.merge(Verdict::Inconclusive) } else { verdict };
    let (run, scenario) = (summary.manifest.run.clone(), summary.manifest.scenario.clone());
    let hopeless = hopeless(&counted, least);
    let forced = asked.comparing.map_or_else(Vec::new, |comparing| comparing.forced.clone());
    Ok(GateResult { verdict, run, scenario, hopeless, forced, left_out, items })
}

fn left_out(summary: &Summary) -> Vec<ExcludedRepetition> {
    let of = |cell: &CellSummary, (left, all): (usize, usize)| {
        let open = cell.checks.iter().find(|check| check.verdict == Verdict::Inconclusive);
        let open = open.map_or_else(String::new, |check| format!(" ({}: {})", check.name, check.reason()));
        let why = format!("a stall of the harness spoilt it{open}; the other {left} of {all} repetitions decide");
        ExcludedRepetition { cell: cell.info.name.clone(), why }
    };
    let of_one = |one: Configuration<'_>| {
        let counts = (one.cells.len(), one.all().count());
        one.left_out.into_iter().map(move |cell| of(cell, counts)).collect::<Vec<_>>()
    };
    of_all_sides(summary).flat_map(of_one).collect()
}

/// The record's own verdict, besides those of its cells.
fn of_record(summary: &Summary) -> Vec<Item> {
    let verdict = summary.whole;
    let doubtful = verdict > Verdict::Pass;
    let text = match summary.notes.first() {
        Some(note) if doubtful => note.clone(),
        _ => format!("{} of {} cells", summary.cells.len(), summary.manifest.cells_planned),
    };
    vec![Item::new(None, GateQuestion::Record, "whole", verdict, text)]
}

fn of_checks(cell: &CellSummary) -> impl Iterator<Item = Item> {
    cell.checks.iter().map(move |check| {
        let verdict = counted_verdict(cell, check.verdict);
        let why = if verdict < check.verdict { "the base fails, so nothing can be compared with it: " } else { "" };
        let text = format!("{why}{}", check.reason());
        let mut item = Item::new(Some(&cell.info.name), GateQuestion::Check, &check.name, verdict, text);
        if let Some(Testability::NotTestableHere(reasons)) = &check.testability {
            item.not_testable = Some(reasons.join("; "));
        }
        item
    })
}

/// A configuration with candidates: its planned faults over all repetitions, and its injections.
struct ConfigurationCount<'a> {
    name: &'a str,
    planned: u64,
    seen: u64,
    /// Whether all its repetitions in the record were measured.
    measured: bool,
    /// Repetitions that are not in the record.
    missing: u32,
}

/// Planned faults are those of all cells; injections are those of judged cells.
fn counted<'a>(summary: &'a Summary, asked: &[&CellSummary]) -> Vec<ConfigurationCount<'a>> {
    let mut counted: Vec<ConfigurationCount<'_>> = Vec::new();
    for cell in summary.cells.iter().filter(|cell| !cell.info.self_test && cell.info.has_candidates()) {
        let name = cell.info.configuration();
        let is_asked = asked.iter().any(|one| one.info.index == cell.info.index);
        let (planned, seen) = (cell.faults.planned, if is_asked { cell.injections.len() as u64 } else { 0 });
        let measured = planned > 0 || cell.info.fault_kind == FaultKind::None;
        match counted.iter_mut().find(|one| one.name == name) {
            Some(one) => {
                (one.planned, one.seen, one.measured) =
                    (one.planned + planned, one.seen + seen, one.measured && measured);
                one.missing = one.missing.saturating_sub(1);
            }
            None => {
                let missing = cell.info.repetition.as_ref().map_or(0, |repetition| repetition.count.saturating_sub(1));
                counted.push(ConfigurationCount { name, planned, seen, measured, missing });
            }
        }
    }
    counted
}

/// Reports configurations whose plan has fewer faults than the required injections, if any.
fn hopeless(counted: &[ConfigurationCount<'_>], least: u64) -> Option<String> {
    // The plan of a repetition that is missing, or that was never measured, is not in the record.
    let whole = || counted.iter().filter(|one| one.measured && one.missing == 0);
    let few = || whole().filter(|one| one.planned < least && one.seen < least);
    let ConfigurationCount { name, planned, .. } = few().min_by_key(|one| one.planned)?;
    let more = match *planned {
        0 => "repeating it plans none".to_owned(),
        planned if least.div_ceil(planned) > u64::from(REPETITIONS_MAX) => "no run repeats it often enough".to_owned(),
        planned => format!("--repeat {} plans enough", least.div_ceil(planned)),
    };
    Some(format!(
        "no record of this plan can pass: {} of {} plan fewer than {least} faults ({name}: {planned}); {more}, and \
         the scenario gate is made for it",
        few().count(),
        plural(counted.len() as u64, "configuration", "configurations"),
    ))
}

fn injections(ConfigurationCount { name, seen, .. }: &ConfigurationCount<'_>, least: u64) -> Item {
    let verdict = if *seen < least { Verdict::Inconclusive } else { Verdict::Pass };
    let text = format!("{} cost a lead, {least} are asked for", plural(*seen, "injection", "injections"));
    Item::new(Some(name), GateQuestion::Injections, "injections", verdict, text)
}

fn of_limit(limit: &Limit<'_>) -> Item {
    let Limit { cell, figure, read, most } = limit;
    let allowed = three_digits(*most);
    let (verdict, [seen, allowed]) = match read {
        FigureReading::Value(value) if value <= most => (Verdict::Pass, [three_digits(*value), allowed]),
        FigureReading::Value(value) => (Verdict::Fail, distinct_texts(*value, *most)),
        // Longer than anything that ended: over any limit.
        FigureReading::Hidden => (Verdict::Fail, ["more than was seen to end".to_owned(), allowed]),
        FigureReading::Missing => (Verdict::Inconclusive, ["not there".to_owned(), allowed]),
    };
    let text = format!("{seen}, at most {allowed} is allowed");
    Item::new(Some(&cell.info.name), GateQuestion::Limit, figure.name, verdict, text)
}

/// A figure and its limit, which differ: with three digits each, or with as many as it takes for the texts to differ.
fn distinct_texts(value: f64, limit: f64) -> [String; 2] {
    let both = [value, limit];
    let longer = (1..=6).map(|decimals| both.map(|one| format!("{one:.decimals$}")));
    let mut texts = [both.map(three_digits)].into_iter().chain(longer);
    texts.find(|[value, limit]| value != limit).unwrap_or_else(|| both.map(|one| one.to_string()))
}

fn of_pair(pair: &ComparedPair) -> Vec<Item> {
    let item = |name: &str, verdict, text| Item::new(Some(&pair.name), GateQuestion::Comparison, name, verdict, text);
    // A figure that may be better or the same, and certainly is no worse, passes.
    let judged = |found: &Comparison| if found.no_worse { Verdict::Pass } else { found.answer.verdict() };
    let compared = |found: &Comparison| item(found.measure.name(), judged(found), in_words(found));
    let why = pair.why.as_ref().map(|why| item("verdict", pair.answer.verdict(), why.clone()));
    why.into_iter().chain(pair.comparisons.iter().map(compared)).collect()
}

fn of_doubt(why: &str) -> Item {
    Item::new(None, GateQuestion::Comparison, "all", Verdict::Inconclusive, why.to_owned())
}

fn in_words(found: &Comparison) -> String {
    let by = found
        .relative()
        .map_or_else(String::new, |by| format!(" by {} % of the baseline's median", format::signed(by * 100.0)));
    let by = format!("{by} ({})", from_to(found));
    let needs = found.needs.map_or_else(String::new, |needs| {
        format!("; {} a side would", plural(needs, "more injection", "more injections"))
    });
    let injections =
        format!("{} against {}", found.new.injections, plural(found.base.injections, "injection", "injections"));
    match found.answer {
        ComparisonVerdict::CannotTell if found.no_worse => format!("no worse{by}, {injections}"),
        ComparisonVerdict::CannotTell => format!("cannot tell from {injections}{needs}"),
        answer => format!("{}{by}, p {}, {injections}", answer.words(), format::share(found.p_holm)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_over_its_limit_has_as_many_digits_as_tell_the_two_apart() {
        for (value, limit, texts) in [
            (1090.0, 1089.6, ["1090.0", "1089.6"]),
            (1089.64, 1089.6, ["1089.64", "1089.60"]),
            (0.002, 0.001, ["0.002", "0.001"]),
            (30.000_000_02, 30.000_000_01, ["30.00000002", "30.00000001"]),
            (31.0, 30.0, ["31.0", "30.0"]),
        ] {
            assert_eq!(distinct_texts(value, limit), texts.map(str::to_owned));
        }
    }

    #[test]
    fn a_plan_is_too_small_only_where_all_its_repetitions_are_in_the_record() {
        let of = |missing| ConfigurationCount { name: "crash", planned: 2, seen: 2, measured: true, missing };
        assert_eq!(hopeless(&[of(4)], 4), None);
        insta::assert_snapshot!(hopeless(&[of(0)], 4).unwrap_or_default(), @"no record of this plan can pass: 1 of 1 configuration plan fewer than 4 faults (crash: 2); --repeat 2 plans enough, and the scenario gate is made for it");
    }
}
