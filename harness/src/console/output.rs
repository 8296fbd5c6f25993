//! Standard output: the requested result. Everything else goes to standard error, whose errors are ignored: a closed
//! terminal must not abort the cleanup.
//!
//! A closed standard output counts as `/dev/null`: Rust's runtime opens that in its place before `main`, and only unsafe
//! code runs earlier.

use std::env::var_os;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use hustings_reports::render::{clean_json, clean_line, clean_prose};

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

/// Implements [`inform!`]. It is one line, whatever names and other external texts hold.
pub(crate) fn write_error(text: impl Display) {
    write_error_as_it_is(clean_line(&text.to_string()));
}

/// Writes an error. Its own further lines are indented; another line end is of an external text and becomes a space.
pub(crate) fn write_failure(text: &str) {
    write_error_as_it_is(joined(&clean_prose(text)));
}

/// As [`write_error`], for text of one or more lines that is already cleaned and may have colours.
pub(crate) fn write_error_as_it_is(text: impl Display) {
    // A failure cannot be reported anywhere.
    let _ = writeln!(io::stderr().lock(), "{}", without_commands(&text.to_string()));
}

/// The text with a space for each line end that no indented line follows.
fn joined(text: &str) -> String {
    text.split('\n').enumerate().fold(String::with_capacity(text.len()), |mut all, (at, line)| {
        if at > 0 {
            all.push(if line.starts_with("  ") { '\n' } else { ' ' });
        }
        all + line
    })
}

/// The text without commands to a program that shows a job's log. GitHub's runner obeys a line that begins with `::`, after
/// space or not, and `##[` anywhere.
fn without_commands(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let command = line.trim_start();
        let indent = &line[..line.len() - command.len()];
        let mark = if command.starts_with("::") { "\\" } else { "" };
        format!("{indent}{mark}{command}")
    });
    lines.collect::<Vec<_>>().join("\n").replace("##[", "##\\[")
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

#[cfg(test)]
mod tests {
    use hustings_reports::render::clean_prose;

    use super::{joined, without_commands};

    #[test]
    fn an_error_keeps_its_own_lines_and_no_others() {
        let own = "server 1 died; its last log lines:\n  one\n  two";
        assert_eq!(joined(own), own);
        let foreign = "unknown variant `a\r\n::error::boo`, expected `b`\n";
        assert_eq!(joined(&clean_prose(foreign)), "unknown variant `a  ::error::boo`, expected `b` ");
    }

    #[test]
    fn no_line_is_a_command_to_the_program_that_shows_it() {
        for (text, shown) in [
            ("::error::boo", "\\::error::boo"),
            ("a\n \t::add-mask::b\nc", "a\n \t\\::add-mask::b\nc"),
            ("a ##[error]boo", "a ##\\[error]boo"),
            ("a::b: c\n  d\n", "a::b: c\n  d\n"),
        ] {
            assert_eq!(without_commands(text), shown);
        }
    }
}
