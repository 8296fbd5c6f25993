//! Tests that every command line in help texts, errors and documents is valid.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;

use super::{Cli, INTERNAL, parsed};

/// Options of other tools: of the script that builds adapters, of Docker, and of a program in an example.
const OF_OTHERS: [&str; 5] = ["build", "path", "pids-limit", "ulimit", "zk"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

fn files(folder: &Path, ends: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let found = entries.flat_map(|path| {
        let is_file = path.to_string_lossy().ends_with(ends);
        if path.is_dir() { files(&path, ends) } else { is_file.then_some(path).into_iter().collect() }
    });
    found.collect()
}

/// The hustings command lines in shell text, without the commands before and after them.
fn lines_of_hustings(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().flat_map(|line| line.split("&&").map(str::to_owned).collect::<Vec<_>>());
    let begins = ["hustings ", "target/release/hustings ", "- run: hustings "];
    let ours = lines.filter_map(|line| {
        let line = line.trim().trim_start_matches("HUSTINGS_TMP=/scratch ").to_owned();
        let rest = begins.iter().find_map(|begin| line.strip_prefix(begin))?;
        // An explanation follows two spaces or a number sign.
        let end = ["  ", " #", " | ", " > ", " < ", " 2>"].iter().filter_map(|mark| rest.find(mark)).min();
        Some(rest.get(..end.unwrap_or(rest.len()))?.trim().to_owned())
    });
    ours.collect()
}

fn refused(line: &str) -> Option<String> {
    let words = shlex::split(&format!("hustings {line}")).expect("words");
    let error = parsed(words).err()?;
    let is_help = matches!(error.kind(), clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion);
    (!is_help).then(|| format!("`hustings {line}`: {error}"))
}

#[test]
fn every_example_of_the_help_can_be_typed() {
    let mut tried = 0;
    for command in Cli::command().get_subcommands_mut() {
        let lines = lines_of_hustings(&command.render_long_help().to_string());
        tried += lines.len();
        let problems: Vec<String> = lines.iter().filter_map(|line| refused(line)).collect();
        assert!(problems.is_empty(), "{}: {}", command.get_name(), problems.join("\n"));
    }
    assert!(tried > 50, "{tried} examples");
}

#[test]
fn every_command_of_the_documents_can_be_typed() {
    let documents =
        ["README.md", "harness/README.md", "workloads/README.md", "reports/README.md", "reports/METHODOLOGY.md"];
    let mut tried = 0;
    for document in documents {
        let text = std::fs::read_to_string(root().join(document)).expect("a document");
        let lines = lines_of_hustings(&text);
        tried += lines.len();
        let problems: Vec<String> = lines.iter().filter_map(|line| refused(line)).collect();
        assert!(problems.is_empty(), "{document}: {}", problems.join("\n"));
    }
    assert!(tried > 20, "{tried} commands");
}

/// Names of options in a line of code, without their dashes.
fn options_in(line: &str) -> Vec<String> {
    let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let parts = line.split("--").skip(1).zip(line.split("--"));
    let begins = parts.filter(|(_, before)| !before.ends_with(|c: char| is_of_name(c) || c == '$'));
    let names = begins.map(|(part, _)| part.split(|c| !is_of_name(c)).next().unwrap_or_default().trim_end_matches('-'));
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())).map(str::to_owned).collect()
}

#[test]
fn every_option_that_a_text_names_is_one() {
    let command = Cli::command();
    let all = command
        .get_subcommands()
        .flat_map(|one| one.get_arguments().chain(one.get_subcommands().flat_map(|two| two.get_arguments())));
    let known: BTreeSet<String> =
        all.filter_map(|one| one.get_long()).chain(["help", "version"]).map(str::to_owned).collect();
    let mut unknown = BTreeSet::new();
    for folder in ["harness/src", "workloads/src", "reports/src", "reports/record/src"] {
        for file in files(&root().join(folder), ".rs") {
            let text = std::fs::read_to_string(&file).expect("a source");
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("//!"));
            let named =
                lines.flat_map(options_in).filter(|name| !known.contains(name) && !OF_OTHERS.contains(&name.as_str()));
            unknown.extend(named.map(|name| format!("--{name} in {}", file.display())));
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn the_commands_that_no_help_shows_are_those_of_the_harness() {
    let command = Cli::command();
    let hidden = command.get_subcommands().filter(|one| one.is_hide_set()).map(|one| one.get_name());
    assert_eq!(hidden.collect::<Vec<_>>(), INTERNAL);
}
