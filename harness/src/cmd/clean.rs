//! `hustings clean`: removes what killed runs left behind, and nothing else.

use anyhow::Context;

use crate::access::Access;
use crate::cleanup::leftovers::{self, Leftover};
use crate::cmd::access::AccessArgs;
use crate::cmd::external_cleanup;
use crate::console::exit::{Exit, Failure, with_codes};
use crate::console::output::inform;
use crate::ensemble::docker::residue;
use crate::files::workdir::temp_root;

/// Remove what killed runs left behind, and nothing else
#[derive(Debug, clap::Args)]
#[command(after_help = with_codes("Examples:
  hustings clean --dry-run
  hustings clean
  hustings clean --auth-file secret               after a run with `--auth-file`
  HUSTINGS_TMP=/scratch hustings clean            where the killed run had its temporary files"))]
pub(crate) struct CleanArgs {
    /// Only say what would be done.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    access: AccessArgs,
}

pub(crate) fn run(args: &CleanArgs) -> Result<Exit, Failure> {
    let keys = args.access.access().map_err(Failure::usage)?;
    let root = temp_root();
    let survey = leftovers::survey(&root).with_context(|| {
        format!("cannot look for left-overs in {} (set HUSTINGS_TMP to look elsewhere)", root.display())
    });
    let survey = survey.map_err(Failure::infrastructure)?;
    for (path, owner) in &survey.alive {
        inform!("left alone {}: run {} is under way (process {})", path.display(), owner.run, owner.pid);
    }
    for (path, why) in &survey.unrecognised {
        inform!("left alone {}: {why}", path.display());
    }
    if survey.dead.is_empty() {
        inform!("nothing to clean in {}", root.display());
    }
    let mut failed = false;
    for leftover in survey.dead {
        failed |= !clean(leftover, &keys, args.dry_run);
    }
    tell_orphans();
    Ok(if failed { Exit::Infrastructure } else { Exit::Pass })
}

/// Removes a leftover and reports it. Returns false on failure.
fn clean(leftover: Leftover, keys: &Access, dry_run: bool) -> bool {
    if !external_cleanup::clear(&leftover.path, &leftover.owner.run, keys, dry_run) {
        return false;
    }
    let (path, run) = (leftover.path.display().to_string(), leftover.owner.run.clone());
    let pids: Vec<String> = leftover.children.iter().map(|child| child.pid.to_string()).collect();
    let processes = if pids.is_empty() { "no processes".to_owned() } else { format!("processes {}", pids.join(", ")) };
    let docker = |residue: Option<_>| residue.map_or_else(String::new, |residue| format!("; at Docker: {residue}"));
    let done = if dry_run {
        let would = |residue| format!("would remove {path} of run {run}, and kill {processes}{}", docker(residue));
        leftover.residue().map(would)
    } else {
        let did = |(killed, residue)| {
            format!("removed {path} of run {run}, killed {killed} of {processes}{}", docker(residue))
        };
        leftover.remove().map(did)
    };
    match &done {
        Ok(said) => inform!("{said}"),
        Err(e) => inform!("cannot remove {path} of run {run} ({processes}): {e}"),
    }
    done.is_ok()
}

/// Reports containers and networks whose run cannot be identified. Without a Docker engine, there is nothing to report.
fn tell_orphans() {
    for (run, residue) in residue::orphans().unwrap_or_default() {
        let mut remedy = Vec::new();
        if !residue.containers.is_empty() {
            remedy.push(format!("docker rm -f -v {}", residue.containers.join(" ")));
        }
        if !residue.networks.is_empty() {
            remedy.push(format!("docker network rm {}", residue.networks.join(" ")));
        }
        inform!(
            "left alone at Docker: {residue}, because the folder of run {run} is gone; if that run is over: {}",
            remedy.join("; ")
        );
    }
}
