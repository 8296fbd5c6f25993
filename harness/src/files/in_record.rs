//! Outputs in a record. A record is whole only without other files, so no command writes one into it.

use std::path::{Path, PathBuf};

use hustings_record::MANIFEST_FILE;

use super::replace::{folder_of, followed};

/// How far down a record has files.
const RECORD_DEPTH: usize = 3;

/// An output would lie in a record.
#[derive(Debug, thiserror::Error)]
#[error(
    "{option} {}: it lies in a record ({}), which would be another one then; choose another {option}",
    .path.display(), .record.display()
)]
pub(crate) struct OutputInRecord {
    option: String,
    path: PathBuf,
    record: PathBuf,
}

/// Refuses an output, a file or a folder, in or into a record. `option` names it in the error.
///
/// # Errors
/// It lies in a record, by its path or by where links lead.
pub(crate) fn refuse_in_record(option: &str, path: &Path) -> Result<(), OutputInRecord> {
    let end = led_to(path);
    let Some(record) = record_around(path).or_else(|| record_around(&end)) else { return Ok(()) };
    let record = if record.as_os_str().is_empty() { Path::new(".") } else { record };
    Err(OutputInRecord { option: option.to_owned(), path: path.to_owned(), record: record.to_owned() })
}

/// The record in which a path lies, whether or not it exists.
fn record_around(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).take(RECORD_DEPTH).find(|folder| folder.join(MANIFEST_FILE).is_file())
}

/// Where the path leads, by whatever links, even if nothing is there yet.
pub(crate) fn led_to(path: &Path) -> PathBuf {
    let in_folder = || {
        let end = followed(path).ok()?;
        Some(folder_of(&end).canonicalize().ok()?.join(end.file_name()?))
    };
    let in_missing_folder = || {
        let resolved = |there: &Path| {
            let named = if there.as_os_str().is_empty() { Path::new(".") } else { there };
            Some(named.canonicalize().ok()?.join(path.strip_prefix(there).ok()?))
        };
        path.ancestors().find_map(resolved)
    };
    path.canonicalize().ok().or_else(in_folder).or_else(in_missing_folder).unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::refuse_in_record;

    #[test]
    fn an_output_lies_in_a_record_by_its_path_or_by_where_links_lead() {
        let root = tempfile::tempdir().expect("a temp dir");
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("record/events")).expect("made");
        fs::write(at("record/manifest.json"), "{}").expect("written");
        symlink("record/events", at("folder")).expect("made");
        symlink("record/new", at("dangling")).expect("made");
        for inside in ["record/x", "record/events/x", "record/new/deep/x", "folder/x", "folder/new/x", "dangling"] {
            let why = refuse_in_record("--out", &at(inside)).expect_err(inside).to_string();
            assert!(why.starts_with(&format!("--out {}: it lies in a record (", at(inside).display())), "{why}");
            assert!(why.contains("/record)") && why.ends_with("; choose another --out"), "{why}");
        }
        for outside in ["x", "record", "new/deep/x"] {
            assert!(refuse_in_record("--out", &at(outside)).is_ok(), "{outside}");
        }
    }
}
