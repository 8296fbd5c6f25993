//! `hustings export`: a record for other tools, and for people who want a table of it.

use std::path::{Path, PathBuf};

use hustings_record::{Damage, Record};
use hustings_reports::analysis::Examine;
use hustings_reports::export::{handovers, interval_log, withheld};
use hustings_reports::render::league;

use crate::cmd::files::save;
use crate::cmd::report::{read, read_summary};
use crate::exit::{Exit, Failure, with_codes};
use crate::output::{inform, say};

/// Write the handovers of a record for other tools, or a table of its recipes side by side.
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings export runs/20260102-030405-herd > handovers.csv
  hustings export runs/20260102-030405-herd --hdr failovers.hlog    for HdrHistogram's log viewers, a histogram a cell
  hustings export runs/20260102-030405-league --table league.md     every recipe under every fault, and what it costs"))]
pub(super) struct ExportArgs {
    /// Folder of the record
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// Write a line a lost lead as CSV [default, without another: on standard output]
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write an HdrHistogram interval log of the completed failovers, in nanoseconds, an interval a cell
    #[arg(long, value_name = "FILE")]
    hdr: Option<PathBuf>,
    /// Write Markdown tables of all recipes and programs: failovers by fault, what each costs, and what was seen of it
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
}

/// Writes what is asked for.
pub(super) fn run(args: &ExportArgs) -> Result<Exit, Failure> {
    if let Some(path) = &args.table {
        write(path, &league(&read_summary(&args.record, Damage::Refused, Examine::Nothing)?))?;
        if args.csv.is_none() && args.hdr.is_none() {
            return Ok(Exit::Pass);
        }
    }
    let record: Record = read(&args.record, Damage::Refused)?;
    withheld(&record).iter().for_each(|line| inform!("{line}"));
    if args.csv.is_some() || args.hdr.is_none() {
        let text = handovers(&record).map_err(Failure::infrastructure)?;
        match &args.csv {
            Some(path) => write(path, &text)?,
            None => say(text.trim_end())?,
        }
    }
    if let Some(path) = &args.hdr {
        write(path, &interval_log(&record).map_err(Failure::infrastructure)?)?;
    }
    Ok(Exit::Pass)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    save(path, text)?;
    inform!("written: {}", path.display());
    Ok(())
}
