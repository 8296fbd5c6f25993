//! `hustings report`: makes the report of a record anew. `hustings check`: only its verdicts.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use hustings_record::{Record, RecordError};
use hustings_reports::analysis::summarise;
use hustings_reports::render;
use hustings_reports::summary::Summary;

use crate::archive::replace;
use crate::exit::{Exit, Failure};

const REPORT_FILE: &str = "report.html";
const SUMMARY_FILE: &str = "summary.json";

/// Make the report of one or more records anew, from what was written down.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  hustings report runs/20260102-030405-quick
  hustings report runs/*-herd --json | jq .verdict")]
pub(super) struct ReportArgs {
    /// Folder of a record
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// Print each summary as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Recompute the verdicts of a record, and write nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  hustings check runs/20260102-030405-quick && echo fine

Exit codes: 0 pass, 1 a verdict failed, 3 inconclusive, 4 the record cannot be read")]
pub(super) struct CheckArgs {
    /// Folder of a record
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// Print the summary as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// What is said beside the files that are written.
pub(super) struct Told {
    pub(super) json: bool,
    pub(super) quiet: bool,
}

/// Makes the reports of all records given; the worst verdict is the exit code.
pub(super) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let mut verdict = hustings_reports::verdict::Verdict::Pass;
    for record in &args.records {
        verdict = verdict.merge(make(record, &Told { json: args.json, quiet: false })?.verdict);
    }
    Ok(verdict.into())
}

/// Checks one record.
pub(super) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let summary = summarise(&read(&args.record)?);
    tell(&summary, &Told { json: args.json, quiet: false });
    Ok(summary.verdict.into())
}

/// Reads a record, writes its summary and report beside it, and tells.
pub(super) fn make(folder: &Path, told: &Told) -> Result<Summary, Failure> {
    let summary = summarise(&read(folder)?);
    write(folder, SUMMARY_FILE, &render::json(&summary))?;
    let html = render::html(&summary).map_err(Failure::infrastructure)?;
    let path = write(folder, REPORT_FILE, &html)?;
    tell(&summary, told);
    if !told.quiet {
        eprintln!("report: {}", path.display());
    }
    Ok(summary)
}

fn read(folder: &Path) -> Result<Record, Failure> {
    Record::read(folder).map_err(|error| match error {
        RecordError::Manifest { .. } => Failure::usage(error),
        other => Failure::infrastructure(other),
    })
}

fn write(folder: &Path, name: &str, content: &str) -> Result<PathBuf, Failure> {
    let path = folder.join(name);
    let failed = |error| Failure::infrastructure(anyhow::Error::new(error).context(path.display().to_string()));
    replace(&path, content.as_bytes()).map_err(failed)?;
    Ok(path)
}

fn tell(summary: &Summary, told: &Told) {
    let terminal = std::io::stderr().is_terminal();
    let width = if terminal { terminal_width() } else { 140 };
    eprintln!("{}", render::terminal(summary, width, terminal && std::env::var_os("NO_COLOR").is_none()));
    if told.json {
        println!("{}", render::json(summary));
    }
}

fn terminal_width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stderr()).map_or(120, |size| usize::from(size.ws_col).max(60))
}
