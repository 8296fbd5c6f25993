//! A cell in the schema of the record.

use std::collections::BTreeMap;

use hustings_record::{CellInfo, FindingKind, LinkUse, PROGRAM_PARAMETER};
use toml::Value;

use super::cell::Cell;
use super::schema::Paths;
use crate::recipes::cases;

impl Cell {
    /// The findings that must catch a self-test.
    fn must_show(&self) -> Vec<FindingKind> {
        let case = cases().iter().find(|case| self.self_test && self.recipe.is(case.recipe));
        case.map_or_else(Vec::new, |case| case.caught.to_vec())
    }

    /// Its resolved parameters as the record keeps them, for hosts that reach the servers in this way. `own_servers`:
    /// the run started the servers.
    #[must_use]
    pub fn info(&self, links: LinkUse, own_servers: bool) -> CellInfo {
        CellInfo {
            index: self.index,
            name: self.name.clone(),
            repetition: self.repetition.clone(),
            contest: self.contest.clone(),
            recipe: self.recipe.to_string(),
            declared: self.declares(),
            step_down: self.policy(),
            fault: self.fault_name.clone(),
            fault_kind: self.fault.kind(),
            groups: self.group_names.clone(),
            hosts: self.host_names.clone(),
            candidates_per_group: self.candidates_per_group,
            timeout_asked_ms: self.session_timeout_ms,
            tick_ms: self.tick_ms,
            servers: self.servers,
            own_servers,
            sessions: self.sessions,
            links,
            fencing: self.resource,
            work_interval_ms: self.work_interval_ms,
            expect: self.expect.clone(),
            self_test: self.self_test,
            must_show: self.must_show(),
            fencing_method: self.fencing,
            poll_interval_ms: self.poll_interval_ms,
            rejoin_after_ms: Some(self.rejoin_after_ms),
            init_limit: self.init_limit,
            sync_limit: self.sync_limit,
            parameters: self.parameters(),
        }
    }

    /// Parameters that the record's other fields do not contain: of faults and phases, by name, and a program's
    /// command.
    fn parameters(&self) -> BTreeMap<String, String> {
        let mut told = BTreeMap::new();
        let mut add = |name: &str, value: Result<Value, toml::ser::Error>| {
            if let Ok(value) = value {
                flatten(name, &value, &mut told);
            }
        };
        add("fault", Value::try_from(&self.fault));
        if let Some(with) = &self.with {
            add("with", Value::try_from(with));
        }
        add("phases", Value::try_from(&self.phases));
        add("connect_concurrency", Value::try_from(self.connect_concurrency));
        add("fsync", Value::try_from(self.fsync));
        if self.witness {
            add("witness", Value::try_from(true));
        }
        if self.equal_paths {
            add("paths", Value::try_from(Paths::Equal));
        }
        if let Some(program) = &self.program {
            add(PROGRAM_PARAMETER, Value::try_from(program.command.join(" ")));
        }
        told
    }
}

/// Each value of a table with its dotted name.
fn flatten(name: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Table(fields) => {
            fields.iter().for_each(|(field, value)| flatten(&format!("{name}.{field}"), value, into));
        }
        Value::String(text) => _ = into.insert(name.to_owned(), text.clone()),
        other => _ = into.insert(name.to_owned(), other.to_string()),
    }
}
