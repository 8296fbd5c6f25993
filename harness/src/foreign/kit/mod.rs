//! The kit: takes a program through everything that a run asks of one, on embedded servers, and says what it found.

mod checks;
mod examination;
mod outcome;
mod reports;
mod stage;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

pub use outcome::{CheckOutcome, Examined, KitFinding, Need};

/// What is examined.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program and its arguments.
    pub line: Vec<String>,
    /// Parameters of the program's own, which every seat is told.
    pub config: BTreeMap<String, Value>,
}

/// Examines a command. `exe` is this program, which servers and guards are started from; `progress` is told what is looked at.
///
/// # Errors
/// The stage cannot be set up, or the command cannot be started.
pub async fn examine(exe: &Path, command: Command, progress: impl Fn(&str)) -> anyhow::Result<Examined> {
    let stage = stage::Stage::set_up(exe, command).await?;
    let examined = examination::Examination::new(&stage, &progress).run().await;
    let ended = stage.tear_down().await;
    let examined = examined?;
    ended?;
    Ok(examined)
}
