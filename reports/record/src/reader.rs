//! Reads a record whole: the manifest, then every segment it names. A segment that is missing or damaged is an error,
//! a torn tail of a run that did not end in order is told and lived with.

use std::path::{Path, PathBuf};

use crate::cell::CellInfo;
use crate::event::Event;
use crate::manifest::{MANIFEST_FILE, Manifest, SCHEMA};
use crate::schema_2::{SCHEMA_2, upgrade_manifest};
use crate::segment::{SegmentError, TornTail, read_segment};

/// A record in memory.
#[derive(Clone, Debug)]
pub struct Record {
    pub manifest: Manifest,
    /// In the order in which they were run. Cells that never came to write their parameters are left out and told in `notes`.
    pub cells: Vec<CellRecord>,
    /// What the reader had to drop or mend.
    pub notes: Vec<String>,
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

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("{path}: {source}; is this the folder of a run?")]
    Manifest { path: PathBuf, source: std::io::Error },
    #[error("{path}: not a manifest: {source}")]
    ManifestSyntax { path: PathBuf, source: serde_json::Error },
    #[error(
        "{path}: schema {found}, and this version reads {SCHEMA_2} and {SCHEMA}; use the version of hustings that wrote it"
    )]
    Schema { path: PathBuf, found: u32 },
    #[error(transparent)]
    Segment(#[from] SegmentError),
    #[error("{file}: named by the manifest, but {what}")]
    Mismatch { file: String, what: String },
}

impl Record {
    /// Reads the record in `folder`.
    pub fn read(folder: &Path) -> Result<Self, RecordError> {
        let path = folder.join(MANIFEST_FILE);
        let text = std::fs::read(&path).map_err(|source| RecordError::Manifest { path: path.clone(), source })?;
        let manifest = parse_manifest(&text, path)?;
        let mut record = Self { manifest, cells: Vec::new(), notes: Vec::new() };
        for index in 0..record.manifest.cells.len() {
            record.read_cell(folder, index)?;
        }
        Ok(record)
    }

    fn read_cell(&mut self, folder: &Path, index: usize) -> Result<(), RecordError> {
        let entry = self.manifest.cells[index].clone();
        let mut segments = Vec::new();
        for segment in &entry.segments {
            let file = format!("events/{}", segment.file);
            let path = folder.join(&file);
            if let Some((bytes, crc)) = segment.sealed {
                check_sealed(&path, &file, bytes, crc)?;
            }
            if !path.exists() && !entry.complete {
                self.notes.push(format!("{file}: its writer never came to begin it"));
                continue;
            }
            if !path.exists() {
                return Err(RecordError::Mismatch { file, what: "it is not there".into() });
            }
            let (events, torn) = read_segment(&path)?;
            if let Some(torn) = &torn {
                self.notes.push(format!("{file}: its last block ({} bytes) was torn and is left out", torn.bytes));
            }
            match events.first() {
                Some(Event::Segment { schema, writer, host, generation, .. }) if *schema == SCHEMA => {
                    segments.push(SegmentRecord {
                        file,
                        writer: writer.clone(),
                        host: *host,
                        generation: *generation,
                        torn,
                        events,
                    });
                }
                Some(Event::Segment { schema, .. }) => return Err(RecordError::Schema { path, found: *schema }),
                Some(_) => {
                    return Err(RecordError::Mismatch { file, what: "it does not begin with its own name".into() });
                }
                None => self.notes.push(format!("{file}: empty")),
            }
        }
        let info = segments.iter().flat_map(|s| &s.events).find_map(|e| match e {
            Event::Cell { info, .. } => Some((**info).clone()),
            _ => None,
        });
        match info {
            Some(info) => self.cells.push(CellRecord { info, complete: entry.complete, segments }),
            None => self.notes.push(format!("cell {}: ended before its parameters were written; left out", entry.name)),
        }
        Ok(())
    }
}

fn parse_manifest(text: &[u8], path: PathBuf) -> Result<Manifest, RecordError> {
    let syntax = |source| RecordError::ManifestSyntax { path: path.clone(), source };
    let loose: serde_json::Value = serde_json::from_slice(text).map_err(syntax)?;
    let found = loose.get("schema").and_then(serde_json::Value::as_u64).map(|schema| schema as u32);
    match found {
        Some(SCHEMA_2) => serde_json::from_value(upgrade_manifest(loose)).map_err(syntax),
        Some(SCHEMA) | None => serde_json::from_value(loose).map_err(syntax),
        Some(found) => Err(RecordError::Schema { path, found }),
    }
}

fn check_sealed(path: &Path, file: &str, bytes: u64, crc: u32) -> Result<(), RecordError> {
    let mismatch = |what: String| RecordError::Mismatch { file: file.to_owned(), what };
    let content = std::fs::read(path).map_err(|e| mismatch(e.to_string()))?;
    if content.len() as u64 != bytes {
        return Err(mismatch(format!("it has {} bytes instead of {bytes}", content.len())));
    }
    if crc32fast::hash(&content) != crc {
        return Err(mismatch("its checksum differs: it was changed after it was written".into()));
    }
    Ok(())
}

impl CellRecord {
    /// All events of all segments, each with its segment, in the order of the segments.
    pub fn events(&self) -> impl Iterator<Item = (&SegmentRecord, &Event)> {
        self.segments.iter().flat_map(|s| s.events.iter().map(move |e| (s, e)))
    }
}
