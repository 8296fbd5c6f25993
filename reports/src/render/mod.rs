//! The reports: one HTML file, a summary for the terminal, and the same as JSON. All three show a [`Summary`] and measure
//! nothing anew. Strings from outside are cleaned here and escaped by whatever writes them.

mod advice;
mod by_fault;
pub(crate) mod clean;
pub(crate) mod compared;
mod comparison_table;
mod differing_parameters;
pub mod format;
mod league;
mod lines;
mod markup;
mod plots;
mod pool_table;
mod runs_page;
mod script;
mod templates;
mod terminal;
mod tune_page;
mod view;

pub use advice::advice;
pub use clean::{json as clean_json, line as clean_line, prose as clean_prose, short as clean_short};
pub use compared::{margin, side_names};
pub use comparison_table::{comparison, noise};
pub use league::league;
pub use plots::{COLOURED_RECIPES, PlotError};
pub use runs_page::runs_page;
pub use terminal::terminal;
pub use tune_page::tune_page;

use crate::summary::Summary;
use templates::filled;

/// Why there is no page. Both kinds are faults of this program, never of a record.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    #[error(
        "the report's template could not be filled: {0:#}; this is a fault of hustings, please report it with the record"
    )]
    Template(#[from] minijinja::Error),
    #[error(
        "a chart of the report could not be drawn: {0}; this is a fault of hustings, please report it with the record"
    )]
    Plot(#[from] PlotError),
}

/// The report as one self-contained HTML file: no network, nothing beside it, and one script, the replay's, which every figure
/// can be read without.
pub fn html(summary: &Summary) -> Result<String, RenderError> {
    let page = view::Page::new(summary)?;
    Ok(filled("report.html", &page)?)
}

/// `summary.json`: indented, keys in the order of the types, so that two of them can be compared line by line.
#[must_use]
pub fn json(summary: &Summary) -> String {
    let text = serde_json::to_string_pretty(summary).expect("a summary has only keys that are strings");
    let mut text = clean::json(text);
    text.push('\n');
    text
}
