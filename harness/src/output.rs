//! Standard output: what was asked for, for whoever reads it. Everything else is told on standard error.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write as _};

use anyhow::Context as _;

use crate::exit::Failure;

/// Writes this and the end of a line. A reader that has gone had enough: that is no error.
///
/// # Errors
/// It cannot be written, as on a full disk.
pub fn say(text: impl Display) -> Result<(), Failure> {
    put(format_args!("{text}\n"))
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
