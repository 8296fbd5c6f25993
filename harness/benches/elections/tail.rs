//! Reads events that are appended to a segment while its writer runs.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use anyhow::Context as _;
use hustings_record::Event;

pub(crate) struct RecordTail {
    path: PathBuf,
    /// Bytes of complete blocks that were read.
    read: u64,
}

impl RecordTail {
    pub(crate) fn of(path: PathBuf) -> Self {
        Self { path, read: 0 }
    }

    /// The events of the blocks that were completed since the last call.
    pub(crate) fn news(&mut self) -> anyhow::Result<Vec<Event>> {
        self.read_on().with_context(|| format!("{} cannot be read", self.path.display()))
    }

    fn read_on(&mut self) -> anyhow::Result<Vec<Event>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let (mut events, mut open) = (Vec::new(), Vec::new());
        let mut at = self.read;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            at += line.len() as u64;
            if !line.starts_with(b"#") {
                open.push(line);
            } else if line.ends_with(b"\n") {
                for line in open.drain(..) {
                    events.push(serde_json::from_slice(line)?);
                }
                self.read = at;
            }
        }
        Ok(events)
    }
}
