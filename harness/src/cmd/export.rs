//! `hustings export`: a record's handovers for other tools.

use std::path::{Path, PathBuf};

use hustings_record::{Damage, Record};
use hustings_reports::export::{handovers, interval_log};

use crate::cmd::files::save;
use crate::cmd::report::read;
use crate::exit::{Exit, Failure, with_codes};
use crate::output::{inform, say};

/// Write the handovers of a record for other tools.
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings export runs/20260102-030405-herd > handovers.csv
  hustings export runs/20260102-030405-herd --hdr failovers.hlog    for HdrHistogram's log viewers, a histogram a cell"))]
pub(super) struct ExportArgs {
    /// Folder of the record
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// Write a line a lost lead as CSV [default without --hdr: on standard output]
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write an HdrHistogram interval log of the completed failovers, in nanoseconds, an interval a cell
    #[arg(long, value_name = "FILE")]
    hdr: Option<PathBuf>,
}

/// Writes what is asked for.
pub(super) fn run(args: &ExportArgs) -> Result<Exit, Failure> {
    let record: Record = read(&args.record, Damage::Refused)?;
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
