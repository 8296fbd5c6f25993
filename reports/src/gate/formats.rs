//! Figures for services that keep a history: the Bencher Metric Format, and github-action-benchmark's "smaller is better".

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::figures::{FIGURES, Figure, FigureReading, FigureSource};
use crate::summary::Summary;

/// Every known figure of every configuration; a figure that censoring hides has no value.
fn values(summary: &Summary) -> impl Iterator<Item = (&str, &'static Figure, f64)> {
    FigureSource::all(summary).into_iter().flat_map(|of| {
        FIGURES.iter().filter_map(move |figure| match figure.of(&of) {
            FigureReading::Value(value) => Some((of.name, figure, value)),
            FigureReading::Hidden | FigureReading::Missing => None,
        })
    })
}

/// As the Bencher Metric Format has it: benchmark, measure, value.
#[must_use]
pub fn bencher(summary: &Summary) -> Value {
    let mut cells: BTreeMap<&str, BTreeMap<&str, Value>> = BTreeMap::new();
    for (cell, figure, value) in values(summary) {
        cells.entry(cell).or_default().insert(figure.name, json!({ "value": value }));
    }
    json!(cells)
}

/// As github-action-benchmark reads it with `tool: customSmallerIsBetter`.
#[must_use]
pub fn benchmark_action(summary: &Summary, commit: &str) -> Value {
    let extra =
        if commit.is_empty() { summary.manifest.run.clone() } else { format!("{} of {commit}", summary.manifest.run) };
    let entry = |(cell, figure, value): (&str, &Figure, f64)| {
        let name = format!("{cell} {}", figure.name);
        json!({ "name": name, "unit": figure.unit, "value": value, "extra": extra })
    };
    values(summary).map(entry).collect()
}
