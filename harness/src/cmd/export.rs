//! `hustings export`: converts a record for other tools, or to a table for people.

use std::path::PathBuf;

use hustings_record::{Damage, Record};
use hustings_reports::analysis::MutationTesting;
use hustings_reports::export::{handovers, interval_log, withheld};
use hustings_reports::render::league;

use crate::cmd::files::{Output, check_outputs};
use crate::cmd::report::{read, read_summary};
use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::inform;

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
    csv: Option<Output>,
    /// Write an HdrHistogram interval log of the completed failovers, in nanoseconds, an interval a cell
    #[arg(long, value_name = "FILE")]
    hdr: Option<Output>,
    /// Write Markdown tables of all recipes and programs: failovers by fault, what each costs, and what was seen of it
    #[arg(long, value_name = "FILE")]
    table: Option<Output>,
}

/// Writes the requested outputs.
pub(super) fn run(args: &ExportArgs) -> Result<Exit, Failure> {
    let ExportArgs { csv, hdr, table, .. } = args;
    check_outputs(&[("--csv", csv.as_ref()), ("--hdr", hdr.as_ref()), ("--table", table.as_ref())], &[])?;
    if let Some(table) = table {
        table.written("written", &league(&read_summary(&args.record, Damage::Refused, MutationTesting::Nothing)?))?;
        if csv.is_none() && hdr.is_none() {
            return Ok(Exit::Pass);
        }
    }
    let record: Record = read(&args.record, Damage::Refused)?;
    withheld(&record).iter().for_each(|line| inform!("{line}"));
    if csv.is_some() || hdr.is_none() {
        let text = handovers(&record).map_err(Failure::infrastructure)?;
        csv.as_ref().unwrap_or(&Output::Standard).written("written", &text)?;
    }
    if let Some(hdr) = hdr {
        hdr.written("written", &interval_log(&record).map_err(Failure::infrastructure)?)?;
    }
    Ok(Exit::Pass)
}
