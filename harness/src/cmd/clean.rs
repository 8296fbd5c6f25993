//! `hustings clean`: removes what killed runs left behind, and nothing else.

use crate::leftovers::{self, Leftover};
use crate::workdir::temp_root;
use anyhow::Context;

use crate::exit::{Exit, Failure};

/// Remove what killed runs left behind, and nothing else
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  hustings clean --dry-run
  hustings clean
  HUSTINGS_TMP=/scratch hustings clean            where the killed run had its temporary files")]
pub(crate) struct Args {
    /// Only say what would be done.
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let root = temp_root();
    let survey = leftovers::survey(&root).with_context(|| {
        format!("cannot look for left-overs in {} (set HUSTINGS_TMP to look elsewhere)", root.display())
    });
    let survey = survey.map_err(Failure::infrastructure)?;
    for (path, owner) in &survey.alive {
        eprintln!("left alone {}: run {} is under way (process {})", path.display(), owner.run, owner.pid);
    }
    for (path, why) in &survey.unrecognised {
        eprintln!("left alone {}: {why}", path.display());
    }
    if survey.dead.is_empty() {
        eprintln!("nothing to clean in {}", root.display());
    }
    let mut failed = false;
    for leftover in survey.dead {
        failed |= !clean(leftover, args.dry_run);
    }
    Ok(if failed { Exit::Infrastructure } else { Exit::Pass })
}

/// Says what it did; false when it could not be done.
fn clean(leftover: Leftover, dry_run: bool) -> bool {
    let (path, run) = (leftover.path.display().to_string(), leftover.owner.run.clone());
    let pids: Vec<String> = leftover.children.iter().map(|child| child.pid.to_string()).collect();
    let processes = if pids.is_empty() { "no processes".to_owned() } else { format!("processes {}", pids.join(", ")) };
    if dry_run {
        eprintln!("would remove {path} of run {run}, and kill {processes}");
        return true;
    }
    match leftover.remove() {
        Ok(killed) => {
            eprintln!("removed {path} of run {run}, killed {killed} of {processes}");
            true
        }
        Err(e) => {
            eprintln!("cannot remove {path} of run {run} ({processes}): {e}");
            false
        }
    }
}
