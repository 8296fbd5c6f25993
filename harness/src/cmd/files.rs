//! Files that commands read and write. All errors name the file. `Failure::output` has the exit code of all that cannot
//! be written.

use std::fmt::{self, Display};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::builder::{MapValueParser, PathBufValueParser, TypedValueParser as _, ValueParserFactory};
use hustings_record::{Damage, RecordError};
use hustings_reports::summary::Summary;
use hustings_workloads::scenario::in_words;
use serde::de::DeserializeOwned;

use crate::console::exit::Failure;
use crate::console::output::{self, inform, put};
use crate::files::bounded;
use crate::files::in_record::{led_to, refuse_in_record};
use crate::files::replace::{check, followed, replace};
use crate::files::write_error::WriteError;

/// A summary is far smaller than this.
const SUMMARY_BYTES_MAX: u64 = 256 << 20;

/// Replaces the file atomically, or leaves its old content.
pub(super) fn save(path: &Path, content: &str) -> Result<(), Failure> {
    replace(path, content.as_bytes()).map_err(|cause| unwritten(path, cause))
}

/// Parses a TOML file that a user named.
pub(super) fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let failed = |error: anyhow::Error| Failure::usage(error.context(path.display().to_string()));
    let text = bounded::text(path, bounded::SMALL).map_err(|error| failed(error.into()))?;
    toml::from_str(&text).map_err(|error| failed(anyhow!("{}", toml_error(&text, &error))))
}

/// Position and reason of the error, without the line itself, which may be as long as the file.
fn toml_error(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let place = before.map_or_else(String::new, |before| {
        let line = before.matches('\n').count() + 1;
        format!("line {line}, column {}: ", before.chars().rev().take_while(|c| *c != '\n').count() + 1)
    });
    format!("{place}{}", in_words(error.message().trim_end()))
}

/// Creates a file that must not exist yet.
pub(super) fn create_new(path: &Path) -> Result<File, Failure> {
    File::create_new(path).map_err(|cause| unwritten(path, cause))
}

/// Appends to a file.
pub(super) fn append(path: &Path, content: &str) -> Result<(), Failure> {
    add(path, content).map_err(|cause| unwritten(path, cause))
}

/// Adds all of it or nothing: a partial line would corrupt the following ones.
fn add(path: &Path, content: &str) -> io::Result<()> {
    let (mut file, made) = match OpenOptions::new().append(true).open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let place = followed(path)?;
            (OpenOptions::new().create(true).append(true).open(&place)?, Some(place))
        }
        there => (there?, None),
    };
    let before = file.metadata()?;
    let added = file.write_all(content.as_bytes());
    if added.is_err() {
        match made {
            Some(made) => fs::remove_file(made)?,
            None if before.is_file() => file.set_len(before.len())?,
            None => {}
        }
    }
    added
}

/// The failure to write this file.
fn unwritten(path: &Path, cause: io::Error) -> Failure {
    Failure::output(WriteError::file(path)(cause))
}

/// Adds to the reason why a run was aborted what is left of its record.
pub(super) fn with_what_is_left(why: &str, record: &Path) -> String {
    let shown = record.display();
    if record.exists() {
        format!(
            "{why}; what was recorded until then is in {shown}, an incomplete record: `hustings check` says what can be \
             read of it"
        )
    } else {
        format!(
            "{why}; {shown} has gone from its place: if it was moved, `hustings check` says what can be read of it where \
             it is now"
        )
    }
}

/// Output of a command, as given in an option. `-` is standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Output {
    Standard,
    File(PathBuf),
}

/// Refuses an empty path, as the parser of all other paths does.
impl ValueParserFactory for Output {
    type Parser = MapValueParser<PathBufValueParser, fn(PathBuf) -> Self>;

    fn value_parser() -> Self::Parser {
        PathBufValueParser::new().map(Self::at)
    }
}

impl Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard => f.write_str("-"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl Output {
    fn at(path: PathBuf) -> Self {
        if path.as_os_str() == "-" { Self::Standard } else { Self::File(path) }
    }

    /// The failure to write to it.
    pub(super) fn unwritten(&self, cause: io::Error) -> Failure {
        match self {
            Self::Standard => output::unwritten(cause),
            Self::File(path) => unwritten(path, cause),
        }
    }

    pub(super) fn append(&self, content: &str) -> Result<(), Failure> {
        match self {
            Self::Standard => put(content),
            Self::File(path) => append(path, content),
        }
    }

    pub(super) fn write(&self, content: &str) -> Result<(), Failure> {
        match self {
            Self::Standard => put(content),
            Self::File(path) => save(path, content),
        }
    }

    /// Writes and reports the path.
    pub(super) fn written(&self, what: &str, content: &str) -> Result<(), Failure> {
        self.write(content)?;
        if let Self::File(path) = self {
            inform!("{what}: {}", path.display());
        }
        Ok(())
    }
}

/// Checks that no two options name the same output, and that no output is an input or belongs to a record.
pub(super) fn distinct(outputs: &[(&str, Option<&Output>)], inputs: &[&Path]) -> Result<(), Failure> {
    let given = outputs.iter().filter_map(|(option, output)| Some((*option, (*output)?)));
    let mut seen: Vec<(&str, &Output)> = Vec::new();
    for (option, output) in given {
        if let Some((other, _)) = seen.iter().find(|(_, other)| identity(other) == identity(output)) {
            return Err(Failure::usage(anyhow!("{other} and {option} name the same file")));
        }
        if let Output::File(path) = output {
            let shown = path.display();
            if inputs.iter().any(|input| is_one(input, path)) {
                return Err(Failure::usage(anyhow!("{option} {shown}: it is read; choose another file")));
            }
            refuse_records(option, path)?;
        }
        seen.push((option, output));
    }
    Ok(())
}

/// Refuses paths in or into a record, because writing there would change the record. `what` names the path in errors.
pub(super) fn refuse_records(what: &str, path: &Path) -> Result<(), Failure> {
    refuse_in_record(what, path).map_err(Failure::output)
}

/// The output itself, independent of the path by which it is named.
fn identity(output: &Output) -> Output {
    match output {
        Output::Standard => Output::Standard,
        Output::File(path) => Output::File(led_to(path)),
    }
}

/// Whether both lead to the same plain file.
fn is_one(one: &Path, other: &Path) -> bool {
    let (Ok(one), Ok(other)) = (one.metadata(), other.metadata()) else { return false };
    one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// As [`distinct`], and checks that each can be written. Call it before the work that produces the outputs.
pub(super) fn check_outputs(outputs: &[(&str, Option<&Output>)], inputs: &[&Path]) -> Result<(), Failure> {
    distinct(outputs, inputs)?;
    for output in outputs.iter().filter_map(|(_, output)| *output) {
        if let Output::File(path) = output {
            check(path).map_err(|cause| unwritten(path, cause))?;
        }
    }
    Ok(())
}

/// Reads a stored summary.
pub(super) fn kept_summary(path: &Path) -> anyhow::Result<Summary> {
    let text = bounded::stored_text(path, SUMMARY_BYTES_MAX).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| format!("{} is of another version, or damaged", path.display()))
}

/// The failure of a command that cannot read a record.
pub(super) fn unread(folder: &Path, error: RecordError, damage: Damage) -> Failure {
    let shown = folder.display();
    let what = if error.is_of_a_cell() && damage == Damage::Refused {
        format!("{shown}: the record is damaged; `hustings report --salvage {shown}` leaves out the cells that are")
    } else if matches!(error, RecordError::Forged { .. } | RecordError::Mismatch { .. }) {
        format!("{shown}: the record is not as it was written; take its files from a copy, or run its scenario again")
    } else {
        shown.to_string()
    };
    Failure::infrastructure(anyhow::Error::new(error).context(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_not_in_its_place_may_have_been_moved() {
        let root = tempfile::tempdir().unwrap();
        let there = with_what_is_left("why", root.path());
        assert!(there.starts_with("why; ") && there.contains("an incomplete record"), "{there}");
        let moved = with_what_is_left("why", &root.path().join("record"));
        assert!(moved.contains("/record has gone from its place: if it was moved, `hustings check`"), "{moved}");
        assert!(!moved.contains("nothing is left"), "{moved}");
    }
}
