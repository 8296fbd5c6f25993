//! `hustings doctor`: reports before a run why it would fail, and measures the pauses of a machine.

use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{anyhow, bail};
use hustings_record::words::{duration, plural};
use hustings_reports::tune::pauses;

use crate::cmd::files::{Output, create_new, distinct};
use crate::cmd::run::some_time;
use crate::doctor::{self, Context, DoctorFinding, Status};
use crate::process::interrupt;

use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::{inform, say_json};

/// Check whether runs can work on this machine, or watch how long it stands still
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings doctor
  hustings doctor --zookeeper-home ~/apache-zookeeper-3.9.3-bin
  hustings doctor --json | jq '.findings[] | select(.status != \"ok\")'
  hustings doctor --watch pauses.hlog --for 7days     then: hustings tune --pauses pauses.hlog"))]
pub(crate) struct DoctorArgs {
    /// Write the findings to standard output, as JSON.
    #[arg(long)]
    json: bool,
    /// A ZooKeeper release directory to use instead of the installed packages.
    #[arg(long, value_name = "DIR")]
    zookeeper_home: Option<PathBuf>,
    /// Check nothing: watch how long this machine stands still, and write it to this file, for `hustings tune --pauses`. What stops
    /// one process alone, as a collection of its garbage, does not show in it
    #[arg(long, value_name = "FILE", conflicts_with = "zookeeper_home")]
    watch: Option<Output>,
    /// Watch for so long, as `90s`, `12h`, `7days` [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = some_time, requires = "watch")]
    long: Option<Duration>,
}

pub(crate) fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    if let Some(output) = &args.watch {
        return watch(output, args.long, args.json);
    }
    let mut context = Context::from_env();
    if args.zookeeper_home.is_some() {
        context.places.zookeeper_home.clone_from(&args.zookeeper_home);
    }
    let findings = doctor::examine(&context);
    let can_run = doctor::can_run(&findings);
    for finding in &findings {
        tell(finding);
    }
    inform!("{}", if can_run { "runs can work here" } else { "runs cannot work here" });
    if args.json {
        say_json(serde_json::json!({ "can_run": can_run, "findings": findings }))?;
    }
    Ok(if can_run { Exit::Pass } else { Exit::Infrastructure })
}

fn tell(finding: &DoctorFinding) {
    let mark = match finding.status {
        Status::Ok => "ok",
        Status::Info => "info",
        Status::Warning => "warning",
        Status::Failed => "FAILED",
    };
    inform!("{mark:>8}  {:<12} {}", finding.check, finding.found);
    if let Some(remedy) = &finding.remedy {
        inform!("{:>8}  {:<12} -> {remedy}", "", "");
    }
}

/// If no duration is given, Ctrl-C is the regular end and no interruption.
fn watch(output: &Output, long: Option<Duration>, json: bool) -> Result<Exit, Failure> {
    distinct(&[("--json", json.then_some(&Output::Standard)), ("--watch", Some(output))], &[])?;
    let stop = interrupt::flag();
    let mut written = None;
    let log: Box<dyn Write> = match output {
        Output::Standard => Box::new(io::stdout()),
        Output::File(path) => {
            let file = create_new(path)?;
            written = Some((path, file.try_clone().map_err(|cause| output.unwritten(cause))?));
            Box::new(file)
        }
    };
    inform!("watching {}, into {output}", long.map_or("until Ctrl-C".to_owned(), |long| format!("for {long:?}")));
    let seen = doctor::watch(log, long, &stop).map_err(|cause| cut_short(output, cause))?;
    let kept = written.map_or(Ok(()), |(path, written)| still_there(path, &written));
    let next = if kept.is_ok() { format!("; now: hustings tune --pauses {output}") } else { String::new() };
    inform!(
        "watched for {}: it stood still for {} at most, and {} for more than 10 ms{next}",
        duration(seen.watched_ns),
        duration(seen.longest_ns),
        plural(seen.over_10_ms, "time", "times"),
    );
    if json {
        say_json(serde_json::to_string(&seen).map_err(Failure::infrastructure)?)?;
    }
    kept.map_err(Failure::output)?;
    // Without a given duration, Ctrl-C is the regular end.
    let is_cut = long.is_some() && stop.load(Ordering::Relaxed);
    Ok(if is_cut { Exit::Interrupted } else { Exit::Pass })
}

/// Refuses a path that no longer leads to the file that was written.
fn still_there(path: &Path, written: &File) -> anyhow::Result<()> {
    let (written, shown) = (written.metadata()?, path.display());
    match fs::metadata(path) {
        Ok(there) if (there.dev(), there.ino()) == (written.dev(), written.ino()) => Ok(()),
        Ok(_) => bail!("{shown} was replaced while it was written, and what was watched is lost; watch again"),
        Err(cause) => bail!(
            "{shown} was removed while it was written, and what was watched is lost ({cause}); watch again, and leave \
             the file where it is"
        ),
    }
}

/// Keeps what was watched until then. A log of nothing is removed.
fn cut_short(output: &Output, cause: io::Error) -> Failure {
    let failure = output.unwritten(cause);
    let Output::File(path) = output else { return failure };
    let log = File::open(path).ok().and_then(|file| pauses::read(BufReader::new(file)).ok());
    if log.is_none_or(|log| log.pauses.is_empty()) {
        let _ = fs::remove_file(path);
        return failure;
    }
    Failure { error: anyhow!("{:#}; what was watched until then is in it", failure.error), ..failure }
}
