//! The working directory of this process, which its children get. It may have been removed: then `java` and others do not
//! start, and do not say why.

use std::io;

use anyhow::anyhow;

pub(crate) const REMEDY: &str = "change to a folder that exists";

/// There is no working directory.
#[derive(Debug, thiserror::Error)]
#[error("the working directory cannot be used, and no other program starts in it: {0}")]
pub(crate) struct NoWorkingDirectory(io::Error);

/// Finds a working directory that is gone.
pub(crate) fn check() -> Result<(), NoWorkingDirectory> {
    std::env::current_dir().map(drop).map_err(NoWorkingDirectory)
}

/// Refuses it, before the user's programs are started.
pub(crate) fn required() -> anyhow::Result<()> {
    check().map_err(|gone| anyhow!("{gone}; {REMEDY}"))
}
