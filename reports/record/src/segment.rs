//! One segment: JSON lines in blocks. A line with length, count and CRC-32 closes each block, so that a torn tail costs
//! one block and a flipped byte is noticed. When a cell has ended, its segments are sealed: whole, checksummed zstd.
//!
//! A block's closing line is `#<block> <bytes> <events> <crc32 in hex>`; `bytes` and the checksum cover the event lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::path::{Path, PathBuf};

use crate::blocks::{Block, BlockError, Blocks};
use crate::event::Event;
use crate::files::open_inside;

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

    /// Closes the open block and hands it to the kernel in one write. Does nothing if no event is buffered.
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

/// The part dropped from the end of a segment whose writer did not end in order.
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

/// Reads a segment, sealed or not. A tail without its closing line is dropped and reported; damage anywhere else is an
/// error. A torn tail of a sealed segment is an error too.
///
/// # Errors
/// The file is not plain, cannot be read, is damaged, or holds events that this version does not know.
pub fn read_segment(path: &Path) -> Result<(Vec<Event>, Option<TornTail>), SegmentError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let io_error = |source| SegmentError::Io { path: path.to_owned(), source };
    let (open, length) = open_inside(folder, &file).map_err(io_error)?;
    let SegmentContents { events, torn, .. } = read_opened(open, path, plain_most(length))?;
    Ok((events, torn))
}

/// What was read of a segment.
pub(crate) struct SegmentContents {
    pub(crate) events: Vec<Event>,
    pub(crate) torn: Option<TornTail>,
    /// Bytes that it holds in plain, with the torn tail.
    pub(crate) plain: u64,
}

/// Limit on the plain bytes of a sealed segment, where none is recorded. Events compress to about a tenth.
pub(crate) fn plain_most(sealed: u64) -> u64 {
    sealed.saturating_mul(200).max(64 * 1024 * 1024)
}

/// Reads an open segment, which holds at most `most` bytes in plain.
pub(crate) fn read_opened(file: File, path: &Path, most: u64) -> Result<SegmentContents, SegmentError> {
    let io_error = |source| SegmentError::Io { path: path.to_owned(), source };
    let sealed = path.to_string_lossy().ends_with(SEALED_ENDING);
    if !sealed {
        return parse(BufReader::new(file), path, u64::MAX, None);
    }
    let decoder = zstd::Decoder::new(file).map_err(io_error)?;
    let contents = parse(BufReader::new(decoder), path, most, Some("zstd"))?;
    match contents.torn {
        Some(TornTail { block, offset, .. }) => {
            let what = "a sealed segment without its last closing line".into();
            Err(SegmentError::Damaged { path: path.to_owned(), block, offset, what })
        }
        None => Ok(contents),
    }
}

/// `packed`: the decoder that may fail to give bytes besides the disk. Its failure means that the file is damaged.
fn parse(inner: impl BufRead, path: &Path, most: u64, packed: Option<&str>) -> Result<SegmentContents, SegmentError> {
    let mut events = Vec::new();
    let mut blocks = Blocks::new(inner, most);
    loop {
        let number = blocks.number();
        let damaged = |offset, what| SegmentError::Damaged { path: path.to_owned(), block: number, offset, what };
        match blocks.next() {
            Ok(None) => {
                events.shrink_to_fit();
                return Ok(SegmentContents { events, torn: None, plain: blocks.bytes_read() });
            }
            Ok(Some(Block::Torn { offset, bytes })) => {
                let torn = Some(TornTail { block: number, offset, bytes });
                return Ok(SegmentContents { events, torn, plain: blocks.bytes_read() });
            }
            Ok(Some(Block::Whole)) => {}
            Err(BlockError::Damaged { offset, what }) => return Err(damaged(offset, what)),
            Err(BlockError::Io(source)) => {
                return Err(match packed {
                    Some(packed) => damaged(0, format!("{packed}: {source}")),
                    None => SegmentError::Io { path: path.to_owned(), source },
                });
            }
        }
        for line in blocks.body().split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
            let event = serde_json::from_slice(line);
            let unknown = |source| SegmentError::Event { path: path.to_owned(), block: number, source };
            events.push(event.map_err(unknown)?);
        }
    }
}

/// A compressed segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedSegment {
    pub path: PathBuf,
    /// Bytes of the file, and their CRC-32.
    pub bytes: u64,
    pub crc: u32,
    /// Bytes that it holds in plain.
    pub plain: u64,
}

/// Compresses a finished segment beside itself. A torn tail is cut off first, so that only whole blocks are sealed.
///
/// The plain file stays. The caller removes it once the manifest names the sealed one: until then it is the evidence.
///
/// # Errors
/// The segment cannot be read, or there is no room for the sealed one.
pub fn seal_segment(path: &Path) -> io::Result<SealedSegment> {
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
        std::fs::rename(&part, &target)
    });
    if let Err(error) = written {
        // A file can be removed from a full disk.
        let _ = std::fs::remove_file(&part);
        return Err(error);
    }
    let (bytes, crc) = (sealed.len() as u64, crc32fast::hash(&sealed));
    Ok(SealedSegment { path: target, bytes, crc, plain: plain.len() as u64 })
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
