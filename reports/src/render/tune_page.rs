//! The answer to how long a session timeout should be, as a page.

use minijinja::{Value, context};

use super::advice::{COSTS, band, cost, headline, legend, reasons, worth_showing};
use super::plots::{expiry, front};
use super::templates::filled;
use super::{RenderError, clean};
use crate::tune::{Advice, Band};

/// Heads of the table of what was measured.
const MEASURED: [&str; 6] = ["pause / T", "sessions", "expired", "95 %", "fitted", "model"];

/// One self-contained file: no network, no script, nothing beside it. `measured` are the bands of what was measured; `notes` say on
/// what it rests.
///
/// # Errors
/// Faults of this program.
pub fn tune_page(advice: &Advice, measured: &[Band], notes: &[String]) -> Result<String, RenderError> {
    let figures = [expiry(advice, measured)?.svg("expiry"), front(advice)?.svg("front")];
    let rows = worth_showing(advice).iter().map(|row| {
        context! { cells => cost(row, advice), recommended => row.timeout_ms == advice.recommended.timeout_ms }
    });
    let page = context! {
        headline => headline(advice),
        reasons => reasons(advice),
        warnings => advice.warnings,
        notes => notes.iter().map(|note| clean::line(note)).collect::<Vec<_>>(),
        figures => figures.map(Value::from_safe_string),
        costs => COSTS,
        legend => legend(advice),
        rows => rows.collect::<Vec<_>>(),
        heads => MEASURED,
        measured => measured.iter().map(band).collect::<Vec<_>>(),
    };
    Ok(filled("tune.html", page)?)
}
