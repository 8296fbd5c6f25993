//! Standard output: the requested result. Everything else goes to standard error, whose errors are ignored: a closed
//! terminal must not abort the cleanup.
//!
//! A closed standard output counts as `/dev/null`: Rust's runtime opens that in its place before `main`, and only unsafe
//! code runs earlier.

use std::env::var_os;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use hustings_reports::render::{clean_json, clean_prose};

use crate::console::exit::Failure;

/// Writes a line. On a terminal it removes control sequences. A reader that has closed the pipe is not an error.
///
/// # Errors
/// The line cannot be written, for example because the disk is full.
pub fn say(text: impl Display) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        put(format_args!("{}\n", clean_prose(&text.to_string())))
    } else {
        put(format_args!("{text}\n"))
    }
}

/// Writes a line of JSON, or several. Whatever its texts hold does nothing on a terminal, and its value is unchanged.
///
/// # Errors
/// As [`say`].
pub fn say_json(json: impl Display) -> Result<(), Failure> {
    put(format_args!("{}\n", clean_json(json.to_string())))
}

/// Writes the text unchanged.
///
/// # Errors
/// As [`say`].
pub fn put(text: impl Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(unwritten(error)),
        _ => Ok(()),
    }
}

/// The failure to write to standard output.
pub(crate) fn unwritten(cause: io::Error) -> Failure {
    Failure::output(anyhow::Error::new(cause).context("standard output cannot be written"))
}

/// Writes a line for people to standard error.
macro_rules! inform {
    ($($what:tt)*) => { $crate::console::output::write_error(format_args!($($what)*)) };
}
pub(crate) use inform;

/// Implements [`inform!`]. Control sequences in names and other external texts are removed.
pub(crate) fn write_error(text: impl Display) {
    write_error_as_it_is(clean_prose(&text.to_string()));
}

/// As [`write_error`], for text that is already cleaned and may have colours.
pub(crate) fn write_error_as_it_is(text: impl Display) {
    // A failure cannot be reported anywhere.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Whether standard error is a terminal on which a line can be redrawn.
#[must_use]
pub fn is_screen() -> bool {
    io::stderr().is_terminal() && var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether the user wants colours there: <https://no-color.org>.
#[must_use]
pub fn is_coloured() -> bool {
    is_screen() && var_os("NO_COLOR").is_none_or(|no| no.is_empty())
}
