//! Standard output: what was asked for, for whoever reads it. Everything else is told on standard error, as long as there is
//! one: a terminal that was closed must not end what has to be put in order.

use std::env::var_os;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use anyhow::Context as _;
use hustings_reports::render::clean_prose;

use crate::console::exit::Failure;

/// Writes this and the end of a line, on a terminal without what would do something there. A reader that has gone had enough: that
/// is no error.
///
/// # Errors
/// It cannot be written, as on a full disk.
pub fn say(text: impl Display) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        put(format_args!("{}\n", clean_prose(&text.to_string())))
    } else {
        put(format_args!("{text}\n"))
    }
}

/// Writes this as it is.
///
/// # Errors
/// As [`say`].
pub fn put(text: impl Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("standard output cannot be written").map_err(Failure::infrastructure)
        }
        _ => Ok(()),
    }
}

/// Tells people something, on a line of its own.
macro_rules! inform {
    ($($what:tt)*) => { $crate::console::output::write_error(format_args!($($what)*)) };
}
pub(crate) use inform;

/// What [`inform!`] does: names and texts from outside do nothing on a terminal.
pub(crate) fn write_error(text: impl Display) {
    write_error_as_it_is(clean_prose(&text.to_string()));
}

/// The same of text that was cleaned where it was made, and may have colours.
pub(crate) fn write_error_as_it_is(text: impl Display) {
    // There is nobody left to complain to.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Whether standard error is a terminal on which a line can be drawn over.
#[must_use]
pub fn is_screen() -> bool {
    io::stderr().is_terminal() && var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether people want colours there: <https://no-color.org>.
#[must_use]
pub fn is_coloured() -> bool {
    is_screen() && var_os("NO_COLOR").is_none_or(|no| no.is_empty())
}
