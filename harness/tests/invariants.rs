//! The project's testable invariants: dependencies, access to the clock and the network, file lengths, the files at the
//! top, exhaustive matches on kinds of faults, and no path of a developer's machine in the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hustings_reports::render::COLOURED_RECIPES;
use hustings_workloads::recipes::RecipeKind;

/// Packages for a network, a clock, processes or a runtime. The pure packages depend on none of them.
const IMPURE: [&str; 16] = [
    "async-io",
    "axum",
    "chrono",
    "hustings",
    "hyper",
    "mio",
    "polling",
    "reqwest",
    "smol",
    "socket2",
    "testcontainers",
    "time",
    "tokio",
    "toxiproxy_rust",
    "ureq",
    "zookeeper-client",
];

/// Names that must not occur in sources of the pure packages.
const IMPURE_NAMES: [&str; 10] = [
    "std::net",
    "std::os::unix::net",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "Instant::now",
    "SystemTime::now",
    "tokio::",
    "async_io::",
];

const TOP: [&str; 10] = [
    "Cargo.toml",
    "Cargo.lock",
    "harness",
    "workloads",
    "reports",
    "ci",
    "docker-compose.yml",
    "README.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
];

const LINES_MAX: usize = 500;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// Files under `folder`, except those at the top that git ignores.
fn files(folder: &Path) -> Vec<PathBuf> {
    let ignored: Vec<PathBuf> = ignored_at_the_top().iter().map(|name| root().join(name)).collect();
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            let (path, kind) = (entry.path(), entry.file_type().expect("its type"));
            if ignored.contains(&path) || entry.file_name() == ".git" {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "nothing to look at in {}", folder.display());
    found.sort();
    found
}

fn ignored_at_the_top() -> Vec<String> {
    let text = fs::read_to_string(root().join(".gitignore")).expect("the ignore file");
    text.lines().filter_map(|line| Some(line.strip_prefix('/')?.trim_end_matches('/').to_owned())).collect()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    files(folder).into_iter().filter(|path| path.extension().is_some_and(|e| e == "rs")).collect()
}

/// Names of the packages that `package` depends on, without development dependencies.
fn reached_from(package: &str) -> BTreeSet<String> {
    let text = |arguments: &[&str]| {
        let program = if arguments[0] == "-vV" { "rustc" } else { env!("CARGO") };
        let output = Command::new(program).args(arguments).current_dir(root()).output().expect("it runs");
        assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let version = text(&["-vV"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("the host's triple");
    let metadata = text(&["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host]);
    let metadata: serde_json::Value = serde_json::from_str(&metadata).expect("JSON");
    let list = |value: &serde_json::Value| value.as_array().expect("a list").clone();
    let string = |value: &serde_json::Value| value.as_str().expect("a string").to_owned();
    let names: BTreeMap<String, String> =
        list(&metadata["packages"]).iter().map(|p| (string(&p["id"]), string(&p["name"]))).collect();
    let edges: BTreeMap<String, Vec<String>> = list(&metadata["resolve"]["nodes"])
        .iter()
        .map(|node| {
            let built_in = |dep: &&serde_json::Value| list(&dep["dep_kinds"]).iter().any(|k| k["kind"] != "dev");
            (string(&node["id"]), list(&node["deps"]).iter().filter(built_in).map(|dep| string(&dep["pkg"])).collect())
        })
        .collect();
    let start = names.iter().find(|(_, name)| *name == package).expect("the package").0;
    let (mut seen, mut open) = (BTreeSet::new(), vec![start.clone()]);
    while let Some(id) = open.pop() {
        if seen.insert(id.clone()) {
            open.extend(edges[&id].iter().cloned());
        }
    }
    seen.iter().map(|id| names[id].clone()).collect()
}

#[test]
fn workloads_and_reports_know_neither_each_other_nor_the_world() {
    for (package, other) in [("hustings-workloads", "hustings-reports"), ("hustings-reports", "hustings-workloads")] {
        let reached = reached_from(package);
        assert!(reached.contains("serde"), "{package} reaches {reached:?}: that is not all of it");
        for unwanted in IMPURE.iter().chain([&other]) {
            assert!(!reached.contains(*unwanted), "{package} depends on {unwanted}");
        }
    }
    let harness = reached_from("hustings");
    assert!(["hustings-workloads", "hustings-reports", "tokio"].iter().all(|package| harness.contains(*package)));
}

#[test]
fn pure_packages_name_no_clock_no_network_and_no_process() {
    for package in ["workloads", "reports"] {
        for path in rust_files(&root().join(package).join("src")) {
            let text = fs::read_to_string(&path).expect("source");
            for (number, line) in (1..).zip(text.lines()) {
                let code = line.split("//").next().unwrap_or_default();
                for name in IMPURE_NAMES {
                    assert!(!code.contains(name), "{}:{number} names {name}", path.display());
                }
            }
        }
    }
}

#[test]
fn no_source_file_is_longer_than_500_lines() {
    for path in rust_files(&root()) {
        let lines = fs::read_to_string(&path).expect("source").lines().count();
        assert!(lines <= LINES_MAX, "{} has {lines} lines", path.display());
    }
}

#[test]
fn only_known_things_lie_at_the_top() {
    let ignored = ignored_at_the_top();
    for entry in fs::read_dir(root()).expect("the workspace") {
        let name = entry.expect("an entry").file_name().into_string().expect("a name");
        let known = name.starts_with('.') || TOP.contains(&name.as_str()) || ignored.contains(&name);
        assert!(known, "{name} does not belong at the top");
    }
}

#[test]
fn every_ban_of_clippy_has_a_reason() {
    let configs: Vec<PathBuf> =
        files(&root()).into_iter().filter(|path| path.file_name().is_some_and(|n| n == ".clippy.toml")).collect();
    assert!(configs.len() >= 3, "the workspace and both pure packages have one: {configs:?}");
    for path in configs {
        let table: toml::Table = fs::read_to_string(&path).expect("text").parse().expect("TOML");
        let bans = table.iter().filter(|(key, _)| key.starts_with("disallowed-"));
        for ban in bans.flat_map(|(_, bans)| bans.as_array().expect("a list")) {
            let reason = ban.get("reason").and_then(|reason| reason.as_str()).unwrap_or_default();
            assert!(!reason.trim().is_empty(), "{}: {ban} has no reason", path.display());
        }
    }
}

#[test]
fn no_file_holds_a_path_of_a_developers_machine() {
    // Built here, so that this file does not contain them.
    let foreign = ["work", "root", "home"].map(|top| format!("/{top}/"));
    for path in files(&root()) {
        let bytes = fs::read(&path).expect("read");
        let text = String::from_utf8_lossy(&bytes);
        for top in &foreign {
            // Inside a longer path or an address, it is not a path of this machine.
            let begins = |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || "._-/})>*".contains(c));
            let found = text.match_indices(top.as_str()).any(|(at, _)| begins(at));
            assert!(!found, "{} holds a path under {top}", path.display());
        }
    }
}

#[test]
fn all_json_is_printed_by_what_escapes_its_texts() {
    for path in rust_files(&root().join("harness/src/cmd")) {
        let code: String = fs::read_to_string(&path).expect("source").split_whitespace().collect();
        for raw in ["say(serde_json::", "say(json!", "say(render::json"] {
            assert!(!code.contains(raw), "{}: {raw}…: call say_json", path.display());
        }
    }
}

/// Places where the compiler must report every match that a new kind of fault affects.
const FAULTS_ARE_KNOWN_IN: [&str; 5] =
    ["workloads/src", "workloads/tests", "harness/src", "reports/record/src", "reports/src"];

/// A match that names kinds of faults: its first line, and an arm in it that would take any other kind.
fn open_match(lines: &[&str], begin: usize) -> Option<usize> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(lines[begin]);
    let end = (begin + 1..lines.len()).find(|at| !lines[*at].trim().is_empty() && indent(lines[*at]) <= own)?;
    let arms: Vec<usize> = (begin + 1..end).filter(|at| indent(lines[*at]) == own + 4).collect();
    let names_kinds = |at: &&usize| {
        let pattern = lines[**at].split("=>").next().unwrap_or_default();
        pattern.contains("FaultKind::") || pattern.contains("Fault::")
    };
    let open = |at: &&usize| {
        let pattern = lines[**at].trim_start();
        pattern.starts_with("_ =>") || pattern.starts_with("_ if ") || pattern.starts_with("(_,")
    };
    arms.iter().find(names_kinds)?;
    arms.iter().find(open).copied()
}

#[test]
fn nothing_is_left_open_about_kinds_of_faults() {
    let files = FAULTS_ARE_KNOWN_IN.iter().flat_map(|folder| rust_files(&root().join(folder)));
    let mut found = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).expect("text");
        let lines: Vec<&str> = text.lines().collect();
        let place = |at: usize| format!("{}:{}", path.strip_prefix(root()).expect("below").display(), at + 1);
        let matches =
            (0..lines.len()).filter(|at| lines[*at].contains("match ") && lines[*at].trim_end().ends_with('{'));
        found.extend(matches.filter_map(|at| open_match(&lines, at)).map(|at| place(at) + ": any other kind"));
        // A list of kinds is a fact about them; such facts belong in their rows.
        let lists = lines.iter().enumerate().filter(|(_, line)| {
            line.contains("matches!(") && line.matches("FaultKind::").count() + line.matches(" Fault::").count() > 1
        });
        found.extend(lists.map(|(at, _)| place(at) + ": a list of kinds"));
    }
    assert_eq!(found, Vec::<String>::new(), "name every kind, or ask its row in reports/record/src/fault.rs");
}

#[test]
fn an_arm_for_any_other_kind_of_fault_is_found() {
    let text = "match kind {\n    FaultKind::Crash => 1,\n    _ => 2,\n}\n";
    let nested = "    let x = match (kind, n) {\n        (FaultKind::Crash, 1) => 1,\n        (_, n) => {\n            n\n        }\n    };\n";
    let fine = "match n {\n    1 => FaultKind::Crash,\n    _ => FaultKind::Pause,\n}\n";
    let at = |text: &str| open_match(&text.lines().collect::<Vec<_>>(), 0);
    assert_eq!((at(text), at(nested), at(fine)), (Some(2), Some(2), None));
}

#[test]
fn recipes_have_their_colours_in_the_order_of_their_registry() {
    let sound: Vec<&str> = RecipeKind::sound().map(RecipeKind::name).collect();
    assert!(sound.starts_with(&COLOURED_RECIPES), "{sound:?}");
}

/// The names of the public fields of a struct in this source.
fn fields(source: &str, name: &str) -> Vec<String> {
    let body = source.split(&format!("pub struct {name} {{")).nth(1).expect("the struct").split("\n}").next();
    let lines = body.expect("its fields").lines();
    lines.filter_map(|line| Some(line.trim().strip_prefix("pub ")?.split_once(':')?.0.to_owned())).collect()
}

#[test]
fn everything_that_is_known_of_a_cell_is_read_where_cells_are_run() {
    let source = |path: &Path| fs::read_to_string(path).expect("source");
    let cell = source(&root().join("workloads/src/scenario/cell.rs"));
    let fields = fields(&cell, "Cell");
    assert!(fields.iter().any(|field| field == "fsync") && fields.len() > 20, "{fields:?}");
    let mut run: Vec<PathBuf> = ["scenario/plan", "driver", "simulation"]
        .map(|part| format!("workloads/src/{part}"))
        .map(|at| rust_files(&root().join(at)))
        .concat();
    run.extend(rust_files(&root().join("harness/src")));
    let mut run: String = run.iter().map(|path| source(path)).collect();
    // Uses of fields by the cell's own functions count, too.
    run.push_str(cell.split("impl Cell").nth(1).expect("its functions"));
    let read = |field: &str| {
        run.match_indices(&format!(".{field}")).any(|(at, found)| {
            !run[at + found.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '(')
        })
    };
    // Fields that only checks use, not the code that runs a cell.
    let told = source(&root().join("workloads/src/scenario/info.rs"));
    let for_checkers = |field: &str| {
        ["expect", "self_test", "repetition", "contest"].contains(&field) && told.contains(&format!(".{field}"))
    };
    let idle: Vec<_> = fields.iter().filter(|field| !read(field) && !for_checkers(field)).collect();
    assert_eq!(idle, Vec::<&String>::new(), "these fields of a cell do nothing");
    assert!(!read("no_such_field"));
}
