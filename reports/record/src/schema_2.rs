//! Records of schema 2: what they said otherwise is put into today's words before it is read, events line by line.

use serde_json::{Map, Value, json};

use crate::ensemble::EnsembleKind;
use crate::manifest::SCHEMA;
use crate::warning::{Warning, WarningKind};

/// The schema that this reads.
pub(crate) const SCHEMA_2: u32 = 2;

/// An event of schema 2, as it would be written today.
pub(crate) fn upgrade_event(mut event: Value) -> Value {
    let Some(fields) = event.as_object_mut() else { return event };
    match fields.get("e").and_then(Value::as_str) {
        Some("left") => {
            let delete = fields.remove("delete").unwrap_or(Value::Null);
            if let Some(how) = fields.get_mut("how") {
                *how = departure(how.take(), delete);
            }
        }
        Some("notified") if fields.get("kind").is_some_and(|kind| kind == "session-ended") => {
            fields.insert("kind".into(), json!("expired"));
        }
        Some("cell") => {
            if let Some(info) = fields.get_mut("info").and_then(Value::as_object_mut) {
                cell(info);
            }
        }
        _ => {}
    }
    event
}

/// A manifest of schema 2, as it would be written today.
pub(crate) fn upgrade_manifest(mut manifest: Value) -> Value {
    let Some(fields) = manifest.as_object_mut() else { return manifest };
    fields.insert("schema".into(), json!(SCHEMA));
    let described = fields.get("ensemble").and_then(Value::as_str).unwrap_or_default();
    let kind = EnsembleKind::ALL.iter().find(|kind| described.split(':').next() == Some(kind.name()));
    fields.insert("ensemble_kind".into(), json!(kind));
    if let Some(warnings) = fields.get_mut("warnings").and_then(Value::as_array_mut) {
        for warning in warnings {
            if let Some(text) = warning.as_str() {
                *warning = json!(Warning::new(kind_of_warning(text), text));
            }
        }
    }
    manifest
}

/// By how such warnings began. All others were the scenario's.
fn kind_of_warning(text: &str) -> WarningKind {
    let begins = [
        ("simulated: ", WarningKind::Modelled),
        ("embedded ensemble: ", WarningKind::Modelled),
        ("the scenario asks for ", WarningKind::AsFound),
        ("a session timeout of ", WarningKind::TimeoutNotGranted),
        ("the run was aborted: ", WarningKind::Aborted),
    ];
    begins.into_iter().find(|(begin, _)| text.starts_with(begin)).map_or(WarningKind::Scenario, |(_, kind)| kind)
}

/// Nothing said how a session had ended; all that ended under a candidate had expired, or had been given up as such.
fn departure(how: Value, delete: Value) -> Value {
    match how.as_str() {
        Some("resigned") => json!({ "resigned": { "delete": delete } }),
        Some("session-ended") => json!({ "session-ended": "expired" }),
        _ => how,
    }
}

/// What was worth showing stood under free names; what recipes promise was known to the reader.
fn cell(info: &mut Map<String, Value>) {
    let extra = info.remove("extra").unwrap_or_default();
    let text = |key: &str| extra.get(key).and_then(Value::as_str);
    let number = |key: &str| text(key).and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    info.insert("fencing_method".into(), json!(text("fencing of the old active").unwrap_or("none")));
    info.insert("poll_interval_ms".into(), json!(number("poll interval").unwrap_or(0)));
    for key in ["init_limit", "sync_limit"] {
        if let Some(ticks) = number(key) {
            info.insert(key.into(), json!(ticks));
        }
    }
    let promised = match info.get("recipe").and_then(Value::as_str) {
        Some("predecessor-watch") => json!("one"),
        Some("naive" | "lock-race") => json!("all-others"),
        Some("poll-race") => json!("none"),
        _ => Value::Null,
    };
    if let Some(expect) = info.get_mut("expect").and_then(Value::as_object_mut) {
        let told = expect.entry("fan_out").or_insert(Value::Null);
        if told.is_null() {
            *told = promised;
        }
    }
}
