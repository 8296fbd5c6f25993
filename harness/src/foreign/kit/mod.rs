//! The kit: checks everything that a run requires of a program, on embedded servers, and reports its findings.

mod checks;
mod examination;
mod messages;
mod outcome;
mod reports;
mod stage;
mod wire_history;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

pub(crate) use outcome::run_of;
pub use outcome::{CheckOutcome, ExaminationReport, KitFinding, Need};

/// The command to examine.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program and its arguments.
    pub line: Vec<String>,
    /// The program's own parameters, passed to every slot.
    pub config: BTreeMap<String, Value>,
}

/// Examines a command. `exe` is this program, from which servers and guards are started; `progress` gets the name of
/// each step. If the examination itself fails, its report has the findings until then, and says why it ended.
///
/// # Errors
/// The examination failed before there was a finding: the stage cannot be set up, or the command cannot be started.
pub async fn examine(exe: &Path, command: Command, progress: impl Fn(&str)) -> anyhow::Result<ExaminationReport> {
    let stage = stage::Stage::set_up(exe, command).await?;
    let examined = examination::Examination::new(&stage, &progress).run().await;
    let ended = stage.tear_down().await;
    let mut examined = examined?;
    if let Err(error) = ended {
        examined.trouble.get_or_insert_with(|| format!("{error:#}"));
    }
    Ok(examined)
}
