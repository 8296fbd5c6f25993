//! JSON schemas of what other programs read.

use hustings_record::Event;
use schemars::{Schema, schema_for};

use crate::summary::Summary;

/// That of `summary.json`.
#[must_use]
pub fn of_summary() -> String {
    text(&schema_for!(Summary))
}

/// That of each line of a record's segments.
#[must_use]
pub fn of_events() -> String {
    text(&schema_for!(Event))
}

fn text(schema: &Schema) -> String {
    let mut text = serde_json::to_string_pretty(schema).expect("a schema has only keys that are strings");
    text.push('\n');
    text
}
