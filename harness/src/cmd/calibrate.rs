//! `hustings calibrate`: service times for simulations, from a real run.

use std::path::{Path, PathBuf};

use comfy_table::{CellAlignment, Table, presets};
use hustings_record::words::duration;
use hustings_record::{Damage, EnsembleKind, Record};
use hustings_reports::render::clean_line;
use hustings_workloads::scenario::Scenario;
use hustings_workloads::simulation::Timing;

use crate::calibrate::{CalibrationFit, CountedCell, MedianComparison, compared, fit, targets};
use crate::cmd::files::{Output, check_outputs};
use crate::cmd::report::read;
use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::{inform, is_screen, say_json, write_error_as_it_is};
use crate::console::progress::Progress;
use crate::recording::archive::resolved_scenario;

/// Find the service times with which a simulation shows what a real run measured.
///
/// Fits them to the medians of failover, fan-out spread and overlaps of the run's cells, but for every third cell, which is held
/// out and shows what the fit is worth. Beside them stands how often beliefs overlapped, and how many writes were stale. The
/// result is a file for `simulate --timing`.
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings run herd --out herd && hustings calibrate herd --out times.toml
  hustings simulate thousand --timing times.toml   what that machine would show of another scenario
  hustings calibrate split-brain --as-is           how far off simulations of that run are, without a fit
  hustings calibrate herd --json | jq '.compared[] | select(.held_out) | .ratio'"))]
pub(super) struct CalibrateArgs {
    /// Folder of the record of a real run
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// Service times to start from, as TOML; those that the run tells nothing about stay [default: simulate's own]
    #[arg(long, value_name = "FILE")]
    timing: Option<PathBuf>,
    /// File for the service times [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<Output>,
    /// Fit nothing: only compare, with the service times given or assumed
    #[arg(long, conflicts_with = "out")]
    as_is: bool,
    /// Print service times and comparison as JSON on standard output
    #[arg(long, conflicts_with = "out")]
    json: bool,
    /// No progress, only the result
    #[arg(long, short)]
    quiet: bool,
}

/// Fits the service times and writes the result.
pub(super) fn run(args: &CalibrateArgs) -> Result<Exit, Failure> {
    let inputs: Vec<&Path> = args.timing.iter().map(PathBuf::as_path).collect();
    check_outputs(&[("--out", args.out.as_ref())], &inputs)?;
    let mut start = super::simulate::timing(args.timing.as_deref())?;
    let record = read(&args.record, Damage::Refused)?;
    if record.manifest.ensemble_kind == EnsembleKind::Simulated {
        return Err(Failure::usage(anyhow::anyhow!(
            "{} is the record of a simulation: its service times are known; give that of a run",
            args.record.display()
        )));
    }
    let text = resolved_scenario(&args.record).map_err(Failure::infrastructure)?;
    let scenario = Scenario::parse(&text, "the record's scenario", &[]).map_err(Failure::infrastructure)?;
    if start.cores == 0 {
        start.cores = shared_cores(&record);
    }
    let targets = targets(&record, &scenario).map_err(Failure::usage)?;
    drop(record);
    let progress = Progress::endless(is_screen(), args.quiet);
    let fitted = if args.as_is {
        compared(&targets, &start)
    } else {
        fit(&targets, &start, |tried, off| {
            progress.now(&format!("{tried} timings tried, off by a factor of {:.2}", off.exp()));
        })
    };
    let fitted = fitted.map_err(Failure::infrastructure)?;
    progress.finish();
    tell(args, &fitted)?;
    Ok(Exit::Pass)
}

/// The machine's cores if the servers also ran on it, which is the case unless they are external.
fn shared_cores(record: &Record) -> u64 {
    let elsewhere = record.manifest.ensemble_kind == EnsembleKind::External;
    if elsewhere { 0 } else { u64::from(record.manifest.machine.cores).min(Timing::CORES_MAX) }
}

fn tell(args: &CalibrateArgs, fitted: &CalibrationFit) -> Result<(), Failure> {
    if args.json {
        return say_json(
            serde_json::json!({ "timing": fitted.timing, "compared": fitted.compared, "counted": fitted.counted, "tried": fitted.tried }),
        );
    }
    write_error_as_it_is(format_args!("{}\n", table(&fitted.compared)));
    write_error_as_it_is(format_args!("{}\n", counts(&fitted.counted)));
    if args.as_is {
        return Ok(());
    }
    inform!("{}", worst(&fitted.compared));
    let text = toml(&fitted.timing).map_err(Failure::infrastructure)?;
    args.out.as_ref().unwrap_or(&Output::Standard).write(&text)
}

fn toml(timing: &Timing) -> anyhow::Result<String> {
    Ok(format!("# Service times in microseconds, for `hustings simulate --timing`.\n{}", toml::to_string(timing)?))
}

fn table(compared: &[MedianComparison]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(["cell", "median of", "measured", "simulated", "ratio", ""]);
    for row in compared {
        let held_out = if row.held_out { "held out" } else { "" }.to_owned();
        let ratio = row.ratio.map_or_else(|| "—".to_owned(), |ratio| format!("{ratio:.2}"));
        let simulated = row.simulated_ns.map_or_else(|| "nothing".to_owned(), duration);
        table.add_row([
            clean_line(&row.cell),
            row.measure.name().to_owned(),
            duration(row.real_ns),
            simulated,
            ratio,
            held_out,
        ]);
    }
    for column in [2, 3, 4] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The counts and the numbers of handovers, for rows with at least one event.
fn counts(counted: &[CountedCell]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(["cell", "seen", "measured", "simulated"]);
    let of = |(seen, handovers): (u64, u64)| format!("{seen} in {handovers} handovers");
    for row in counted.iter().filter(|row| row.real.0 + row.simulated.0 > 0) {
        table.add_row([clean_line(&row.cell), row.count.name().to_owned(), of(row.real), of(row.simulated)]);
    }
    table
}

/// The ratio furthest from one, for fitted and for held-out cells.
fn worst(compared: &[MedianComparison]) -> String {
    let far = |ratio: f64| ratio.ln().abs();
    let worst = |held_out: bool| {
        let ratios = compared.iter().filter(|row| row.held_out == held_out).filter_map(|row| row.ratio);
        ratios
            .max_by(|a, b| far(*a).total_cmp(&far(*b)))
            .map_or_else(|| "none".to_owned(), |ratio| format!("{ratio:.2}"))
    };
    format!("ratio furthest from 1: {} where fitted, {} where held out", worst(false), worst(true))
}
