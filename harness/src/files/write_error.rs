//! The error of an output that cannot be written: which file, why, and what helps.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Of a file that the user named.
    #[error("{path} cannot be written: {cause}; {}", remedy(.cause, "another place"))]
    File { path: PathBuf, cause: io::Error },
    /// Of a file in a new record.
    #[error("the record cannot be written to {path}: {cause}; {}", record_remedy(.cause))]
    Record { path: PathBuf, cause: io::Error },
    /// Of a file in a run's own folder.
    #[error("{path} cannot be written: {cause}; {}", remedy(.cause, OTHER_TEMPORARY))]
    Temporary { path: PathBuf, cause: io::Error },
}

/// The other place for temporary files.
const OTHER_TEMPORARY: &str = "another folder for temporary files by HUSTINGS_TMP";

impl WriteError {
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::File { path: path.to_owned(), cause }
    }

    pub(crate) fn record(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Record { path: path.to_owned(), cause }
    }

    pub(crate) fn temporary(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Temporary { path: path.to_owned(), cause }
    }
}

/// The end of an error about a file in a run's own folder: the remedy if there is no room for it, else nothing.
pub(crate) fn if_full(cause: &io::Error) -> String {
    match cause.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            format!("; {}", remedy(cause, OTHER_TEMPORARY))
        }
        _ => String::new(),
    }
}

/// A record's folders are made before anything is written to them.
fn record_remedy(cause: &io::Error) -> String {
    match cause.kind() {
        ErrorKind::NotFound => "its folder has gone from there: it was moved or deleted".to_owned(),
        _ => remedy(cause, "another --out"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_whose_folder_has_gone_is_told_to_be_moved_or_deleted() {
        let told = |kind: ErrorKind| WriteError::record(Path::new("record/events/x"))(kind.into()).to_string();
        let gone = told(ErrorKind::NotFound);
        assert!(gone.ends_with("; its folder has gone from there: it was moved or deleted"), "{gone}");
        assert!(told(ErrorKind::StorageFull).ends_with("; free space there, or choose another --out"));
        assert!(told(ErrorKind::PermissionDenied).ends_with("; choose another --out"));
    }

    #[test]
    fn a_full_folder_for_temporary_files_is_told_with_its_remedy() {
        let remedy = "; free space there, or choose another folder for temporary files by HUSTINGS_TMP";
        let full = || io::Error::from(ErrorKind::StorageFull);
        assert!(WriteError::temporary(Path::new("/tmp/x"))(full()).to_string().ends_with(remedy));
        assert_eq!(if_full(&full()), remedy);
        assert_eq!(if_full(&ErrorKind::NotFound.into()), "");
    }
}
