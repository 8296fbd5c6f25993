//! Errors in a scenario, worded so that the user can fix them.

use std::fmt;

/// One error, with its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The affected key.
    pub key: String,
    /// The error.
    pub what: String,
    /// The correct alternative.
    pub remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.key, self.what, self.remedy)
    }
}

/// An unknown key or value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    /// The file or argument that contains it.
    pub origin: String,
    /// Its line, from 1.
    pub line: Option<usize>,
    /// `key` or `value`.
    pub what: &'static str,
    /// What was written.
    pub given: String,
    /// The known word that was probably meant.
    pub nearest: Option<String>,
    /// All words known in this place.
    pub known: Vec<String>,
}

/// Why a scenario is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// It is not TOML, or a value has the wrong type.
    #[error("{origin}{}: {message}", at(*.line))]
    Syntax { origin: String, line: Option<usize>, message: String },
    /// An unknown key or value.
    #[error("{}{}: unknown {} `{}`{}; known are {}", .0.origin, at(.0.line), .0.what, .0.given, hint(.0.nearest.as_deref()), .0.known.join(", "))]
    Unknown(Box<UnknownWord>),
    /// Well formed, but not sensible.
    #[error("{origin}: {}", list(problems))]
    Invalid { origin: String, problems: Vec<Problem> },
}

fn at(line: Option<usize>) -> String {
    line.map(|line| format!(", line {line}")).unwrap_or_default()
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!(" (did you mean `{nearest}`?)")).unwrap_or_default()
}

fn list(problems: &[Problem]) -> String {
    match problems {
        [only] => only.to_string(),
        many => {
            let lines: Vec<String> = many.iter().map(|problem| format!("\n  {problem}")).collect();
            format!("{} problems{}", many.len(), lines.concat())
        }
    }
}

/// "; did you mean `x`?" for an error about a name, where a known one is near enough.
#[must_use]
pub fn meant(given: &str, known: &[String]) -> String {
    nearest(given, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// No valid name is longer.
const NEAR_BYTES_MAX: usize = 200;

/// The known name nearest to a given one, if any is near enough to have been meant.
#[must_use]
pub fn nearest(given: &str, known: &[String]) -> Option<String> {
    // An empty name has no neighbour. A name this long is not a typing error, and comparing it takes long.
    if given.is_empty() || given.len() > NEAR_BYTES_MAX {
        return None;
    }
    let scored = known.iter().map(|name| (strsim::damerau_levenshtein(given, name), name));
    let (distance, name) = scored.min()?;
    (distance <= (given.chars().count().max(name.chars().count()) / 2).max(1)).then(|| name.clone())
}
