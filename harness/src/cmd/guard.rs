//! `hustings guard`: executes another program that ends with the process that started it, even if that is killed. This
//! ties a JVM to the harness without unsafe code between fork and exec.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::process::child;
use crate::process::procfs::{PROGRAM_VARIABLE, ProcessId};
use anyhow::Context;

/// Become PROGRAM, and die with the parent
#[derive(Debug, clap::Args)]
pub(crate) struct GuardArgs {
    /// Pid of the process that starts this one.
    ///
    /// The kernel ties the life of a child to the parent *thread* that started it: start guarded programs from the thread
    /// of the harness's runtime (a current-thread one), or from another that lives as long as the process.
    #[arg(long)]
    parent: u32,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

pub(crate) fn run(args: &GuardArgs) -> anyhow::Result<Infallible> {
    child::die_with_parent(args.parent).context("cannot tie this process to its parent's life")?;
    let (program, arguments) = args.program.split_first().context("no program was given")?;
    let me = ProcessId::of(std::process::id()).context("/proc does not show this process")?;
    let error = Command::new(program).args(arguments).env(PROGRAM_VARIABLE, me.mark()).exec();
    Err(error).with_context(|| format!("cannot start {}", program.display()))
}
