//! Any bytes as a segment of a record: read, torn or refused, and what was read is the same once it is sealed. Inputs that begin
//! with `!` get a closing line that fits, so that they get as far as the events.
#![no_main]

use std::cell::OnceCell;
use std::io::Write as _;
use std::path::PathBuf;

use hustings_record::{Event, SealedSegment, read_segment, seal_segment};
use libfuzzer_sys::fuzz_target;

thread_local! {
    static FOLDER: OnceCell<tempfile::TempDir> = const { OnceCell::new() };
}

fuzz_target!(|bytes: &[u8]| {
    let segment = bytes.strip_prefix(b"!").map_or_else(|| bytes.to_vec(), close);
    let path = path();
    std::fs::write(&path, &segment).expect("a temporary file");
    let Ok((events, torn)) = read_segment(&path) else { return };
    if events.is_empty() {
        return;
    }
    assert!(torn.is_none_or(|torn| torn.offset + torn.bytes == segment.len() as u64), "a torn tail is at the end");
    let SealedSegment { path: sealed, bytes: size, .. } = seal_segment(&path).expect("what can be read can be sealed");
    assert_eq!(std::fs::metadata(&sealed).expect("it was sealed").len(), size);
    let (again, torn) = read_segment(&sealed).expect("what was sealed can be read");
    assert!(torn.is_none(), "what is sealed is whole");
    assert_eq!(written(&again), written(&events), "sealing changes nothing");
});

/// A temporary file of this process, in memory where there is room for it.
fn path() -> PathBuf {
    FOLDER.with(|folder| {
        let folder = folder.get_or_init(|| {
            tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary folder")
        });
        folder.path().join("fuzz.log")
    })
}

/// The events as they are written: some hold numbers that do not equal themselves.
fn written(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| serde_json::to_string(event).expect("what was read can be written")).collect()
}

/// The lines as one block with a closing line that fits.
fn close(bytes: &[u8]) -> Vec<u8> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#');
    let mut body: Vec<u8> = Vec::new();
    let mut count = 0;
    for line in lines {
        body.extend_from_slice(line);
        body.push(b'\n');
        count += 1;
    }
    let (size, crc) = (body.len(), crc32fast::hash(&body));
    writeln!(body, "#0 {size} {count} {crc:08x}").expect("memory");
    body
}
