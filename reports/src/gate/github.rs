//! Workflow commands that GitHub shows beside a job.

use super::items::{GateResult, Item};
use crate::render::clean;
use crate::verdict::Verdict;

/// GitHub shows this many of a kind per step; the last one gives the number of the others.
const SHOWN_MAX: usize = 10;

/// One line per item that did not pass: failures as errors, inconclusive ones as warnings.
#[must_use]
pub fn annotations(gated: &GateResult) -> String {
    [(Verdict::Fail, "error"), (Verdict::Inconclusive, "warning")]
        .into_iter()
        .map(|(verdict, kind)| of(gated, verdict, kind))
        .collect()
}

fn of(gated: &GateResult, verdict: Verdict, kind: &str) -> String {
    let all: Vec<&Item> = gated.that_are(verdict).collect();
    let shown = if all.len() > SHOWN_MAX { SHOWN_MAX - 1 } else { all.len() };
    let mut text = String::new();
    for item in &all[..shown] {
        let title = format!("{}: {}", item.cell.as_deref().unwrap_or("record"), item.title());
        text.push_str(&format!("::{kind} title={}::{}\n", property(&title), data(&item.text)));
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
