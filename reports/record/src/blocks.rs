//! Blocks of a segment in order: event lines, then the line that closes them. Only one block is in memory at a time.

use std::io::{self, BufRead, Read};

/// Limit on the length of an event line. The servers' lists for 50,000 candidates take about ten megabytes.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A block as it was read.
pub(crate) enum Block {
    /// The block is closed, and it matches its closing line.
    Whole,
    /// The segment ends before the block is closed. The torn part begins at this offset.
    Torn { offset: u64, bytes: u64 },
}

/// Why a block cannot be read.
pub(crate) enum BlockError {
    Io(io::Error),
    Damaged { offset: u64, what: String },
}

/// Reads blocks.
pub(crate) struct Blocks<R> {
    inner: R,
    /// Bytes read so far, and the limit on them (`most`).
    read: u64,
    most: u64,
    number: u64,
    body: Vec<u8>,
}

impl<R: BufRead> Blocks<R> {
    pub(crate) fn new(inner: R, most: u64) -> Self {
        Self { inner, read: 0, most, number: 0, body: Vec::new() }
    }

    /// The event lines of the block that was read last.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Number of bytes read so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.read
    }

    /// The number of the block that is read next, from 0.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Reads the next block; None at the end.
    ///
    /// # Errors
    /// The block cannot be read, does not match its closing line, or is larger than any block ever written.
    pub(crate) fn next(&mut self) -> Result<Option<Block>, BlockError> {
        let offset = self.read;
        self.body.clear();
        let (mut lines, mut crc) = (0_u64, crc32fast::Hasher::new());
        loop {
            let begin = self.body.len();
            let whole = self.line(offset)?;
            let line = &self.body[begin..];
            if !whole {
                let bytes = self.read - offset;
                return Ok((bytes > 0).then_some(Block::Torn { offset, bytes }));
            }
            if line.first() == Some(&b'#') {
                let expected = format!("#{} {begin} {lines} {:08x}\n", self.number, crc.finalize());
                if line != expected.as_bytes() {
                    return Err(damaged(offset, "its closing line does not match its content"));
                }
                self.body.truncate(begin);
                self.number += 1;
                return Ok(Some(Block::Whole));
            }
            crc.update(line);
            lines += 1;
        }
    }

    /// Appends the next line, with its line end, to the body. False: the segment ended before the line did.
    fn line(&mut self, offset: u64) -> Result<bool, BlockError> {
        let begin = self.body.len();
        let most = LINE_BYTES_MAX.min(self.most - self.read);
        // One byte more than allowed, to tell a line that is too long from one that just fits.
        let read = self.inner.by_ref().take(most + 1).read_until(b'\n', &mut self.body).map_err(BlockError::Io)?;
        if read as u64 > most {
            let what = if most < LINE_BYTES_MAX {
                format!("it goes on after {} bytes, and the segment should end there", self.most)
            } else {
                format!("a line of more than {} MiB", LINE_BYTES_MAX / (1024 * 1024))
            };
            return Err(damaged(offset, &what));
        }
        self.read += read as u64;
        if self.body.len() as u64 > 2 * LINE_BYTES_MAX {
            return Err(damaged(offset, "it is never closed"));
        }
        Ok(self.body.len() > begin && self.body.ends_with(b"\n"))
    }
}

fn damaged(offset: u64, what: &str) -> BlockError {
    BlockError::Damaged { offset, what: what.to_owned() }
}
