//! Reads a record: the manifest, then every segment it names. A missing or damaged segment is an error. A torn tail of
//! a run that did not end in order is reported and tolerated.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cell::CellInfo;
use crate::checked::ChecksummedReader;
use crate::contradiction::contradiction;
use crate::event::Event;
use crate::files::{files_below, files_beside, open_inside, read_small};
use crate::manifest::{
    CellEntry, MANIFEST_FILE, Manifest, REPORT_FILE, SCHEMA, SEAL, SUMMARY_FILE, SegmentEntry, UNFINISHED_PREFIX,
    seal_of,
};
use crate::nanos::Nanos;
use crate::placement::SegmentEvents;
use crate::segment::{SEALED_ENDING, SEGMENT_ENDING, SegmentContents, SegmentError, TornTail, plain_most, read_opened};
use crate::words::{plural, quoted};

/// Folder of the segments.
const EVENTS: &str = "events";
/// At most this many files that the manifest does not name are reported one by one.
const STRANGERS_TOLD_MAX: usize = 5;

/// A record in memory.
#[derive(Clone, Debug)]
pub struct Record {
    pub manifest: Manifest,
    /// In the order in which they were run. Cells without recorded parameters are left out and reported in `notes`.
    pub cells: Vec<CellRecord>,
    /// Data that the reader dropped or repaired.
    pub notes: Vec<String>,
    /// Files that were removed or added after the record was written: it may not be the record that it claims to be.
    pub changed: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct CellRecord {
    pub info: CellInfo,
    /// Whether the manifest says that the cell ended in order.
    pub complete: bool,
    pub segments: Vec<SegmentRecord>,
}

#[derive(Clone, Debug)]
pub struct SegmentRecord {
    /// Path below the record's folder.
    pub file: String,
    pub writer: String,
    pub host: Option<u16>,
    pub generation: u32,
    /// In the order in which they were written.
    pub events: Vec<Event>,
    pub torn: Option<TornTail>,
}

impl SegmentRecord {
    /// When its writer ended in order, if it did. Records of earlier versions may have events after the end event.
    #[must_use]
    pub fn ended(&self) -> Option<Nanos> {
        self.events.iter().rev().find_map(|event| if let Event::End { t } = event { Some(*t) } else { None })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("{path}: {source}; is this the folder of a run?")]
    Manifest { path: PathBuf, source: std::io::Error },
    #[error("{path}: not a manifest: {source}")]
    ManifestSyntax { path: PathBuf, source: serde_json::Error },
    #[error("{path}: schema {found}, and this version reads {SCHEMA}; use the version of hustings that wrote it")]
    Schema { path: PathBuf, found: u32 },
    #[error(transparent)]
    Segment(#[from] SegmentError),
    #[error("{file}: named by the manifest, but {what}")]
    Mismatch { file: String, what: String },
    #[error("{file}: {source}")]
    Closed { file: String, source: std::io::Error },
    #[error("{path}: {what}; it was changed after it was written")]
    Forged { path: PathBuf, what: String },
}

impl RecordError {
    /// Whether the events of a cell are damaged. The rest can be read without that cell.
    #[must_use]
    pub fn is_of_a_cell(&self) -> bool {
        match self {
            Self::Segment(_) => true,
            Self::Mismatch { file, .. } => Path::new(file).starts_with(EVENTS),
            Self::Manifest { .. }
            | Self::ManifestSyntax { .. }
            | Self::Schema { .. }
            | Self::Closed { .. }
            | Self::Forged { .. } => false,
        }
    }
}

/// What to do about cells whose segments are damaged or missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The record cannot be read.
    Refused,
    /// They are left out and reported; the rest is read.
    LeftOut,
}

impl Record {
    /// Reads the record in `folder`.
    ///
    /// # Errors
    /// The folder holds no record, a record of another version, or one that was changed after it was written.
    pub fn read(folder: &Path) -> Result<Self, RecordError> {
        Self::read_but(folder, Damage::Refused)
    }

    /// The same, with damaged cells left out if `damage` says so.
    ///
    /// # Errors
    /// As [`read`](Self::read). The manifest itself must be unchanged.
    pub fn read_but(folder: &Path, damage: Damage) -> Result<Self, RecordError> {
        let mut reading = RecordReader::begin(folder, damage)?;
        let mut cells = Vec::new();
        while let Some(cell) = reading.next_cell()? {
            cells.push(cell);
        }
        let RecordReader { manifest, notes, changed, .. } = reading;
        Ok(Self { manifest, cells, notes, changed })
    }
}

/// A record that is read cell by cell, so that no more than one needs to be in memory.
#[derive(Debug)]
pub struct RecordReader {
    pub manifest: Manifest,
    /// Data that the reader has dropped or repaired so far.
    pub notes: Vec<String>,
    /// As [`Record::changed`].
    pub changed: Vec<String>,
    folder: PathBuf,
    damage: Damage,
    /// Number of the manifest's cells that were read.
    read: usize,
}

impl RecordReader {
    /// Reads the manifest of the record in `folder`, and checks the files there.
    ///
    /// # Errors
    /// The folder holds no record, a record of another version, or a manifest that was changed after it was written.
    pub fn begin(folder: &Path, damage: Damage) -> Result<Self, RecordError> {
        let path = folder.join(MANIFEST_FILE);
        let text =
            read_small(folder, MANIFEST_FILE).map_err(|source| RecordError::Manifest { path: path.clone(), source })?;
        let (manifest, sealed) = parse_manifest(&text, &path)?;
        let mut reading =
            Self { manifest, notes: Vec::new(), changed: Vec::new(), folder: folder.to_owned(), damage, read: 0 };
        if !sealed {
            reading.changed.push(format!("{MANIFEST_FILE}: its seal was taken off"));
        }
        named_once(&reading.manifest, &path)?;
        reading.look_beside()?;
        Ok(reading)
    }

    /// A segment that the manifest names and that is not there, or not as long as it was written. None is read.
    #[must_use]
    pub fn missing_segment(&self) -> Option<String> {
        let all = self.manifest.cells.iter().flat_map(|cell| cell.segments.iter().map(move |segment| (cell, segment)));
        for (cell, segment) in all {
            let file = format!("{EVENTS}/{}", segment.file);
            let length = self.folder.join(&file).symlink_metadata().ok().map(|there| there.len());
            let fits = match (length, segment.sealed) {
                (Some(length), Some((bytes, _))) => length == bytes,
                (Some(_), None) => true,
                (None, sealed) => sealed.is_none() && !cell.complete,
            };
            if !fits {
                return Some(file);
            }
        }
        None
    }

    /// The next cell, in the order in which they were run. None: there are no more cells.
    ///
    /// # Errors
    /// The cell was changed after it was written, and damaged cells are not left out.
    pub fn next_cell(&mut self) -> Result<Option<CellRecord>, RecordError> {
        while let Some(entry) = self.manifest.cells.get(self.read).cloned() {
            self.read += 1;
            match (self.read_cell(&entry), self.damage) {
                (Err(error @ (RecordError::Segment(_) | RecordError::Mismatch { .. })), Damage::LeftOut) => {
                    self.notes.push(format!("cell {}: left out, for {error}", entry.name));
                }
                (Ok(None), _) => {}
                (read, _) => return read,
            }
        }
        Ok(None)
    }

    /// Checks the record's files without events, and looks for files that the manifest does not name.
    fn look_beside(&mut self) -> Result<(), RecordError> {
        let folder = &self.folder;
        for (file, (bytes, crc)) in &self.manifest.files {
            match check(folder, file, *bytes, *crc) {
                Ok(()) => {}
                Err(RecordError::Mismatch { file, what }) if !folder.join(&file).exists() => {
                    self.changed.push(format!("{file}: named by the manifest, but {what}"));
                }
                Err(error) => return Err(error),
            }
        }
        let named: BTreeSet<String> =
            self.manifest.cells.iter().flat_map(|cell| &cell.segments).flat_map(names).collect();
        // A run in progress writes more of them.
        let there = files_below(folder, EVENTS).unwrap_or_default().into_iter().filter(|file| !named.contains(file));
        let beside = files_beside(folder, EVENTS).unwrap_or_default().into_iter();
        let beside = beside.filter(|file| !self.manifest.files.contains_key(file) && !is_expected_beside(file));
        let strangers: Vec<String> = there.chain(beside).collect();
        for file in strangers.iter().take(STRANGERS_TOLD_MAX) {
            self.changed.push(format!("{file}: not named by the manifest, and not read"));
        }
        if let Some(more) = strangers.len().checked_sub(STRANGERS_TOLD_MAX).filter(|more| *more > 0) {
            self.changed.push(format!("{more} more files are not named by the manifest"));
        }
        Ok(())
    }

    fn read_cell(&mut self, entry: &CellEntry) -> Result<Option<CellRecord>, RecordError> {
        let folder = &self.folder;
        let mut segments = Vec::new();
        for segment in &entry.segments {
            let file = format!("{EVENTS}/{}", segment.file);
            if let Some((bytes, crc)) = segment.sealed {
                check(folder, &file, bytes, crc)?;
            }
            if folder.join(&file).symlink_metadata().is_err() && !entry.complete {
                self.notes.push(format!("{file}: its writer never came to begin it"));
                continue;
            }
            let mismatch = |what: String| RecordError::Mismatch { file: file.clone(), what };
            let (open, length) = open_inside(folder, &file).map_err(|error| unopened(&file, error))?;
            let most = segment.plain.map_or(plain_most(length), |plain| plain.min(plain_most(length)));
            let SegmentContents { events, torn, plain } = read_opened(open, &folder.join(&file), most)?;
            if let Some(stated) = segment.plain.filter(|stated| *stated != plain) {
                return Err(mismatch(format!("it has {plain} bytes in plain instead of {stated}")));
            }
            if let Some(torn) = &torn {
                self.notes.push(format!("{file}: its last block ({} bytes) was torn and is left out", torn.bytes));
            }
            match events.first() {
                Some(Event::Segment { schema, .. }) if *schema != SCHEMA => {
                    return Err(RecordError::Schema { path: folder.join(&file), found: *schema });
                }
                Some(Event::Segment { writer, cell, .. }) if !is_of(segment, writer) || *cell != entry.index => {
                    return Err(mismatch(format!("it is what {writer} wrote about cell {cell}")));
                }
                Some(Event::Segment { writer, host, generation, .. }) => {
                    let (writer, host, generation) = (writer.clone(), *host, *generation);
                    segments.push(SegmentRecord { file, writer, host, generation, torn, events });
                }
                Some(_) => return Err(mismatch("it does not begin with its own name".into())),
                None => self.notes.push(format!("{file}: empty")),
            }
        }
        let info = segments.iter().flat_map(|s| &s.events).find_map(|e| match e {
            Event::Cell { info, .. } => Some((**info).clone()),
            _ => None,
        });
        let ensemble = self.manifest.ensemble_kind;
        let events: Vec<SegmentEvents<'_>> = segments.iter().map(|s| (s.host, s.events.as_slice())).collect();
        let odd = info.as_ref().and_then(|info| {
            let odd = info.beyond_limits().or_else(|| other_cell(info, entry));
            odd.or_else(|| contradiction(info, &events, ensemble))
        });
        if let Some(odd) = odd {
            let what = format!("cell {}: {odd}, which no run has", entry.name);
            return Err(RecordError::Mismatch { file: format!("{EVENTS}/{}", entry.name), what });
        }
        if info.is_none() {
            self.notes.push(format!("cell {}: ended before its parameters were written; left out", entry.name));
        }
        Ok(info.map(|info| CellRecord { info, complete: entry.complete, segments }))
    }
}

/// Whether the events of a cell are of another one than the manifest says, in words.
fn other_cell(info: &CellInfo, entry: &CellEntry) -> Option<String> {
    let differs = (info.index, &info.name) != (entry.index, &entry.name);
    differs
        .then(|| format!("it is cell {}, and by its events cell {}, {}", entry.index, info.index, quoted(&info.name)))
}

/// Checks that the manifest lists each cell and each segment once, the latter by its shortest path, and no more cells
/// than were planned.
fn named_once(manifest: &Manifest, path: &Path) -> Result<(), RecordError> {
    let forged = |what: String| RecordError::Forged { path: path.to_owned(), what };
    let (cells, planned) = (manifest.cells.len(), manifest.cells_planned);
    if cells as u64 > u64::from(planned) {
        return Err(forged(format!("it has {}, and {planned} were planned", plural(cells as u64, "cell", "cells"))));
    }
    let (mut cells, mut files) = (BTreeSet::new(), BTreeSet::new());
    for cell in &manifest.cells {
        if !cells.insert((None, Some(cell.index))) || !cells.insert((Some(&cell.name), None)) {
            return Err(forged(format!("cell {} is listed twice", cell.name)));
        }
        if let Some(twice) = cell.segments.iter().find(|segment| !files.insert(stem(&segment.file))) {
            return Err(forged(format!("segment {} is listed twice", twice.file)));
        }
        // Absolute paths are refused where they are opened.
        let is_shortest =
            |file: &str| file.starts_with('/') || file.split('/').all(|part| !part.is_empty() && part != ".");
        if let Some(long) = cell.segments.iter().find(|segment| !is_shortest(&segment.file)) {
            return Err(forged(format!("segment {} has a longer path than it needs", long.file)));
        }
    }
    Ok(())
}

/// The path of a segment without its ending.
fn stem(file: &str) -> &str {
    let stem = file.strip_suffix(SEALED_ENDING).or(file.strip_suffix(SEGMENT_ENDING)).unwrap_or(file);
    stem.strip_suffix('.').unwrap_or(stem)
}

/// Whether the segment bears the name of this writer.
fn is_of(segment: &SegmentEntry, writer: &str) -> bool {
    stem(&segment.file).rsplit('/').next() == Some(writer)
}

/// The paths below the record that a segment may have. It is compressed before its plain form is removed.
fn names(segment: &SegmentEntry) -> [String; 3] {
    let stem = stem(&segment.file);
    [SEGMENT_ENDING, SEALED_ENDING, "part"].map(|ending| format!("{EVENTS}/{stem}.{ending}"))
}

/// Whether a record may hold this file although its manifest does not list it: the manifest itself, what is made from
/// the record, and what is still being written.
fn is_expected_beside(file: &str) -> bool {
    [MANIFEST_FILE, SUMMARY_FILE, REPORT_FILE].contains(&file)
        || file.starts_with(UNFINISHED_PREFIX) && !file.contains('/')
}

/// The manifest, and whether it has a seal.
fn parse_manifest(text: &[u8], path: &Path) -> Result<(Manifest, bool), RecordError> {
    let syntax = |source| RecordError::ManifestSyntax { path: path.to_owned(), source };
    let mut loose: Value = serde_json::from_slice(text).map_err(syntax)?;
    let found = loose.get("schema").and_then(Value::as_u64).map(|schema| u32::try_from(schema).unwrap_or(u32::MAX));
    let seal = loose.as_object_mut().and_then(|fields| fields.remove(SEAL));
    if seal.as_ref().is_some_and(|seal| seal.as_str() != Some(&seal_of(&loose))) {
        return Err(RecordError::Forged { path: path.to_owned(), what: "its seal does not fit what it says".into() });
    }
    let manifest = match found {
        Some(SCHEMA) | None => serde_json::from_value(loose).map_err(syntax),
        Some(found) => Err(RecordError::Schema { path: path.to_owned(), found }),
    };
    Ok((manifest?, seal.is_some()))
}

/// Checks that a file has the recorded length and checksum.
fn check(folder: &Path, file: &str, bytes: u64, crc: u32) -> Result<(), RecordError> {
    let mismatch = |what: String| RecordError::Mismatch { file: file.to_owned(), what };
    let (open, length) = open_inside(folder, file).map_err(|error| unopened(file, error))?;
    if length != bytes {
        return Err(mismatch(format!("it has {length} bytes instead of {bytes}")));
    }
    let found = ChecksummedReader::new(open).finish().map_err(|error| mismatch(error.to_string()))?;
    if found != (bytes, crc) {
        return Err(mismatch("its checksum differs: it was changed after it was written".into()));
    }
    Ok(())
}

/// A file that this user may not read is not reported as damaged.
fn unopened(file: &str, error: std::io::Error) -> RecordError {
    let file = file.to_owned();
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => RecordError::Closed { file, source: error },
        std::io::ErrorKind::NotFound => RecordError::Mismatch { file, what: "it is not there".into() },
        _ => RecordError::Mismatch { file, what: error.to_string() },
    }
}

impl CellRecord {
    /// All events of all segments, each with its segment, in the order of the segments. Candidate events that links
    /// recorded are left out: hosts record the same events, and they would count twice.
    pub fn events(&self) -> impl Iterator<Item = (&SegmentRecord, &Event)> {
        let told = |s: &SegmentRecord, e: &Event| s.host.is_some() || !e.is_candidate_activity();
        self.segments.iter().flat_map(move |s| s.events.iter().filter(move |e| told(s, e)).map(move |e| (s, e)))
    }
}
