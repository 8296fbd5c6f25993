//! The generated parts of the documents match the program's current output. `ci/documents.sh` rewrites them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hustings_record::FaultKind;
use hustings_workloads::adapters::ADAPTERS;
use hustings_workloads::recipes::{RecipeKind, cases};
use hustings_workloads::scenario::SHIPPED;

const DOCUMENTS: [&str; 4] = ["README.md", "harness/README.md", "workloads/README.md", "reports/METHODOLOGY.md"];
/// A generated part begins after a line like `<!-- generated: NAME -->`.
const BEGIN: &str = "<!-- generated: ";
const END: &str = "<!-- end of what is generated -->";
/// Set by `ci/documents.sh`.
const WRITE_VARIABLE: &str = "HUSTINGS_WRITE_DOCUMENTS";

type GeneratedPart = (&'static str, fn() -> String);

const PARTS: [GeneratedPart; 7] = [
    ("scenarios", scenarios),
    ("exit-codes", exit_codes),
    ("faults", faults),
    ("recipes", recipes),
    ("promises", promises),
    ("known-bugs", known_bugs),
    ("tune", tune),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(&head.iter().map(ToString::to_string).collect::<Vec<_>>());
    text.push_str(&format!("|{}\n", "---|".repeat(head.len())));
    rows.for_each(|row| text.push_str(&line(&row.iter().map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>())));
    text
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

fn scenarios() -> String {
    let rows = SHIPPED.map(|shipped| {
        let scenario = shipped.parse(&[]).expect("a scenario that ships");
        vec![code(shipped.name), scenario.summary]
    });
    table(&["scenario", "what it shows"], rows.into_iter())
}

fn exit_codes() -> String {
    let help = said(&["--help"], "");
    let lines = help.split("Exit codes:\n").nth(1).expect("exit codes").lines().map(str::trim);
    let rows = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.split_once(' '));
    table(&["code", "meaning"], rows.map(|(code, meaning)| vec![code.to_owned(), meaning.trim().to_owned()]))
}

fn faults() -> String {
    let rows = FaultKind::ALL.iter().map(|kind| {
        let proof = if *kind == FaultKind::None { "" } else { kind.facts().proof };
        vec![code(kind.name()), kind.about().to_owned(), proof.to_owned()]
    });
    table(&["fault", "what happens", "verified when"], rows)
}

fn recipes() -> String {
    let own = RecipeKind::sound().map(|recipe| vec![code(recipe.name()), recipe.describe().trim().to_owned()]);
    let others = ADAPTERS.iter().map(|adapter| vec![format!("`foreign:{}`", adapter.name), adapter.about.to_owned()]);
    table(&["recipe or program", "what it does"], own.chain(others))
}

fn promises() -> String {
    let rows = RecipeKind::sound().map(|recipe| {
        let declares = recipe.declares();
        let most = declares.requests_per_wake_max.map_or_else(|| "any number".to_owned(), |most| most.to_string());
        vec![code(recipe.name()), declares.leader_wakes.about().into(), declares.follower_wakes.about().into(), most]
    });
    let head = ["recipe", "the loss of a leader wakes", "that of a follower", "requests a wake-up, at most"];
    table(&head, rows)
}

fn known_bugs() -> String {
    let rows = cases().iter().map(|case| {
        let caught: Vec<&str> = case.caught.iter().map(|caught| caught.name()).collect();
        vec![code(case.name), linked(case.seen_in), case.wrong.to_owned(), caught.join(", ")]
    });
    table(&["bug", "seen in", "what goes wrong", "caught by"], rows)
}

/// Trackers, by the names of their issues in a text.
const TRACKERS: [(&str, &str); 8] = [
    ("CURATOR-", "https://issues.apache.org/jira/browse/CURATOR-"),
    ("ZOOKEEPER-", "https://issues.apache.org/jira/browse/ZOOKEEPER-"),
    ("kazoo #", "https://github.com/python-zk/kazoo/issues/"),
    ("libkv #", "https://github.com/docker/libkv/issues/"),
    ("etcd #", "https://github.com/etcd-io/etcd/issues/"),
    ("Druid #", "https://github.com/apache/druid/issues/"),
    ("zk-ruby #", "https://github.com/zk-ruby/zk/issues/"),
    ("and #", "https://github.com/zk-ruby/zk/issues/"),
];

/// The text with links from its issues to their trackers.
fn linked(text: &str) -> String {
    let mut text = text.to_owned();
    for (mark, address) in TRACKERS {
        let parts: Vec<String> = text.split(mark).map(str::to_owned).collect();
        text = parts[1..].iter().fold(parts[0].clone(), |text, part| {
            let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
            if digits.is_empty() {
                return format!("{text}{mark}{part}");
            }
            let (joint, name) = mark.strip_prefix("and ").map_or(("", mark), |name| ("and ", name));
            format!("{text}{joint}[{name}{digits}]({address}{digits}){}", &part[digits.len()..])
        });
    }
    text
}

/// A year of a service that stops for 0.2 to 3 s every other hour, and once for 7 s. Returns the beginning of the
/// answer.
fn tune() -> String {
    let mut pauses = String::new();
    let mut stopped = |at_s: u64, ms: u64| {
        let (total, since) = (ms * 1_000_000, (7_200_000 - ms) * 1_000_000);
        let parts = format!(
            "Time since last: {since} ns, Reaching safepoint: 1000 ns, Cleanup: 1000 ns, At safepoint: 1000 ns"
        );
        writeln!(pauses, "[{at_s}.000s][safepoint] Safepoint \"G1\", {parts}, Total: {total} ns").expect("text");
    };
    for number in 0_u64..4_369 {
        stopped(number * 7_200, 200 + number * 37 % 2_800);
    }
    stopped(4_369 * 7_200, 7_000);
    let answer = said(&["tune", "--pauses", "-", "--model", "--timeout-ms", "10000"], &pauses);
    let begin: Vec<&str> = answer.split("\n\n").take(2).collect();
    format!("```text\n{}\n```\n", begin.join("\n\n"))
}

/// The program's output on both streams.
fn said(arguments: &[&str], input: &str) -> String {
    use std::io::Write as _;

    let mut command = Command::new(env!("CARGO_BIN_EXE_hustings"));
    command.args(arguments).env("NO_COLOR", "1").env("COLUMNS", "100").env_remove("HUSTINGS_LOG");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The document with its generated parts renewed, and their names.
fn renewed(text: &str, document: &str) -> (String, Vec<String>) {
    let (mut new, mut names) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (name, after) = after.split_once(" -->\n").expect("a name");
        let (_, after) = after.split_once(END).unwrap_or_else(|| panic!("{document}: {name} has no end"));
        let part =
            PARTS.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{document}: no part {name}"));
        new.push_str(&format!("{before}{BEGIN}{name} -->\n{}{END}", (part.1)()));
        names.push(name.to_owned());
        rest = after;
    }
    (new + rest, names)
}

#[test]
fn generated_parts_of_the_documents_are_what_the_program_says_today() {
    let mut used = Vec::new();
    for document in DOCUMENTS {
        let path = root().join(document);
        let text = std::fs::read_to_string(&path).expect("a document");
        let (new, names) = renewed(&text, document);
        used.extend(names);
        if std::env::var_os(WRITE_VARIABLE).is_some() {
            std::fs::write(&path, new).expect("it is written");
        } else {
            assert!(new == text, "{document} is behind the program: run ci/documents.sh");
        }
    }
    for (name, _) in PARTS {
        assert!(used.iter().any(|used| used == name), "{name} stands in no document");
    }
}
