//! Counts bytes and computes their checksum while they are read.

use std::io::{self, Read};

/// Passes reads on, and keeps the byte count and the CRC-32.
pub(crate) struct ChecksummedReader<R> {
    inner: R,
    hasher: crc32fast::Hasher,
    bytes: u64,
}

impl<R: Read> ChecksummedReader<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, hasher: crc32fast::Hasher::new(), bytes: 0 }
    }

    /// Reads the rest, and returns the total number of bytes and their checksum.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn finish(&mut self) -> io::Result<(u64, u32)> {
        io::copy(self, &mut io::sink())?;
        Ok((self.bytes, self.hasher.clone().finalize()))
    }
}

impl<R: Read> Read for ChecksummedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}
