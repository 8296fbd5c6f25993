//! Bytes that are counted and summed up while they are read.

use std::io::{self, Read};

/// Reads on, and keeps the count and the CRC-32 of what was read.
pub(crate) struct Checked<R> {
    inner: R,
    hasher: crc32fast::Hasher,
    bytes: u64,
}

impl<R: Read> Checked<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, hasher: crc32fast::Hasher::new(), bytes: 0 }
    }

    /// Reads what is left, and gives how many bytes there were in all, and their checksum.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn finish(&mut self) -> io::Result<(u64, u32)> {
        io::copy(self, &mut io::sink())?;
        Ok((self.bytes, self.hasher.clone().finalize()))
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}
