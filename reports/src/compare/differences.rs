//! What two configurations differ in, besides their names.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::check::CellSummary;
use hustings_record::{CellInfo, Manifest, PROGRAM_PARAMETER};

/// Fields that only identify a cell within its run, or describe other fields in words.
const NAMES: [&str; 5] = ["index", "name", "repetition", "contest", "fault"];

/// One parameter that differs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Difference {
    pub key: String,
    pub base: String,
    pub new: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} against {}", self.key, self.base, self.new)
    }
}

/// Differences of two cells: all that they were configured with, and the negotiated timeout.
pub(super) fn of_cells(base: &CellSummary, new: &CellSummary) -> Vec<Difference> {
    let mut found = of_values(&fields(&base.info), &fields(&new.info));
    let granted = |cell: &CellSummary| cell.timeout_ms.map_or_else(|| "unknown".to_owned(), |ms| ms.to_string());
    add(&mut found, "T in ms", granted(base), granted(new));
    found
}

/// Differences of two runs in other conditions of their figures.
pub(super) fn of_runs(base: &Manifest, new: &Manifest) -> Vec<Difference> {
    let mut found = Vec::new();
    add(&mut found, "ensemble", base.ensemble_kind.to_string(), new.ensemble_kind.to_string());
    add(&mut found, "ZooKeeper", base.ensemble_version.clone(), new.ensemble_version.clone());
    add(&mut found, "processor", base.machine.cpu.clone(), new.machine.cpu.clone());
    add(&mut found, "cores", base.machine.cores.to_string(), new.machine.cores.to_string());
    found
}

fn add(found: &mut Vec<Difference>, key: &str, base: String, new: String) {
    if base != new {
        found.push(Difference { key: key.to_owned(), base, new });
    }
}

fn fields(info: &CellInfo) -> Map<String, Value> {
    match serde_json::to_value(info) {
        Ok(Value::Object(mut fields)) => {
            NAMES.iter().for_each(|name| _ = fields.remove(*name));
            let mut all = flat(&fields);
            // Programs are what is compared, and often lie at another path. The sides are named by them.
            all.remove(&format!("parameters.{PROGRAM_PARAMETER}"));
            all
        }
        _ => Map::new(),
    }
}

/// Flattens nested fields.
fn flat(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut all = Map::new();
    for (key, value) in fields {
        match value {
            Value::Object(inner) => {
                all.extend(flat(inner).into_iter().map(|(name, value)| (format!("{key}.{name}"), value)))
            }
            other => _ = all.insert(key.clone(), other.clone()),
        }
    }
    all
}

fn of_values(base: &Map<String, Value>, new: &Map<String, Value>) -> Vec<Difference> {
    let keys: std::collections::BTreeSet<&String> = base.keys().chain(new.keys()).collect();
    let mut found = Vec::new();
    for key in keys {
        let told = |fields: &Map<String, Value>| match fields.get(key) {
            None => "untold".to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(items)) if items.len() > 3 => format!("{} of them", items.len()),
            Some(value) => value.to_string(),
        };
        if base.get(key) != new.get(key) {
            let (base, new) = (told(base), told(new));
            // Long lists are shown by their length alone.
            let new = if base == new { "others".to_owned() } else { new };
            add(&mut found, key, base, new);
        }
    }
    found
}
