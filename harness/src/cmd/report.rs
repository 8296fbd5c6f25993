//! `hustings report`: regenerates the report of a record. `hustings check`: only its verdicts.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use hustings_record::words::first_few;
use hustings_record::{Damage, REPORT_FILE, Record, RecordError, RecordReader, SUMMARY_FILE};
use hustings_reports::analysis::{MutationTesting, summarise_read};
use hustings_reports::render;
use hustings_reports::summary::Summary;

use crate::cmd::files::{save, unread};
use crate::cmd::{in_full, mutations};
use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::{inform, is_coloured, say_json, write_error_as_it_is};

/// Make the report of one or more records anew, from what was written down.
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings report runs/20260102-030405-quick
  hustings report runs/*-herd --json | jq .verdict
  hustings report runs/20260102-030405-quick --salvage"))]
pub(super) struct ReportArgs {
    /// Folder of a record
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// Leave cells out whose events are damaged or missing, and say which
    #[arg(long)]
    salvage: bool,
    /// Print each summary as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Recompute the verdicts of a record, and write nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings check runs/20260102-030405-quick && echo fine
  hustings check runs/20260102-030405-quick --mutations   # could each check have failed on each cell?"))]
pub(super) struct CheckArgs {
    /// Folder of a record
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// Leave cells out whose events are damaged or missing, and say which
    #[arg(long)]
    salvage: bool,
    /// Alter each cell's events as broken programs, servers and faults would have caused them, judge it again, and tell which check
    /// catches what; ends with 3 where a check misses what it must catch
    #[arg(long)]
    mutations: bool,
    /// Print the summary, or with --mutations what became of each mutation, as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Output in addition to the files.
pub(super) struct ReportOutput {
    pub(super) json: bool,
    pub(super) quiet: bool,
}

/// Generates the reports of all records. The worst gives the exit code, unless one is unreadable: that is named.
pub(super) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let mut exit = Exit::Pass;
    let mut unread = Vec::new();
    for folder in &args.records {
        match make_but(folder, damage(args.salvage), &ReportOutput { json: args.json, quiet: false }) {
            Ok(summary) => exit = exit.or_worse(Exit::of(&summary)),
            Err(failure) if args.records.len() == 1 => return Err(failure),
            Err(failure) => {
                inform!("{}: {}", folder.display(), in_full(&failure.error));
                unread.push(folder.display().to_string());
            }
        }
    }
    if unread.is_empty() {
        return Ok(exit);
    }
    let (count, all) = (unread.len(), args.records.len());
    Err(Failure::infrastructure(anyhow::anyhow!("{count} of {all} reports were not made: {}", first_few(&unread))))
}

/// Checks one record.
pub(super) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    if args.mutations {
        return mutations::mutations(&args.record, damage(args.salvage), args.json);
    }
    let summary = read_summary(&args.record, damage(args.salvage), MutationTesting::Checks)?;
    tell(&summary, &ReportOutput { json: args.json, quiet: false })?;
    Ok(Exit::of(&summary))
}

/// The setting that `--salvage` requests.
pub(super) fn damage(salvage: bool) -> Damage {
    if salvage { Damage::LeftOut } else { Damage::Refused }
}

/// Reads a record, writes its summary and report beside it, and prints the result.
pub(super) fn make(folder: &Path, told: &ReportOutput) -> Result<Summary, Failure> {
    make_but(folder, Damage::Refused, told)
}

fn make_but(folder: &Path, damage: Damage, told: &ReportOutput) -> Result<Summary, Failure> {
    let (summary, path) = make_silently(folder, damage, MutationTesting::Checks)?;
    tell(&summary, told)?;
    if !told.quiet {
        inform!("report: {}", path.display());
    }
    Ok(summary)
}

/// As [`make`], without output. Also returns the path of the report.
pub(super) fn make_silently(
    folder: &Path,
    damage: Damage,
    examine: MutationTesting,
) -> Result<(Summary, PathBuf), Failure> {
    for name in [SUMMARY_FILE, REPORT_FILE] {
        refuse_links(&folder.join(name))?;
    }
    let summary = summed(folder, damage, examine).inspect_err(|error| forget_verdict(folder, error));
    let summary = summary.map_err(|error| unread(folder, error, damage))?;
    write(folder, SUMMARY_FILE, &render::json(&summary))?;
    let html = render::html(&summary).map_err(Failure::infrastructure)?;
    let path = write(folder, REPORT_FILE, &html)?;
    Ok((summary, path))
}

/// Removes the summary that was computed from a record that is now damaged: a list of runs would show its verdict. The
/// report remains, as it may be all that is left to read.
fn forget_verdict(folder: &Path, error: &RecordError) {
    if !error.is_of_a_cell() && !matches!(error, RecordError::Forged { .. }) {
        return;
    }
    let (summary, report) = (folder.join(SUMMARY_FILE), folder.join(REPORT_FILE));
    if std::fs::remove_file(&summary).is_ok() {
        inform!("removed, for its verdict was of the record as it was before: {}", summary.display());
    }
    if report.exists() {
        inform!("left, though it shows the record as it was before: {}", report.display());
    }
}

/// The summary of a record. Writes no files.
pub(super) fn read_summary(folder: &Path, damage: Damage, examine: MutationTesting) -> Result<Summary, Failure> {
    summed(folder, damage, examine).map_err(|error| unread(folder, error, damage))
}

fn summed(folder: &Path, damage: Damage, examine: MutationTesting) -> Result<Summary, RecordError> {
    summarise_read(RecordReader::begin(folder, damage)?, examine)
}

/// Reads a record from its folder.
pub(super) fn read(folder: &Path, damage: Damage) -> Result<Record, Failure> {
    let record = Record::read_but(folder, damage).map_err(|error| unread(folder, error, damage))?;
    // Figures have no verdict, so their user is warned of changes to the record.
    record.changed.iter().for_each(|what| inform!("warning: {}: {what}; it may not be what it was", folder.display()));
    Ok(record)
}

/// A record may come from somebody else: what is written into it goes into it alone.
fn refuse_links(path: &Path) -> Result<(), Failure> {
    match std::fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => Err(Failure::infrastructure(anyhow::anyhow!(
            "{}: this is no plain file, and a record holds none but these; remove it",
            path.display()
        ))),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn write(folder: &Path, name: &str, content: &str) -> Result<PathBuf, Failure> {
    let path = folder.join(name);
    save(&path, content)?;
    Ok(path)
}

fn tell(summary: &Summary, told: &ReportOutput) -> Result<(), Failure> {
    write_error_as_it_is(render::terminal(summary, width(), is_coloured()));
    if told.json {
        say_json(render::json(summary))?;
    }
    Ok(())
}

/// Width of the terminal in columns. Without a terminal, the width of a wide one.
pub(super) fn width() -> usize {
    if !std::io::stderr().is_terminal() {
        return 140;
    }
    rustix::termios::tcgetwinsize(std::io::stderr()).map_or(120, |size| usize::from(size.ws_col).max(40))
}
