//! `hustings tune`: recommends a session timeout. It uses the pauses of the user's processes, their measured effect on
//! sessions of a real ensemble, and the duration of failovers there.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail, ensure};
use hustings_record::numbers::whole;
use hustings_record::words::{duration, first_few, plural, setting_ms};
use hustings_record::{Damage, EnsembleKind, StepDown};
use hustings_reports::analysis::MutationTesting;
use hustings_reports::render;
use hustings_reports::tune::pauses::{self, PauseLog};
use hustings_reports::tune::{
    Advice, Client, Curve, ExcludedSessions, ExpirySettings, Failover, Question, RunMeasurements, TimeoutGrade, advise,
    bands,
};
use hustings_reports::verdict::Verdict;
use hustings_workloads::recipes::RecipeKind;

use crate::cmd::ensemble::EnsembleArgs;
use crate::cmd::files::{Output, check_outputs};
use crate::cmd::pause_files::PauseFiles;
use crate::cmd::report;
use crate::cmd::run::{self, RunArgs};
use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::{inform, say_json, write_error_as_it_is};
use crate::files::bounded;
use crate::process::interrupt;
use crate::recording::folder::RecordFolder;

/// The scenario that is measured.
const SCENARIO: &str = "pauses";
/// ZooKeeper's default tick.
const TICK_MS: u64 = 2_000;
/// Assumed duration of a reconnect without a measurement: some round trips, in milliseconds.
const RECONNECT_MS: f64 = 10.0;
/// Seed of all random draws.
const SEED: u64 = 1;
/// Minimum for a time or a rate: about half a second, or one in twenty thousand years.
const LEAST: f64 = 1e-6;
/// What the protocol can ask for: a positive number of 32 bits.
const TIMEOUT_MS_MAX: u64 = i32::MAX.unsigned_abs() as u64;
const TICK_MS_MAX: u64 = 600_000;
/// Longer logs are implausible.
const WEEKS_MAX: f64 = 5_000.0;
const WIDTH: usize = 120;

/// Find out how long the session timeout should be.
///
/// A timeout that is too short takes the lead from processes that only pause; one that is too long leaves groups without a leader
/// after each crash. Give the pauses of your own processes; what pauses do to sessions is measured on a real ensemble (some nine
/// minutes), read from the record of an earlier measurement, or modelled. Says how many false failovers a week each timeout costs,
/// how far your logs can show that, and which one to take. The exit code is 0 if they show it, 3 if they are too short for that or
/// leave a doubt, and 1 if no timeout that the servers grant is long enough. With `--timeout-ms` it is about that timeout.
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings tune --pauses safepoint.log                    measure, then answer
  hustings tune --pauses safepoint.log --record runs/20260102-030405-pauses
                                                          answer by what was measured before
  hustings tune --pauses pauses.txt --weeks 8 --model     answer by the model alone
  hustings tune --pauses gc.log.* --timeout-ms 10000 --model
                                                          is the timeout that I have long enough? Logs that were rotated
  hustings tune --pauses hiccup.hlog --model --json | jq .advice.recommended
  hustings tune --pauses pauses.txt --weeks 8 --model --page timeout.html

Pauses:
  -Xlog:safepoint:file=safepoint.log:uptime,tags          of a JVM, version 9 or later: all of its stops
  -XX:+PrintGCApplicationStoppedTime                      the same of version 8
  -Xlog:gc*                                               garbage collections alone
  an interval log of HdrHistogram, as jHiccup and `hustings doctor --watch` write it
  a number of milliseconds a line, # before comments"))]
pub(super) struct TuneArgs {
    /// Log of the pauses of your processes; the format is detected. `-` is standard input. Of several files, as of a log that is
    /// rotated, each covers the time between its own first and last line
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pauses: Vec<PathBuf>,
    /// For how many weeks the pauses were recorded [default: by the times of the log]
    #[arg(long, value_name = "WEEKS", allow_negative_numbers = true, value_parser = number)]
    weeks: Option<f64>,
    /// How often a leader really dies, a week: restarts, deployments and crashes
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0, allow_negative_numbers = true, value_parser = number)]
    crashes_per_week: f64,
    /// How many false failovers a week are acceptable; one a month is 0.23
    #[arg(long, value_name = "NUMBER", default_value_t = 0.25, allow_negative_numbers = true, value_parser = number)]
    false_per_week: f64,
    /// The session timeout that you have, or think of, in milliseconds
    #[arg(long, value_name = "MS", allow_negative_numbers = true, value_parser = timeout_ms)]
    timeout_ms: Option<u64>,
    /// The tick of your servers, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = TICK_MS, allow_negative_numbers = true, value_parser = tick_ms)]
    tick_ms: u64,
    /// The client library of your processes: rust, java (or curator), python (or kazoo), go (or go-zookeeper), c
    #[arg(long, value_name = "NAME", default_value = "java", value_parser = client)]
    client: Client,
    /// The recipe that failovers are measured with, as `hustings list` has it
    #[arg(long, default_value = "predecessor-watch", value_parser = recipe)]
    recipe: RecipeKind,
    /// When a leader of yours that lost its connection stops believing: on-disconnect, on-expiry, or after=<fraction of T>
    #[arg(long, value_name = "POLICY", default_value = "on-disconnect")]
    step_down: StepDown,
    /// Take what was measured from this record instead of measuring
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["model", "out", "set"])]
    record: Option<PathBuf>,
    /// Measure nothing: the model alone
    #[arg(long, conflicts_with_all = ["out", "set"])]
    model: bool,
    /// Folder for the record of the measurement [default: runs/<time>-pauses]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Change a parameter of the measurement, as `election.session_timeout_ms=4000`; may be given many times
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Write the answer as a page too, with the curve and the costs of all timeouts drawn
    #[arg(long, value_name = "FILE")]
    page: Option<Output>,
    /// Print the answer as JSON on standard output
    #[arg(long)]
    json: bool,
    /// No progress, only the result
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    ensemble: EnsembleArgs,
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "a number, as 8 or 0.25".to_owned())
}

fn timeout_ms(text: &str) -> Result<u64, String> {
    milliseconds(text, TIMEOUT_MS_MAX)
}

fn tick_ms(text: &str) -> Result<u64, String> {
    milliseconds(text, TICK_MS_MAX)
}

fn milliseconds(text: &str, most: u64) -> Result<u64, String> {
    let given = text.parse::<u64>().ok().filter(|ms| (1..=most).contains(ms));
    given.ok_or_else(|| format!("a whole number of milliseconds from 1 to {most}, as 10000"))
}

fn client(text: &str) -> Result<Client, String> {
    Client::find(text).ok_or_else(|| format!("there are {}", Client::ALL.map(Client::name).join(", ")))
}

fn recipe(text: &str) -> Result<RecipeKind, String> {
    let known = || RecipeKind::sound().map(RecipeKind::name).collect::<Vec<_>>().join(", ");
    RecipeKind::sound().find(|recipe| recipe.name() == text).ok_or_else(|| format!("there are {}", known()))
}

/// The basis of the answer besides the pauses.
struct TuneInputs {
    curve: Curve,
    failover: Failover,
    reconnect_ms: f64,
    seen: Option<MeasuredRecord>,
}

/// A record, and its measurements.
struct MeasuredRecord {
    folder: PathBuf,
    servers: String,
    /// Whether the servers are real.
    real: bool,
    /// That of the record.
    verdict: Verdict,
    measured: RunMeasurements,
}

/// Answers the question.
pub(super) async fn run(args: TuneArgs, command: String) -> Result<Exit, Failure> {
    in_range(&args).map_err(Failure::usage)?;
    let outputs = [("--json", args.json.then_some(&Output::Standard)), ("--page", args.page.as_ref())];
    let inputs: Vec<&Path> = args.pauses.iter().map(PathBuf::as_path).chain(args.ensemble.files()).collect();
    check_outputs(&outputs, &inputs)?;
    // Reads the pauses before anything is measured for them.
    let log = read_all(&args.pauses).map_err(Failure::usage)?;
    let weeks = weeks(&args, &log).map_err(Failure::usage)?;
    let folder = match &args.record {
        Some(folder) => Some(folder.clone()),
        None if args.model => None,
        None => Some(measure(&args, command).await?),
    };
    let basis = match folder {
        Some(folder) => basis_of(folder)?,
        None => TuneInputs { curve: Curve::Model, failover: Failover::ASSUMED, reconnect_ms: RECONNECT_MS, seen: None },
    };
    let advice = advise(&Question {
        log: &log,
        weeks,
        client: args.client,
        step_down: args.step_down,
        tick_ms: args.tick_ms,
        reconnect_ms: basis.reconnect_ms,
        timeout_ms: args.timeout_ms,
        crashes_per_week: args.crashes_per_week,
        acceptable_per_week: args.false_per_week,
        curve: basis.curve,
        is_of_real_servers: basis.seen.as_ref().is_some_and(|seen| seen.real),
        failover: basis.failover,
        seed: SEED,
    });
    tell(&args, &advice, basis.seen.as_ref())?;
    Ok(match advice.used.as_ref().unwrap_or(&advice.recommended).grade {
        TimeoutGrade::Shown => Exit::Pass,
        TimeoutGrade::Estimated => Exit::Inconclusive,
        TimeoutGrade::Missed => Exit::Fail,
    })
}

fn in_range(args: &TuneArgs) -> anyhow::Result<()> {
    let weeks = args.weeks.unwrap_or(1.0);
    ensure!((LEAST..=WEEKS_MAX).contains(&weeks), "--weeks {weeks:?}: a number from {LEAST} to {WEEKS_MAX}");
    let crashes = args.crashes_per_week;
    ensure!((0.0..=1e6).contains(&crashes), "--crashes-per-week {crashes}: a number from 0 to 1000000");
    let acceptable = args.false_per_week;
    ensure!(
        (LEAST..=1e6).contains(&acceptable),
        "--false-per-week {acceptable:?}: a number from {LEAST} to 1000000; nothing shows that there is none"
    );
    if let Some(option) = args.ensemble.given().filter(|_| args.model || args.record.is_some()) {
        let why = if args.model { "--model" } else { "--record" };
        bail!("{option}: nothing is measured with {why}; leave one of them out");
    }
    Ok(())
}

/// The logs of all these files as one.
fn read_all(paths: &[PathBuf]) -> anyhow::Result<PauseLog> {
    let mut all = None::<PauseLog>;
    let mut files = PauseFiles::default();
    for path in paths {
        let mut log = read(path).with_context(|| path.display().to_string())?;
        files.add(path, &mut log)?;
        if paths.len() > 1 {
            let lines = [log.unread.first.as_mut(), log.overlaps.first.as_mut(), log.first_skipped.as_mut()];
            lines.into_iter().flatten().for_each(|(_, text)| *text = format!("{text} in {}", path.display()));
        }
        match &mut all {
            None => all = Some(log),
            Some(all) => {
                let about = all.shape.about();
                all.append(log).map_err(|other| {
                    let (path, other) = (path.display(), other.about());
                    anyhow!("{path}: it is {other}, and the files before it are {about}; give files of one kind")
                })?;
            }
        }
    }
    all.context("--pauses wants a file")
}

fn read(path: &Path) -> anyhow::Result<PauseLog> {
    let log = |input: &mut dyn BufRead| pauses::read(input).map_err(anyhow::Error::new);
    let file = if path == Path::new("-") { bounded::standard_input()? } else { bounded::open(path)? };
    log(&mut BufReader::new(file))
}

fn weeks(args: &TuneArgs, log: &PauseLog) -> anyhow::Result<f64> {
    args.weeks.or(log.weeks().filter(|own| *own <= WEEKS_MAX)).ok_or_else(|| {
        let logs: Vec<String> = args.pauses.iter().map(|path| path.display().to_string()).collect();
        let do_not = if logs.len() == 1 { "it does not" } else { "they do not" };
        anyhow!(
            "{}: {do_not} say for how long pauses were recorded ({}): give --weeks, as in `--weeks 8`",
            first_few(&logs),
            log.shape.about()
        )
    })
}

/// Runs the scenario and returns the folder of its record.
async fn measure(args: &TuneArgs, command: String) -> Result<PathBuf, Failure> {
    let make = || RecordFolder::new(args.out.as_deref(), SCENARIO);
    let folder = interrupt::removed_at_request(make, RecordFolder::removal).map_err(Failure::output)?;
    let out = folder.path().to_owned();
    let mut asked = RunArgs::of_quick();
    asked.scenario = SCENARIO.to_owned();
    asked.set = vec![
        format!("election.recipe=\"{}\"", args.recipe.name()),
        format!("election.step_down=\"{}\"", args.step_down),
    ];
    asked.set.extend(args.set.iter().cloned());
    asked.out = Some(out.clone());
    asked.quiet = args.quiet;
    asked.ensemble = args.ensemble.clone();
    match run::run(asked, command).await? {
        Exit::Pass => {}
        // A failed verdict does not invalidate the measurement, which is judged by its use.
        exit @ (Exit::Fail | Exit::Inconclusive) => {
            let verdict = if exit == Exit::Fail { "failed" } else { "is inconclusive" };
            inform!("the measurement {verdict}: {}", out.join("report.html").display());
        }
        exit @ (Exit::Usage | Exit::Infrastructure | Exit::Interrupted) => {
            return Err(Failure { exit, error: anyhow!("the measurement was not finished; see {}", out.display()) });
        }
    }
    Ok(out)
}

fn basis_of(folder: PathBuf) -> Result<TuneInputs, Failure> {
    let record = report::read(&folder, Damage::Refused)?;
    let verdict = report::read_summary(&folder, Damage::Refused, MutationTesting::Nothing)?.verdict;
    let measured = hustings_reports::tune::measured(&record);
    let curve = Curve::fit(&measured.pairs).map_err(|why| {
        let what = format!(
            "{}: {why}{}; `hustings run {SCENARIO}` makes such a record",
            folder.display(),
            left(&measured.left)
        );
        // A record without any session in a pause is of another kind.
        let is_other = measured.pairs.is_empty() && measured.left == ExcludedSessions::default();
        Failure { exit: if is_other { Exit::Usage } else { Exit::Inconclusive }, error: anyhow!(what) }
    })?;
    let real = match record.manifest.ensemble_kind {
        EnsembleKind::Local | EnsembleKind::Docker | EnsembleKind::External => true,
        EnsembleKind::Embedded | EnsembleKind::Simulated => false,
    };
    Ok(TuneInputs {
        curve,
        failover: measured.failover.unwrap_or(Failover::ASSUMED),
        reconnect_ms: measured.reconnect_ms.unwrap_or(RECONNECT_MS),
        seen: Some(MeasuredRecord { folder, servers: record.manifest.ensemble, real, verdict, measured }),
    })
}

/// Sessions that no figure includes, and why.
fn left(left: &ExcludedSessions) -> String {
    let reasons = [
        (left.unverified, "whose pause is not verified"),
        (left.stalled, "beside which the machine stalled"),
        (left.unknown, "of which nobody saw what became"),
    ];
    let told = reasons.iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told.map(|(n, why)| format!("{} {why}", plural(*n, "session", "sessions"))).collect();
    if told.is_empty() { String::new() } else { format!("; left out: {}", told.join(", ")) }
}

fn tell(args: &TuneArgs, advice: &Advice, seen: Option<&MeasuredRecord>) -> Result<(), Failure> {
    let bands = seen.map_or_else(Vec::new, |seen| bands(&seen.measured.pairs, &advice.curve));
    write_error_as_it_is(render::advice(advice, &bands, WIDTH));
    if let Some(seen) = seen {
        measured_on(seen).iter().for_each(|line| inform!("{line}"));
    }
    if let Some(path) = &args.page {
        let page = render::tune_page(
            advice,
            &bands,
            &seen.map(|seen| measured_on(seen).join("\n")).into_iter().collect::<Vec<_>>(),
        );
        path.written("page", &page.map_err(Failure::infrastructure)?)?;
    }
    if args.json {
        let measured = seen.map(|seen| {
            let measured = &seen.measured;
            serde_json::json!({
                "record": seen.folder, "servers": seen.servers, "real_servers": seen.real, "verdict": seen.verdict,
                "bands": bands, "left_out": measured.left, "reconnect_ms": measured.reconnect_ms,
                "crashes": measured.crashes, "settings": measured.settings,
            })
        });
        say_json(serde_json::json!({ "advice": advice, "measured": measured }))?;
    }
    Ok(())
}

/// The measurement in sentences.
fn measured_on(seen: &MeasuredRecord) -> Vec<String> {
    let MeasuredRecord { folder, servers, real, verdict, measured } = seen;
    let settings: Vec<String> = measured
        .settings
        .iter()
        .map(|(timeout, tick)| format!("T = {} and a tick of {}", setting_ms(*timeout), setting_ms(*tick)))
        .collect();
    let source =
        format!("measured with {} on {servers}: {}{}", settings.join(", "), folder.display(), left(&measured.left));
    let mut lines = vec![source];
    if !real {
        lines.push("those are no real ZooKeeper servers: it says nothing about theirs".to_owned());
    }
    match verdict {
        Verdict::Pass => {}
        Verdict::Inconclusive | Verdict::Fail => lines.push(format!(
            "the verdict of that record is {verdict}, so that its measurements may be wrong: see `hustings check {}`",
            folder.display()
        )),
    }
    let Some(crashes) = &measured.crashes else { return lines };
    if let (Some(p50), [(timeout, tick)]) = (crashes.p50, &measured.settings[..]) {
        let reconnect = measured.reconnect_ms.unwrap_or(RECONNECT_MS);
        let (mean, most) = ExpirySettings::of(Client::Rust, *timeout as f64, *tick as f64, reconnect).detection_ms();
        let ms = |ms: f64| duration(whole(ms * 1e6));
        lines.push(format!(
            "a crash there was followed by the next leader after {} (median of {}; by the formula {} on average, {} at most)",
            duration(p50),
            crashes.n + crashes.censored,
            ms(mean),
            ms(most)
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_whose_verdict_is_no_pass_is_named_as_such() {
        let said = |verdict| {
            let (pairs, settings) = (Vec::new(), vec![(4_000, 1_000)]);
            let left = ExcludedSessions::default();
            let measured = RunMeasurements { pairs, left, reconnect_ms: None, failover: None, crashes: None, settings };
            let (folder, servers) = (PathBuf::from("one"), "three servers".to_owned());
            measured_on(&MeasuredRecord { folder, servers, real: true, verdict, measured })
        };
        assert_eq!(said(Verdict::Pass).len(), 1);
        for (verdict, word) in [(Verdict::Fail, "is fail"), (Verdict::Inconclusive, "is inconclusive")] {
            let lines = said(verdict);
            assert!(lines[1].contains(word) && lines[1].contains("`hustings check one`"), "{lines:?}");
        }
    }
}
