//! Names of faults and ids of servers wherever they are mentioned, and faults that hit together.

use super::{HOUR_MS, add, within};
use crate::scenario::error::{Problem, nearest};
use crate::scenario::fault::FaultSpec;
use crate::scenario::schema::Scenario;
use hustings_record::FaultKind;

/// Whether everything that the matrix, the expectations and other faults mention exists.
pub(super) fn check(scenario: &Scenario, found: &mut Vec<Problem>) {
    let mut known: Vec<String> = scenario.faults.keys().cloned().collect();
    for (name, fault) in &scenario.faults {
        with(scenario, name, fault, &known, found);
    }
    // A control needs no entry.
    known.push("none".to_owned());
    if let Some(test) = &scenario.self_test {
        if !test.recipe.is_broken() {
            let remedy = "choose one whose name begins with `broken:`; see `hustings list`";
            let what = format!("`{}` is not broken: there is nothing to catch", test.recipe);
            add(found, "self_test.recipe", what, remedy);
        }
        let run = crate::scenario::expand::fault_names(scenario);
        if let Some(fault) = test.fault.as_ref().filter(|fault| !run.contains(fault)) {
            unknown("self_test.fault", fault, &run, found);
        }
    }
    let keys = std::iter::once("matrix.fault".to_owned()).chain((1..).map(|place| format!("also[{place}].fault")));
    let in_matrix = keys.zip(scenario.matrices()).filter_map(|(key, matrix)| Some((key, matrix.fault.as_ref()?)));
    let in_expect = scenario.expect.iter().enumerate();
    let in_expect =
        in_expect.filter_map(|(i, e)| Some((format!("expect[{}].when.fault", i + 1), e.when.fault.as_ref()?)));
    for (key, axis) in in_matrix.chain(in_expect) {
        for name in axis.0.iter().filter(|name| !known.contains(name)) {
            unknown(&key, name, &known, found);
        }
    }
}

fn unknown(key: &str, name: &str, known: &[String], found: &mut Vec<Problem>) {
    let nearest = nearest(name, known).map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
    add(found, key, format!("there is no fault `{name}`"), format!("{nearest}there are {}", known.join(", ")));
}

/// The fault that hits with another one: it must exist, must do something, and must end the chain.
fn with(scenario: &Scenario, name: &str, fault: &FaultSpec, known: &[String], found: &mut Vec<Problem>) {
    let key = |field: &str| format!("faults.{name}.{field}");
    let Some(with) = &fault.with else {
        if fault.with_after_ms.is_some() {
            add(found, &key("with_after_ms"), "has no meaning without with", "name the other fault in with");
        }
        return;
    };
    if let Some(after) = fault.with_after_ms {
        within(found, &key("with_after_ms"), after, 0, HOUR_MS);
    }
    let key = key("with");
    if fault.kind() == FaultKind::None {
        return add(found, &key, "has no meaning for none, a control", "leave it out");
    }
    if with == name {
        return add(found, &key, "names the fault itself", "name another one");
    }
    match scenario.faults.get(with) {
        None => unknown(&key, with, known, found),
        Some(other) if other.with.is_some() => {
            let what = format!("`{with}` has a with of its own");
            add(found, &key, what, "let two faults hit together, no more");
        }
        Some(other) if other.kind() == FaultKind::None => {
            add(found, &key, format!("`{with}` does nothing"), "name another fault, or leave it out");
        }
        Some(_) => {}
    }
}
