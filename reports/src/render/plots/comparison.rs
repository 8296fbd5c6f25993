//! Cells that may share one plot: those of one fault, one T and one size. A plot never holds more curves than readers
//! can distinguish.

use std::collections::BTreeMap;

use super::canvas::{Figure, PlotError};
use super::ecdf::{Curve, Plot};
use super::palette::Palette;
use crate::render::differing_parameters::DifferingParameters;
use crate::render::{clean, format};
use crate::summary::{CellSummary, Distribution, Summary};

/// Limit on the curves in one plot.
const CURVES_MAX: usize = 8;

/// Cells in groups of one fault, one T and one size, each with the words for its title. In the order of the run.
pub(crate) fn alike(summary: &Summary) -> Vec<(String, Vec<&CellSummary>)> {
    let mut first_seen: BTreeMap<(&str, u64, u32), usize> = BTreeMap::new();
    let mut groups: Vec<(String, Vec<&CellSummary>)> = Vec::new();
    for cell in &summary.cells {
        let t = cell.timeout_ms.unwrap_or(cell.info.timeout_asked_ms);
        let key = (cell.info.fault.as_str(), t, cell.info.candidates_per_group);
        let at = *first_seen.entry(key).or_insert_with(|| {
            let title = format!(
                "{}, T = {}, {} a group",
                clean::short(&cell.info.fault, 40),
                format::setting_ms(t),
                format::plural(cell.info.candidates_per_group.into(), "candidate", "candidates")
            );
            groups.push((title, Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push(cell);
    }
    groups
}

/// One plot of cumulative curves for every group of cells that are alike.
pub(crate) fn ecdfs(
    summary: &Summary,
    what: &str,
    x_title: &'static str,
    mark_t: bool,
    of: impl Fn(&CellSummary) -> Option<&Distribution>,
) -> Result<Vec<Figure>, PlotError> {
    let palette = Palette::of(summary);
    let mut figures = Vec::new();
    for (title, cells) in alike(summary) {
        let with_samples: Vec<&CellSummary> =
            cells.iter().copied().filter(|cell| of(cell).is_some_and(|d| !d.curve.is_empty())).collect();
        let parts = with_samples.len().div_ceil(CURVES_MAX);
        let apart = DifferingParameters::of(with_samples.iter().copied());
        for (i, part) in with_samples.chunks(CURVES_MAX).enumerate() {
            let curves = part.iter().zip(palette.styles(part)).filter_map(|(cell, (colour, dash))| {
                Some(Curve { label: apart.label(cell, &[]), colour, dash, distribution: of(cell)? })
            });
            let suffix = if parts > 1 { format!(" ({} of {parts})", i + 1) } else { String::new() };
            let t = part.first().and_then(|cell| cell.timeout_ms).filter(|_| mark_t);
            let plot = Plot {
                title: format!("{what}: {title}{suffix}"),
                x_title,
                curves: curves.collect(),
                mark: t.map(|ms| (ms.saturating_mul(1_000_000), "T")),
            };
            figures.push(plot.draw()?);
        }
    }
    Ok(figures)
}
