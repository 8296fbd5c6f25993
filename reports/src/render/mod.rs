//! The reports: one HTML file, a summary for the terminal, and the same as JSON. All three show a [`Summary`] and measure
//! nothing anew. Strings from outside are cleaned here and escaped by whatever writes them.

mod advice;
mod apart;
pub(crate) mod clean;
mod comparison_table;
pub mod format;
mod league;
mod lines;
mod plots;
mod pool_table;
mod runs_page;
mod script;
pub(crate) mod state;
mod terminal;
mod tune_page;
mod view;

use minijinja::Environment;

pub use advice::advice;
pub use clean::line as clean_line;
pub use comparison_table::{comparison, noise};
pub use league::league;
pub use plots::PlotError;
pub use runs_page::runs_page;
pub use terminal::terminal;
pub use tune_page::tune_page;

use crate::summary::Summary;

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

/// Every part of the page, by the name under which the others include it. The ending turns escaping on.
const TEMPLATES: &[(&str, &str)] = &[
    ("report.html", include_str!("../../templates/report.html")),
    ("macros.html", include_str!("../../templates/macros.html")),
    ("answers.html", include_str!("../../templates/answers.html")),
    ("overview.html", include_str!("../../templates/overview.html")),
    ("costs.html", include_str!("../../templates/costs.html")),
    ("pools.html", include_str!("../../templates/pools.html")),
    ("cell.html", include_str!("../../templates/cell.html")),
    ("replay.html", include_str!("../../templates/replay.html")),
    ("how.html", include_str!("../../templates/how.html")),
    ("style.css", include_str!("../../templates/style.css")),
    ("replay.css", include_str!("../../templates/replay.css")),
];

/// The report as one self-contained HTML file: no network, nothing beside it, and one script, the replay's, which every figure
/// can be read without.
pub fn html(summary: &Summary) -> Result<String, RenderError> {
    let page = view::Page::new(summary)?;
    let mut environment = Environment::new();
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    Ok(environment.get_template("report.html")?.render(&page)?)
}

/// `summary.json`: indented, keys in the order of the types, so that two of them can be compared line by line.
#[must_use]
pub fn json(summary: &Summary) -> String {
    let mut text = serde_json::to_string_pretty(summary).expect("a summary has only keys that are strings");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::TEMPLATES;

    #[test]
    fn no_template_turns_escaping_off_or_asks_the_network() {
        for (name, source) in TEMPLATES {
            for word in
                ["|safe", "| safe", "autoescape", "<script", "http:", "https:", "url(", "@import", " src=", "style=\""]
            {
                assert!(!source.contains(word), "{name} contains {word}");
            }
        }
        let styles: Vec<_> = TEMPLATES.iter().filter(|(name, _)| name.ends_with(".css")).collect();
        assert!(!styles.is_empty(), "the page has a style sheet");
        for (name, style) in styles {
            assert!(!style.contains("{{") && !style.contains("{%"), "{name} is not escaped, so nothing may go in");
        }
    }
}
