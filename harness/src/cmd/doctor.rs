//! `hustings doctor`: says before a run what it would fail of.

use std::path::PathBuf;

use crate::doctor::{self, Context, Finding, Status};

use crate::exit::{Exit, Failure, with_codes};
use crate::output::{inform, say};

/// Check whether runs can work on this machine
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings doctor
  hustings doctor --zookeeper-home ~/apache-zookeeper-3.9.3-bin
  hustings doctor --json | jq '.findings[] | select(.status != \"ok\")'"))]
pub(crate) struct Args {
    /// Write the findings to standard output, as JSON.
    #[arg(long)]
    json: bool,
    /// A ZooKeeper release directory to use instead of the installed packages.
    #[arg(long, value_name = "DIR")]
    zookeeper_home: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
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
        say(serde_json::json!({ "can_run": can_run, "findings": findings }))?;
    }
    Ok(if can_run { Exit::Pass } else { Exit::Infrastructure })
}

fn tell(finding: &Finding) {
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
