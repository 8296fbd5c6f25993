//! `hustings gate`: checks a record against limits and a baseline, for pipelines.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use hustings_record::Damage;
use hustings_reports::compare::{ComparisonReport, ComparisonRules, compare, sides_of};
use hustings_reports::gate::{
    FIGURES, GateRequirements, GateResult, Limits, annotations, bencher, benchmark_action, gate, history, markdown,
};
use hustings_reports::render::{clean_json, margin, side_names};
use hustings_reports::summary::Summary;
use hustings_reports::verdict::Verdict;
use wildmatch::WildMatch;

use crate::cmd::baseline;
use crate::cmd::compare::{refuse_one, rules, share};
use crate::cmd::files::{Output, append, distinct, read_toml, refuse_records};
use crate::cmd::junit::junit;
use crate::cmd::report::read_summary;
use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::{inform, say, say_json};
use crate::files::bounded;
use hustings_reports::analysis::MutationTesting;

/// A history has one line per run.
const HISTORY_BYTES_MAX: u64 = 1 << 30;
const COMMIT_BYTES_MAX: usize = 200;
/// Variables in which pipelines provide their commit.
const COMMIT_VARIABLES: [&str; 2] = ["GITHUB_SHA", "CI_COMMIT_SHA"];
/// Maximum number of lines on a terminal about items that did not pass.
const LISTED_MAX: usize = 20;

/// Check a record against limits and a baseline: 0 lets it through, 1 and 3 do not.
///
/// The record's own checks count too: a failure, an unverified fault, an uncaught self-test or too few injections are never green.
///
/// Of a record with two sides, only the new one can fail. If a check fails on the base alone, nothing can be compared with it: that
/// is inconclusive.
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings gate runs/20260102-030405-gate --limits limits.toml
  hustings gate runs/20260102-030405-gate --baseline main --junit gate.xml
  hustings gate runs/20260102-030405-gate --github --markdown summary.md
  hustings gate runs/20260102-030405-gate --history history.csv
  hustings gate --figures                         what a limit can be put on

A limits file:
  injections = 8                       # of every cell at least [default: 4]
  allowed_regression_percent = 10      # against the baseline [default: 15]
  [cells.\"*\"]
  without_write_percent = 20
  [cells.\"*-resign\"]                   # all repetitions, of the new side if there are two
  failover_p50_ms = 30"))]
pub(super) struct GateArgs {
    /// Folder of the record
    #[arg(value_name = "RECORD", required_unless_present = "figures")]
    record: Option<PathBuf>,
    /// Limits on figures of cells, as TOML
    #[arg(long, value_name = "FILE")]
    limits: Option<PathBuf>,
    /// What the record is compared with: the name of a saved baseline, or the folder of a record
    #[arg(long, value_name = "BASELINE")]
    baseline: Option<String>,
    /// Where baselines are kept
    #[arg(long, value_name = "DIR", default_value = baseline::FOLDER, requires = "baseline")]
    baselines: PathBuf,
    /// What is no further from the baseline than this share of its median is the same [default: the limits file's, else 15%, or
    /// half a round trip to the servers, where that is more]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    delta: Option<f64>,
    /// Compare with a baseline that is not alike; the result says so
    #[arg(long, requires = "baseline")]
    force: bool,
    /// Write the result as JUnit XML: a suite a cell, what is inconclusive an error
    #[arg(long, value_name = "FILE")]
    junit: Option<Output>,
    /// Write the result as a table in Markdown, as for a pull request
    #[arg(long, value_name = "FILE")]
    markdown: Option<Output>,
    /// Print GitHub's annotations on standard output, and add the table to the job's summary ($GITHUB_STEP_SUMMARY)
    #[arg(long, conflicts_with = "json")]
    github: bool,
    /// Write the figures in the Bencher Metric Format
    #[arg(long, value_name = "FILE")]
    bencher: Option<Output>,
    /// Write the figures for github-action-benchmark (customSmallerIsBetter)
    #[arg(long, value_name = "FILE")]
    benchmark_action: Option<Output>,
    /// Add a line to a CSV file, once for each run: time, run, commit, verdict and all figures; once for each commit of a simulated
    /// run, and again if its figures differ
    #[arg(long, value_name = "FILE")]
    history: Option<Output>,
    /// The commit that --history and --benchmark-action name [default: $GITHUB_SHA, else $CI_COMMIT_SHA]
    #[arg(long, value_name = "COMMIT", value_parser = commit)]
    commit: Option<String>,
    /// List the figures that limits can be put on, and end
    #[arg(long, exclusive = true)]
    figures: bool,
    /// Print the result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Judges one record.
pub(super) fn run(args: &GateArgs) -> Result<Exit, Failure> {
    if args.figures {
        for figure in FIGURES {
            say(format_args!("{:<28} {}", figure.name, figure.about))?;
        }
        return Ok(Exit::Pass);
    }
    let standard = args.json.then_some(&Output::Standard).or_else(|| args.github.then_some(&Output::Standard));
    let outputs = [
        (if args.json { "--json" } else { "--github" }, standard),
        ("--junit", args.junit.as_ref()),
        ("--markdown", args.markdown.as_ref()),
        ("--bencher", args.bencher.as_ref()),
        ("--benchmark-action", args.benchmark_action.as_ref()),
        ("--history", args.history.as_ref()),
    ];
    let inputs: Vec<&Path> = args.limits.iter().map(PathBuf::as_path).collect();
    distinct(&outputs, &inputs)?;
    if args.commit.is_some() && args.history.is_none() && args.benchmark_action.is_none() {
        return Err(Failure::usage(anyhow!("--commit has no effect without --history or --benchmark-action")));
    }
    let record = args.record.as_deref().context("no record is named").map_err(Failure::usage)?;
    let limits = args.limits.as_deref().map(read_toml::<Limits>).transpose()?;
    let summary = read_summary(record, Damage::Refused, MutationTesting::Checks)?;
    let allowed = limits.as_ref().and_then(|limits| limits.allowed_regression_percent).map(|percent| percent / 100.0);
    let rules = rules(args.delta.or(allowed));
    let comparing = match &args.baseline {
        Some(name) => {
            let base = baseline::find(&args.baselines, name)?;
            refuse_one((Path::new(name), &base), (record, &summary))?;
            Some(compare(&base, &summary, rules, |_| true, args.force).map_err(Failure::usage)?)
        }
        // A record with two sides is its own baseline.
        None => sides_of(&summary, rules, |_| true).ok(),
    };
    if args.delta.is_some() && comparing.is_none() {
        let why = "--delta has no effect: this record has one side; name what it is compared with by --baseline";
        return Err(Failure::usage(anyhow!(why)));
    }
    let asked = GateRequirements { limits: limits.as_ref(), comparing: comparing.as_ref() };
    let like = |pattern: &str, name: &str| WildMatch::new(pattern).matches(name);
    let of_limits = |error| {
        let file = args.limits.as_ref().map_or_else(String::new, |path| path.display().to_string());
        Failure::usage(anyhow::Error::new(error).context(file))
    };
    let mut gated = gate(&summary, &asked, like).map_err(of_limits)?;
    // Only a run that may have further rounds decides how many by its margin.
    let remark = comparing.as_ref().filter(|comparing| comparing.looks > 1);
    if let Some(remark) = remark.and_then(|comparing| narrower_than_run(&summary.manifest.command, comparing.rules)) {
        gated.remark_undecided(&remark);
    }
    tell(&gated, comparing.as_ref());
    if args.json {
        say_json(serde_json::to_string_pretty(&gated).map_err(Failure::infrastructure)?)?;
    }
    write_all(args, &summary, &gated, comparing.as_ref())?;
    // An aborted run gives no verdict on cells that it did not run.
    Ok(Exit::of_run(gated.verdict, summary.manifest.state))
}

/// What to say of undecided figures if the run of this command line decided within a larger margin than is asked for
/// here: it had no further rounds for the smaller one. None: its margin is no larger.
fn narrower_than_run(command: &str, asked: ComparisonRules) -> Option<String> {
    let of_run = rules(delta_of(command));
    let is_narrower =
        asked.delta < of_run.delta || asked.delta <= of_run.delta && asked.of_round_trip < of_run.of_round_trip;
    let (within, wanted) = (margin(&of_run), asked.delta);
    is_narrower.then(|| {
        format!("the run had further rounds for {within} only; for more, run it with `hustings run … --delta {wanted}`")
    })
}

/// The `--delta` of a command line, if it has one.
fn delta_of(command: &str) -> Option<f64> {
    let words = shlex::split(command)?;
    let value = words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("--delta")? {
        "" => words.get(at + 1).map(String::as_str),
        rest => rest.strip_prefix('='),
    });
    share(value?).ok()
}

/// Accepts only text that a CSV field can contain.
fn commit(text: &str) -> Result<String, String> {
    let fits = |char: char| char.is_ascii_alphanumeric() || "-_./".contains(char);
    if !text.is_empty() && text.len() <= COMMIT_BYTES_MAX && text.chars().all(fits) {
        return Ok(text.to_owned());
    }
    Err(format!("the name of a commit or tag: at most {COMMIT_BYTES_MAX} letters, digits, and -_./"))
}

/// The given commit, else that of the pipeline.
fn commit_of(args: &GateArgs) -> String {
    let of_pipeline = || COMMIT_VARIABLES.iter().find_map(|name| commit(&std::env::var(name).ok()?).ok());
    args.commit.clone().or_else(of_pipeline).unwrap_or_default()
}

fn write_all(
    args: &GateArgs,
    summary: &Summary,
    gated: &GateResult,
    comparing: Option<&ComparisonReport>,
) -> Result<(), Failure> {
    if let Some(path) = &args.junit {
        path.write(&junit(gated).map_err(Failure::infrastructure)?)?;
    }
    if let Some(path) = &args.markdown {
        path.write(&markdown(gated, comparing))?;
    }
    let pretty = |value| serde_json::to_string_pretty(&value).map(clean_json).map_err(Failure::infrastructure);
    if let Some(path) = &args.bencher {
        path.write(&pretty(bencher(summary))?)?;
    }
    if let Some(path) = &args.benchmark_action {
        path.write(&pretty(benchmark_action(summary, &commit_of(args)))?)?;
    }
    if let Some(output) = &args.history {
        let there = match output {
            Output::Standard => Ok(String::new()),
            Output::File(path) => bounded::stored_text(path, HISTORY_BYTES_MAX),
        };
        let there = match there {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Failure::output(anyhow!("{output}: {error}"))),
        };
        let named = |error| Failure::usage(anyhow::Error::new(error).context(output.to_string()));
        match history(summary, gated, &commit_of(args), &there).map_err(named)? {
            Some(lines) => output.append(&lines)?,
            None => inform!("{output} has a line of this run already, which stays as it is"),
        }
    }
    if args.github {
        say(annotations(gated).trim_end())?;
        if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) {
            let path = Path::new(&path);
            refuse_records("GITHUB_STEP_SUMMARY", path)?;
            append(path, &markdown(gated, comparing))?;
        }
    }
    Ok(())
}

fn tell(gated: &GateResult, comparing: Option<&ComparisonReport>) {
    if let Some(why) = &gated.hopeless {
        inform!("! {why}");
    }
    for forced in gated.forced.iter().take(LISTED_MAX) {
        inform!("! compared all the same: {forced}");
    }
    inform_of_more(gated.forced.len());
    for left in gated.left_out.iter().take(LISTED_MAX) {
        inform!("- {} is left out: {}", left.cell, left.why);
    }
    for item in gated.worst_first().take(LISTED_MAX) {
        let sign = if item.verdict == Verdict::Fail { "✗" } else { "?" };
        let cell = item.cell.as_deref().unwrap_or("record");
        inform!("{sign} {cell}: {}: {}", item.title(), item.text);
    }
    inform_of_more(gated.worst_first().count());
    comparing.map(side_names).unwrap_or_default().iter().for_each(|side| inform!("{side}"));
    let untestable = gated.items.iter().filter(|item| item.not_testable.is_some()).count();
    inform!(
        "gate: {}; of {} things asked {} passed ({untestable} could not have failed), {} failed, {} are inconclusive",
        gated.verdict,
        gated.items.len(),
        gated.that_are(Verdict::Pass).count(),
        gated.that_are(Verdict::Fail).count(),
        gated.that_are(Verdict::Inconclusive).count()
    );
}

/// How many of so many were not listed, if any.
fn inform_of_more(all: usize) {
    if all > LISTED_MAX {
        inform!("  … and {} more", all - LISTED_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_of_a_run_is_read_from_its_command_line() {
        for (command, delta) in [
            ("hustings run gate --against-exe old", None),
            ("hustings run gate --delta 10% --against-exe old", Some(0.1)),
            ("hustings run gate --against-exe old --delta=0.05", Some(0.05)),
            ("hustings run gate --candidate './mine --delta 20%' --against-candidate './old'", None),
            ("hustings run gate --delta", None),
        ] {
            assert_eq!(delta_of(command), delta, "{command}");
        }
    }

    #[test]
    fn a_gate_that_asks_for_a_smaller_margin_than_the_run_names_the_option() {
        let narrower = |command: &str, delta: Option<f64>| narrower_than_run(command, rules(delta));
        let remark = narrower("hustings run gate --against-exe old", Some(0.1)).unwrap_or_default();
        assert!(
            remark.contains("half a round trip only") && remark.ends_with("`hustings run … --delta 0.1`"),
            "{remark}"
        );
        assert!(narrower("hustings run gate --delta 20%", None).is_some());
        assert!(narrower("hustings run gate", Some(0.15)).is_some(), "without the half of a round trip");
        assert_eq!(narrower("hustings run gate --delta 10%", Some(0.1)), None);
        assert_eq!(narrower("hustings run gate --delta 5%", Some(0.1)), None);
        assert_eq!(narrower("hustings run gate", None), None);
        assert_eq!(narrower("hustings run gate", Some(0.2)), None);
    }
}
