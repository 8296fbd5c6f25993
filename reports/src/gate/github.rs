//! Workflow commands that GitHub shows beside a job.

use super::items::GateResult;
use crate::render::clean;
use crate::verdict::Verdict;

/// GitHub shows this many of a kind per step; the last one gives the number of the others.
const SHOWN_MAX: usize = 10;

/// One line per item that did not pass: failures as errors, inconclusive ones as warnings. What was compared by force is a
/// notice.
#[must_use]
pub fn annotations(gated: &GateResult) -> String {
    let forced = gated.forced.iter().map(|forced| ("baseline".to_owned(), format!("compared all the same: {forced}")));
    [
        ("error", of_items(gated, Verdict::Fail)),
        ("warning", of_items(gated, Verdict::Inconclusive)),
        ("notice", forced.collect()),
    ]
    .into_iter()
    .map(|(kind, all)| of_kind(kind, &all))
    .collect()
}

/// The titles and texts of the items with this verdict.
fn of_items(gated: &GateResult, verdict: Verdict) -> Vec<(String, String)> {
    let titled = |cell: Option<&str>, title: &str| format!("{}: {title}", cell.unwrap_or("record"));
    gated.that_are(verdict).map(|item| (titled(item.cell.as_deref(), &item.title()), item.text.clone())).collect()
}

fn of_kind(kind: &str, all: &[(String, String)]) -> String {
    let shown = if all.len() > SHOWN_MAX { SHOWN_MAX - 1 } else { all.len() };
    let mut text = String::new();
    for (title, item) in &all[..shown] {
        text.push_str(&format!("::{kind} title={}::{}\n", property(title), data(item)));
    }
    if shown < all.len() {
        text.push_str(&format!("::{kind} title=hustings gate::and {} more\n", all.len() - shown));
    }
    text
}

/// Escapes characters that would end the command. The log that shows it obeys control characters.
fn data(text: &str) -> String {
    clean::prose(text).replace('%', "%25").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
