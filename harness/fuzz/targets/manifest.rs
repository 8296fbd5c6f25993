//! Any bytes as the manifest of a record: read or refused, and whatever was read is summed up. Inputs that begin with `!` get a
//! seal that fits, so that they get as far as what they say.
#![no_main]

use std::cell::OnceCell;
use std::path::PathBuf;

use hustings_record::{Damage, MANIFEST_FILE, Manifest, Record};
use hustings_reports::analysis::summarise;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static FOLDER: OnceCell<tempfile::TempDir> = const { OnceCell::new() };
}

fuzz_target!(|bytes: &[u8]| {
    let folder = folder();
    let text = match bytes.strip_prefix(b"!").map(serde_json::from_slice::<Manifest>) {
        Some(Ok(manifest)) => manifest.to_sealed_json().expect("what was read can be written"),
        Some(Err(_)) => return,
        None => bytes.to_vec(),
    };
    std::fs::write(folder.join(MANIFEST_FILE), text).expect("a temporary file");
    for damage in [Damage::Refused, Damage::LeftOut] {
        if let Ok(record) = Record::read_but(&folder, damage) {
            let summary = summarise(&record);
            assert!(!hustings_reports::render::json(&summary).is_empty());
        }
    }
});

/// A record's folder of this process, in memory where there is room for it.
fn folder() -> PathBuf {
    FOLDER.with(|folder| {
        let folder = folder.get_or_init(|| {
            let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary folder");
            std::fs::create_dir(folder.path().join("events")).expect("made");
            folder
        });
        folder.path().to_owned()
    })
}
