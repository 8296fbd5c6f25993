//! Records that outlive their test, for a later recount: `HUSTINGS_KEEP_RECORDS` names a folder.

use std::fs;
use std::path::{Path, PathBuf};

/// Limits on kept records and their total: a test machine's disk is small.
const RECORD_BYTES_MAX: u64 = 32 * 1024 * 1024;
const KEPT_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Copies every record below the folder that has a summary. Those of a failed test are not kept: it may have stopped in
/// the middle of damaging one.
pub(super) fn records_below(folder: &Path) {
    let Some(kept) = std::env::var_os("HUSTINGS_KEEP_RECORDS").map(PathBuf::from) else { return };
    if std::thread::panicking() {
        return;
    }
    fs::create_dir_all(&kept).expect("a folder for records");
    for manifest in files_below(folder).iter().filter(|file| file.ends_with("manifest.json")) {
        let record = manifest.parent().expect("a folder");
        if record.join("summary.json").is_file() && fits(record, &kept) {
            copy(record, &kept.join(name_of(folder, record)));
        }
    }
}

fn fits(record: &Path, kept: &Path) -> bool {
    let bytes = bytes_below(record);
    bytes <= RECORD_BYTES_MAX && bytes_below(kept) + bytes <= KEPT_BYTES_MAX
}

fn bytes_below(folder: &Path) -> u64 {
    files_below(folder).iter().filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).sum()
}

/// Other tests may add and replace files there at the same time.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// The test's name, and the record's path in its folder.
fn name_of(folder: &Path, record: &Path) -> String {
    let thread = std::thread::current();
    let place = record.strip_prefix(folder).expect("below it").display().to_string();
    format!("{}-{place}", thread.name().unwrap_or("test")).replace(['/', ':'], "-")
}

/// A retried test replaces its earlier copy.
fn copy(record: &Path, target: &Path) {
    let _ = fs::remove_dir_all(target);
    for file in files_below(record).into_iter().filter(|file| !file.ends_with("report.html")) {
        let to = target.join(file.strip_prefix(record).expect("below it"));
        fs::create_dir_all(to.parent().expect("a folder")).expect("made");
        fs::copy(&file, to).expect("copied");
    }
}
