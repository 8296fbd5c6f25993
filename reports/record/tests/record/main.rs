//! Written data is read back, damaged data is refused, and cut-off data is reported.

mod contradictions;
#[path = "../../../tests/common/events.rs"]
mod events;
mod faults;
mod forged;
#[path = "../../../tests/common/plain.rs"]
mod plain;

use std::fs;
use std::path::{Path, PathBuf};

use hustings_record::*;
use proptest::prelude::*;
use tempfile::TempDir;

fn begin(schema: u32, writer: &str) -> Event {
    let (writer, host) = (writer.to_owned(), None);
    Event::Segment { schema, t: 1, cell: 0, writer, host, generation: 0, pid: 1, clock_uncertainty_ns: 1 }
}

fn parameters() -> Event {
    let info = CellInfo {
        name: "c0".into(),
        groups: vec!["<script>".into()],
        hosts: vec!["h".into()],
        servers: 1,
        ..plain::info()
    };
    Event::Cell { t: 2, info: Box::new(info) }
}

/// Writes one block for each slice.
fn write(path: &Path, blocks: &[&[Event]]) {
    let mut writer = SegmentWriter::create(path).unwrap();
    for block in blocks {
        block.iter().for_each(|e| writer.push(e).unwrap());
        writer.flush().unwrap();
    }
}

/// A record of one cell with one segment of three blocks.
struct Folder {
    dir: TempDir,
    segment: PathBuf,
}

impl Folder {
    fn new(schema: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("events")).unwrap();
        let segment = dir.path().join("events/coordinator.jsonl");
        write(
            &segment,
            &[&[begin(schema, "coordinator"), parameters()], &[Event::End { t: 3 }], &[Event::End { t: 4 }]],
        );
        let folder = Self { dir, segment };
        folder.manifest(SCHEMA, "coordinator.jsonl", None);
        folder
    }

    fn manifest(&self, schema: u32, file: &str, sealed: Option<(u64, u32)>) {
        let segments = vec![SegmentEntry { file: file.into(), sealed, plain: None }];
        let mut manifest = plain::manifest(segments);
        (manifest.schema, manifest.cells[0].name) = (schema, "c0".into());
        fs::write(self.dir.path().join(MANIFEST_FILE), manifest.to_sealed_json().unwrap()).unwrap();
    }

    fn read(&self) -> Result<Record, RecordError> {
        Record::read(self.dir.path())
    }

    fn seal(&mut self) {
        let SealedSegment { path: sealed, bytes, crc, .. } = seal_segment(&self.segment).unwrap();
        assert!(self.read().is_ok(), "until the manifest names the sealed one, the plain one counts");
        self.manifest(SCHEMA, "coordinator.jsonl.zst", Some((bytes, crc)));
        fs::remove_file(&self.segment).unwrap();
        self.segment = sealed;
    }

    fn flip(&self, at: usize) {
        let mut bytes = fs::read(&self.segment).unwrap();
        bytes[at] ^= 1;
        fs::write(&self.segment, bytes).unwrap();
    }
}

#[test]
fn a_cell_that_was_run_once_says_nothing_of_repetitions() {
    let Event::Cell { mut info, .. } = parameters() else { panic!("parameters") };
    let once = serde_json::to_value(&info).unwrap();
    assert!(once.get("repetition").is_none());
    assert_eq!(serde_json::from_value::<CellInfo>(once).unwrap(), *info);
    info.repetition = Some(Repetition { of: "c0".into(), number: 2, count: 5, at_most: 0 });
    let second = serde_json::to_value(&info).unwrap();
    assert_eq!(second["repetition"], serde_json::json!({ "of": "c0", "number": 2, "count": 5, "at_most": 0 }));
    assert_eq!(serde_json::from_value::<CellInfo>(second).unwrap(), *info);
}

#[test]
fn a_whole_record_is_read_whole_plain_and_sealed() {
    let mut folder = Folder::new(SCHEMA);
    let plain = folder.read().unwrap();
    assert_eq!((plain.notes.len(), plain.cells.len(), plain.cells[0].segments[0].events.len()), (0, 1, 4));
    folder.seal();
    let sealed = folder.read().unwrap();
    assert_eq!(sealed.cells[0].segments[0].events, plain.cells[0].segments[0].events);
}

#[test]
fn a_torn_tail_costs_one_block_and_is_told() {
    let folder = Folder::new(SCHEMA);
    let whole = fs::read(&folder.segment).unwrap();
    fs::write(&folder.segment, &whole[..whole.len() - 3]).unwrap();
    let record = folder.read().unwrap();
    let segment = &record.cells[0].segments[0];
    assert_eq!(segment.events.len(), 3);
    let torn = segment.torn.as_ref().unwrap();
    assert_eq!((torn.block, torn.offset + torn.bytes), (2, whole.len() as u64 - 3));
    assert!(record.notes[0].contains("torn"), "{:?}", record.notes);
}

#[test]
fn a_torn_tail_is_cut_off_before_sealing() {
    let mut folder = Folder::new(SCHEMA);
    let whole = fs::read(&folder.segment).unwrap();
    fs::write(&folder.segment, &whole[..whole.len() - 3]).unwrap();
    folder.seal();
    assert_eq!(folder.read().unwrap().cells[0].segments[0].events.len(), 3);
}

#[test]
fn a_flipped_byte_anywhere_but_in_the_tail_is_refused() {
    let folder = Folder::new(SCHEMA);
    let whole = fs::read(&folder.segment).unwrap();
    let text = String::from_utf8(whole.clone()).unwrap();
    let last_block = text[..text.rfind("\n#").unwrap()].rfind("\n#").unwrap();
    for at in 0..last_block {
        folder.flip(at);
        assert!(folder.read().is_err(), "byte {at} of {last_block}");
        fs::write(&folder.segment, &whole).unwrap();
    }
}

#[test]
fn a_flipped_byte_in_a_sealed_segment_is_refused() {
    let mut folder = Folder::new(SCHEMA);
    folder.seal();
    let whole = fs::read(&folder.segment).unwrap();
    for at in 0..whole.len() {
        folder.flip(at);
        let error = folder.read().unwrap_err();
        assert!(matches!(error, RecordError::Mismatch { .. }), "{error}");
        fs::write(&folder.segment, &whole).unwrap();
    }
    fs::write(&folder.segment, &whole[1..]).unwrap();
    assert!(folder.read().unwrap_err().to_string().contains("bytes instead of"));
}

#[test]
fn a_sealed_segment_is_refused_even_when_the_manifest_was_made_to_fit() {
    let mut folder = Folder::new(SCHEMA);
    folder.seal();
    let whole = fs::read(&folder.segment).unwrap();
    for at in 0..whole.len() {
        folder.flip(at);
        let bytes = fs::read(&folder.segment).unwrap();
        folder.manifest(SCHEMA, "coordinator.jsonl.zst", Some((bytes.len() as u64, crc(&bytes))));
        if let Ok(record) = folder.read() {
            // A bit of the frame's header that does not affect its content.
            assert_eq!(record.cells[0].segments[0].events.len(), 4, "byte {at}");
        }
        fs::write(&folder.segment, &whole).unwrap();
    }
}

/// CRC-32 (IEEE), bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc: u32, &b| (0..8).fold(crc ^ u32::from(b), step))
}

#[test]
fn a_missing_segment_is_refused_and_named() {
    let folder = Folder::new(SCHEMA);
    fs::remove_file(&folder.segment).unwrap();
    let error = folder.read().unwrap_err().to_string();
    assert!(error.contains("coordinator.jsonl") && error.contains("not there"), "{error}");
}

#[test]
fn another_schema_is_refused_in_the_manifest_and_in_a_segment() {
    let folder = Folder::new(SCHEMA + 1);
    assert!(matches!(folder.read(), Err(RecordError::Schema { found, .. }) if found == SCHEMA + 1));
    let folder = Folder::new(SCHEMA);
    folder.manifest(SCHEMA + 7, "coordinator.jsonl", None);
    assert!(matches!(folder.read(), Err(RecordError::Schema { found, .. }) if found == SCHEMA + 7));
}

#[test]
fn a_folder_that_is_no_record_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let error = Record::read(dir.path()).unwrap_err().to_string();
    assert!(error.contains("is this the folder of a run?"), "{error}");
    fs::write(dir.path().join(MANIFEST_FILE), "{").unwrap();
    assert!(matches!(Record::read(dir.path()), Err(RecordError::ManifestSyntax { .. })));
}

#[test]
fn an_existing_segment_is_not_overwritten() {
    let folder = Folder::new(SCHEMA);
    assert!(SegmentWriter::create(&folder.segment).is_err());
}

#[test]
fn a_segment_cut_off_at_any_byte_gives_its_whole_blocks_and_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jsonl");
    write(&path, &[&[begin(SCHEMA, "w")], &[Event::End { t: 1 }, Event::End { t: 2 }], &[Event::End { t: 3 }]]);
    let whole = fs::read(&path).unwrap();
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let (events, torn) = read_segment(&path).unwrap();
        assert_eq!(
            torn.is_none(),
            [0, whole.len()].contains(&length) || [1, 3].contains(&events.len()) && ends(&whole[..length])
        );
    }
}

/// Whether these bytes end with a closing line.
fn ends(bytes: &[u8]) -> bool {
    let lines = bytes.strip_suffix(b"\n").map(|b| b.rsplit(|&b| b == b'\n').next().unwrap_or(b));
    lines.is_some_and(|last| last.first() == Some(&b'#'))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_event_comes_back_as_it_was_written(
        events in prop::collection::vec(events::event(), 1..40),
        cut in 0_usize..40,
        seal in any::<bool>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        let cut = cut.min(events.len());
        write(&path, &[&events[..cut], &events[cut..]]);
        let path = if seal { seal_segment(&path).unwrap().path } else { path };
        let (read, torn) = read_segment(&path).unwrap();
        prop_assert_eq!(torn, None);
        prop_assert_eq!(read, events);
    }
}
