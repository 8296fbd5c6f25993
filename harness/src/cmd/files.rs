//! Files that commands read and write: what goes wrong names the file.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use hustings_record::{Damage, RecordError};
use hustings_reports::summary::Summary;
use serde::de::DeserializeOwned;

use crate::bounded;
use crate::exit::Failure;
use crate::output::{inform, put};
use crate::replace::{check, replace};

/// An error of a parser may quote all that it did not take.
const MESSAGE_CHARS_MAX: usize = 300;
/// A summary is smaller than this by far.
const SUMMARY_BYTES_MAX: u64 = 256 << 20;

/// Writes a file whole, or leaves what was there.
pub(super) fn save(path: &Path, content: &str) -> Result<(), Failure> {
    replace(path, content.as_bytes()).map_err(|error| unwritten(path, error))
}

/// What a TOML file that a user named says.
pub(super) fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let failed = |error: anyhow::Error| Failure::usage(error.context(path.display().to_string()));
    let text = bounded::text(path, bounded::SMALL).map_err(|error| failed(error.into()))?;
    toml::from_str(&text).map_err(|error| failed(anyhow!("{}", toml_error(&text, &error))))
}

/// Where it is wrong and why; the line itself may be as long as the file.
fn toml_error(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let place = before.map_or_else(String::new, |before| {
        let line = before.matches('\n').count() + 1;
        format!("line {line}, column {}: ", before.chars().rev().take_while(|c| *c != '\n').count() + 1)
    });
    let message: String = error.message().chars().take(MESSAGE_CHARS_MAX).collect();
    format!("{place}{}", message.trim_end())
}

/// Adds to a file.
pub(super) fn append(path: &Path, content: &str) -> Result<(), Failure> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(content.as_bytes())).map_err(|error| unwritten(path, error))
}

fn unwritten(path: &Path, error: io::Error) -> Failure {
    Failure::infrastructure(anyhow::Error::new(error).context(path.display().to_string()))
}

/// Where a command writes to, as an option names it: `-` is standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Output {
    Standard,
    File(PathBuf),
}

impl From<OsString> for Output {
    fn from(text: OsString) -> Self {
        if text == "-" { Self::Standard } else { Self::File(text.into()) }
    }
}

impl Output {
    pub(super) fn write(&self, content: &str) -> Result<(), Failure> {
        match self {
            Self::Standard => put(content),
            Self::File(path) => save(path, content),
        }
    }

    /// The same, and says so.
    pub(super) fn written(&self, what: &str, content: &str) -> Result<(), Failure> {
        self.write(content)?;
        if let Self::File(path) = self {
            inform!("{what}: {}", path.display());
        }
        Ok(())
    }
}

/// Options of a command that name where it writes to: no two name the same.
pub(super) fn distinct(outputs: &[(&str, Option<&Output>)]) -> Result<(), Failure> {
    let given = outputs.iter().filter_map(|(option, output)| Some((*option, (*output)?)));
    let mut seen: Vec<(&str, &Output)> = Vec::new();
    for (option, output) in given {
        if let Some((other, _)) = seen.iter().find(|(_, other)| *other == output) {
            return Err(Failure::usage(anyhow!("{other} and {option} name the same file")));
        }
        seen.push((option, output));
    }
    Ok(())
}

/// The same, and each can be written: asked before the work whose result it takes.
pub(super) fn check_outputs(outputs: &[(&str, Option<&Output>)]) -> Result<(), Failure> {
    distinct(outputs)?;
    for output in outputs.iter().filter_map(|(_, output)| *output) {
        if let Output::File(path) = output {
            check(path).map_err(|error| unwritten(path, error))?;
        }
    }
    Ok(())
}

/// A summary that was written before.
pub(super) fn kept_summary(path: &Path) -> anyhow::Result<Summary> {
    let text = bounded::stored_text(path, SUMMARY_BYTES_MAX).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| format!("{} is of another version, or damaged", path.display()))
}

/// What a record that cannot be read ends a command with.
pub(super) fn unread(folder: &Path, error: RecordError, damage: Damage) -> Failure {
    let cells = matches!(error, RecordError::Segment(_) | RecordError::Mismatch { .. });
    let shown = folder.display();
    let error = anyhow::Error::new(error);
    Failure::infrastructure(match damage {
        Damage::Refused if cells => error.context(format!(
            "{shown}: the record is damaged; `hustings report --salvage {shown}` leaves out the cells that are"
        )),
        Damage::Refused | Damage::LeftOut => error.context(shown.to_string()),
    })
}
