//! `hustings baseline`: stores summaries of records under names, for comparison with later runs.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use hustings_record::Damage;
use hustings_record::words::{as_typed, plural};
use hustings_reports::render::{self, clean_line};
use hustings_reports::sound::decided;
use hustings_reports::summary::Summary;
use hustings_reports::verdict::Verdict;

use crate::cmd::files;
use crate::cmd::report::{read_summary, width};
use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::{inform, is_coloured, say, write_error_as_it_is};
use hustings_reports::analysis::MutationTesting;

/// Default folder of baselines.
pub(super) const FOLDER: &str = "baselines";
const ENDING: &str = "json";

/// Keep a record's figures under a name, for `hustings gate --baseline`.
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings baseline save main runs/20260102-030405-gate
  hustings baseline list
  hustings baseline show main"))]
pub(super) struct BaselineArgs {
    #[command(subcommand)]
    action: BaselineAction,
    /// Where baselines are kept
    #[arg(long, value_name = "DIR", default_value = FOLDER, global = true)]
    baselines: PathBuf,
}

#[derive(Debug, clap::Subcommand)]
enum BaselineAction {
    /// Keep the figures of a record under this name; what was there is replaced
    Save {
        /// Its name, of letters, digits, `-`, `_` and `.`
        #[arg(value_name = "NAME", value_parser = name)]
        name: String,
        /// Folder of the record
        #[arg(value_name = "RECORD")]
        record: PathBuf,
    },
    /// List what is kept
    List,
    /// Show one as a run's summary is shown
    Show {
        /// Its name, as `hustings baseline list` has it
        #[arg(value_name = "NAME", value_parser = name)]
        name: String,
    },
}

/// The name becomes a file name.
fn name(text: &str) -> Result<String, String> {
    let fine =
        !text.is_empty() && text.len() <= 100 && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let fine = fine && !text.starts_with('.');
    if fine {
        Ok(text.to_owned())
    } else {
        Err("letters, digits, dashes, dots and underscores, 100 at most".to_owned())
    }
}

pub(super) fn run(args: &BaselineArgs) -> Result<Exit, Failure> {
    let folder = &args.baselines;
    match &args.action {
        BaselineAction::Save { name, record } => save(folder, name, record),
        BaselineAction::List => list(folder),
        BaselineAction::Show { name } => {
            let summary = load(&path(folder, name))?;
            write_error_as_it_is(render::terminal(&summary, width(), is_coloured()));
            Ok(Exit::Pass)
        }
    }
}

fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.{ENDING}"))
}

/// Only a passing record is a useful baseline. Excluded repetitions do not count.
fn save(folder: &Path, name: &str, record: &Path) -> Result<Exit, Failure> {
    let summary = read_summary(record, Damage::Refused, MutationTesting::Nothing)?;
    let verdict = decided(&summary);
    if verdict != Verdict::Pass {
        let note = summary.notes.first().filter(|_| summary.whole > Verdict::Pass);
        let note = note.map_or_else(String::new, |note| format!(" ({note})"));
        let why = anyhow!("{} is {verdict}{note}, and no baseline: only what passed can be", record.display());
        return Err(Failure { exit: Exit::of(&summary), error: why });
    }
    let path = path(folder, name);
    if path.symlink_metadata().is_ok_and(|there| !there.is_file()) {
        let why = "it is no plain file, as baselines are; remove it, or choose another name";
        return Err(Failure::infrastructure(anyhow!("{}: {why}", path.display())));
    }
    files::refuse_records("--baselines", &path)?;
    std::fs::create_dir_all(folder).map_err(|error| unusable(folder, &error))?;
    files::save(&path, &render::json(&summary))?;
    inform!("{}: {} of {}", path.display(), plural(summary.cells.len() as u64, "cell", "cells"), summary.manifest.run);
    Ok(Exit::Pass)
}

fn unusable(folder: &Path, error: &std::io::Error) -> Failure {
    Failure::infrastructure(anyhow!("{}: {error}; choose another folder by --baselines", folder.display()))
}

fn list(folder: &Path) -> Result<Exit, Failure> {
    let failed = |error: std::io::Error| unusable(folder, &error);
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            inform!("there is no baseline in {}; `hustings baseline save NAME RECORD` makes one", folder.display());
            return Ok(Exit::Pass);
        }
        Err(error) => return Err(failed(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|ending| ending == ENDING) {
            paths.push(path);
        }
    }
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match load(&path) {
            Ok(summary) => {
                let manifest = &summary.manifest;
                let [name, scenario, time] =
                    [&name, &manifest.scenario, &manifest.started_utc].map(|text| clean_line(text));
                say(format_args!("{name:<20} {scenario:<12} {:<9} {time}", manifest.ensemble_kind))?;
            }
            Err(failure) => inform!("{name}: {:#}", failure.error),
        }
    }
    Ok(Exit::Pass)
}

/// Finds a baseline by its name, else a record by its folder.
pub(super) fn find(folder: &Path, named: &str) -> Result<Summary, Failure> {
    let kept = name(named).ok().map(|name| path(folder, &name)).filter(|path| path.exists());
    match kept {
        Some(path) => load(&path),
        None if Path::new(named).is_dir() => read_summary(Path::new(named), Damage::Refused, MutationTesting::Nothing),
        None => Err(Failure::usage(anyhow!(
            "{} is neither a baseline in {} (`hustings baseline list`) nor the folder of a record",
            as_typed(named),
            folder.display()
        ))),
    }
}

fn load(path: &Path) -> Result<Summary, Failure> {
    if path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        let missing = anyhow!("there is no baseline {}; `hustings baseline list` says which there are", path.display());
        return Err(Failure::usage(missing));
    }
    files::kept_summary(path).context("the baseline cannot be read").map_err(Failure::infrastructure)
}
