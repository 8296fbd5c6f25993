//! One segment: JSON lines in blocks, each block closed by a line with its length, count and CRC-32, so that a torn tail
//! costs one block and a flipped byte is noticed. When a cell has ended its segments are sealed: whole, checksummed zstd.
//!
//! A block's closing line is `#<block> <bytes> <events> <crc32 in hex>`; `bytes` and the checksum cover the event lines.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::event::Event;
use crate::schema_2::{SCHEMA_2, upgrade_event};

/// File ending of a segment that is being written.
pub const SEGMENT_ENDING: &str = "jsonl";
/// File ending of a sealed one.
pub const SEALED_ENDING: &str = "jsonl.zst";

/// A block is closed at the latest when it holds this many bytes.
const BLOCK_BYTES_MAX: usize = 64 * 1024;

/// Appends events to one segment.
pub struct SegmentWriter {
    file: File,
    block: u64,
    events: u64,
    buffer: Vec<u8>,
}

impl SegmentWriter {
    /// Creates the segment; an existing file is an error.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::create_new(path)?, block: 0, events: 0, buffer: Vec::with_capacity(BLOCK_BYTES_MAX) })
    }

    /// Adds an event to the open block. It reaches the kernel with the next [`flush`](Self::flush).
    pub fn push(&mut self, event: &Event) -> io::Result<()> {
        serde_json::to_writer(&mut self.buffer, event)?;
        self.buffer.push(b'\n');
        self.events += 1;
        if self.buffer.len() >= BLOCK_BYTES_MAX { self.flush() } else { Ok(()) }
    }

    /// Closes the open block and hands it to the kernel in one write. Nothing to do where no event waits.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.events == 0 {
            return Ok(());
        }
        let (bytes, crc) = (self.buffer.len(), crc32fast::hash(&self.buffer));
        writeln!(self.buffer, "#{} {bytes} {} {crc:08x}", self.block, self.events)?;
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        self.block += 1;
        self.events = 0;
        Ok(())
    }
}

/// What was dropped from the end of a segment whose writer did not end in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    pub block: u64,
    /// Offset at which the torn block begins.
    pub offset: u64,
    pub bytes: u64,
}

/// Why a segment cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path}: block {block} at byte {offset} is damaged ({what}); the file was changed after it was written")]
    Damaged { path: PathBuf, block: u64, offset: u64, what: String },
    #[error("{path}: block {block}: {source}; written by another version?")]
    Event { path: PathBuf, block: u64, source: serde_json::Error },
}

/// Reads a segment, sealed or not. A tail without its closing line is dropped and told; damage anywhere else is an error.
/// A sealed segment has no excuse for a torn tail.
pub fn read_segment(path: &Path) -> Result<(Vec<Event>, Option<TornTail>), SegmentError> {
    let io_error = |source| SegmentError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(io_error)?;
    let sealed = path.to_string_lossy().ends_with(SEALED_ENDING);
    let mut bytes = Vec::new();
    if sealed {
        let mut decoder = zstd::Decoder::new(file).map_err(io_error)?;
        decoder.read_to_end(&mut bytes).map_err(|e| SegmentError::Damaged {
            path: path.to_owned(),
            block: 0,
            offset: 0,
            what: format!("zstd: {e}"),
        })?;
    } else {
        let mut file = file;
        file.read_to_end(&mut bytes).map_err(io_error)?;
    }
    let (events, torn) = parse_blocks(&bytes, path)?;
    match torn {
        Some(torn) if sealed => Err(SegmentError::Damaged {
            path: path.to_owned(),
            block: torn.block,
            offset: torn.offset,
            what: "a sealed segment without its last closing line".into(),
        }),
        torn => Ok((events, torn)),
    }
}

fn parse_blocks(bytes: &[u8], path: &Path) -> Result<(Vec<Event>, Option<TornTail>), SegmentError> {
    let mut events = Vec::new();
    let (mut at, mut block, mut schema) = (0, 0, None);
    while at < bytes.len() {
        let Some((body, closing, next)) = split_block(&bytes[at..]) else {
            let torn = TornTail { block, offset: at as u64, bytes: (bytes.len() - at) as u64 };
            return Ok((events, Some(torn)));
        };
        let damaged =
            |what: &str| SegmentError::Damaged { path: path.to_owned(), block, offset: at as u64, what: what.into() };
        let expected = format!("#{block} {} {} {:08x}", body.len(), count_lines(body), crc32fast::hash(body));
        if closing != expected.as_bytes() {
            return Err(damaged("its closing line does not match its content"));
        }
        for line in body.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
            let old = *schema.get_or_insert_with(|| schema_of(line)) == Some(SCHEMA_2);
            let event = if old {
                serde_json::from_slice(line).and_then(|event| serde_json::from_value(upgrade_event(event)))
            } else {
                serde_json::from_slice(line)
            };
            events.push(event.map_err(|source| SegmentError::Event { path: path.to_owned(), block, source })?);
        }
        at += next;
        block += 1;
    }
    Ok((events, None))
}

/// The schema that a segment's first line names.
fn schema_of(line: &[u8]) -> Option<u32> {
    let first: serde_json::Value = serde_json::from_slice(line).ok()?;
    u32::try_from(first.get("schema")?.as_u64()?).ok()
}

fn count_lines(body: &[u8]) -> usize {
    body.iter().filter(|&&b| b == b'\n').count()
}

/// Splits off the first block: its event lines, its closing line, and where the next block begins.
fn split_block(bytes: &[u8]) -> Option<(&[u8], &[u8], usize)> {
    let mut at = 0;
    loop {
        let end = at + bytes[at..].iter().position(|&b| b == b'\n')?;
        if bytes[at] == b'#' {
            return Some((&bytes[..at], &bytes[at..end], end + 1));
        }
        at = end + 1;
        if at >= bytes.len() {
            return None;
        }
    }
}

/// Compresses a finished segment beside itself. Gives the sealed path, its bytes and CRC-32. A torn tail is cut off first:
/// what is sealed is whole blocks.
///
/// The plain one stays, for the caller to remove once the manifest names the sealed one: until then it is the evidence.
pub fn seal_segment(path: &Path) -> io::Result<(PathBuf, u64, u32)> {
    let mut plain = Vec::new();
    File::open(path)?.read_to_end(&mut plain)?;
    plain.truncate(whole_blocks(&plain));
    let mut encoder = zstd::Encoder::new(Vec::new(), 3)?;
    encoder.include_checksum(true)?;
    encoder.write_all(&plain)?;
    let sealed = encoder.finish()?;
    let target = path.with_extension(SEALED_ENDING);
    let part = path.with_extension("part");
    let written = File::create(&part).and_then(|mut file| {
        file.write_all(&sealed)?;
        file.sync_all()?;
        std::fs::rename(&part, &target)
    });
    if let Err(error) = written {
        // A full disk may take no more, but it gives.
        let _ = std::fs::remove_file(&part);
        return Err(error);
    }
    Ok((target, sealed.len() as u64, crc32fast::hash(&sealed)))
}

fn whole_blocks(bytes: &[u8]) -> usize {
    let mut at = 0;
    while at < bytes.len() {
        match split_block(&bytes[at..]) {
            Some((_, _, next)) => at += next,
            None => break,
        }
    }
    at
}
