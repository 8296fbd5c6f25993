//! The error of an output that cannot be written: which file, why, and what helps.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Of a file that the user named.
    #[error("{path} cannot be written: {cause}; {}", remedy(.cause, "another place"))]
    File { path: PathBuf, cause: io::Error },
    /// Of a file in a new record.
    #[error("the record cannot be written to {path}: {cause}; {}", remedy(.cause, "another --out"))]
    Record { path: PathBuf, cause: io::Error },
}

impl WriteError {
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::File { path: path.to_owned(), cause }
    }

    pub(crate) fn record(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Record { path: path.to_owned(), cause }
    }
}

fn remedy(cause: &io::Error, elsewhere: &str) -> String {
    match cause.kind() {
        ErrorKind::AlreadyExists => "choose another name".to_owned(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => format!("free space there, or choose {elsewhere}"),
        ErrorKind::FileTooLarge => "raise the limit on the size of files (`ulimit -f`)".to_owned(),
        _ => format!("choose {elsewhere}"),
    }
}
