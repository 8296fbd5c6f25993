//! Jute, ZooKeeper's encoding: big-endian numbers, counted strings and vectors. Input is untrusted: every count is
//! compared with the remaining bytes before anything is stored. Small functions are inlined everywhere, so that the
//! cost of a message does not depend on how the compiler splits the crate.

/// The longest frame that is accepted or sent, as ZooKeeper's default `jute.maxbuffer`.
pub const FRAME_BYTES_MAX: usize = 0xf_ffff;

/// The received bytes are not a message of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("the message ends {missing} bytes too early")]
    Short { missing: usize },
    #[error("a string or vector claims {claimed} entries where {left} bytes are left")]
    Count { claimed: i32, left: usize },
    #[error("a string is not UTF-8")]
    Text,
    #[error("{left} bytes follow the end of the message")]
    Rest { left: usize },
    #[error("{what} cannot be {value}")]
    Value { what: &'static str, value: i32 },
    #[error("a frame of {length} bytes; at most {FRAME_BYTES_MAX} are taken")]
    Frame { length: i64 },
}

/// Reads one message from start to end.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    /// Number of unread bytes.
    #[must_use]
    pub fn left(&self) -> usize {
        self.left.len()
    }

    /// # Errors
    /// As for all read functions: the message is too short, or contains a wrong count.
    #[inline]
    pub fn int(&mut self) -> Result<i32, WireError> {
        self.array().map(i32::from_be_bytes)
    }

    #[inline]
    pub fn long(&mut self) -> Result<i64, WireError> {
        self.array().map(i64::from_be_bytes)
    }

    /// Any byte but 0 is true.
    #[inline]
    pub fn boolean(&mut self) -> Result<bool, WireError> {
        self.array().map(|[byte]| byte != 0)
    }

    /// A counted sequence of bytes. A count of -1 means null, and is read as empty.
    #[inline]
    pub fn buffer(&mut self) -> Result<&'a [u8], WireError> {
        let claimed = self.int()?;
        if claimed == -1 {
            return Ok(&[]);
        }
        let length = self.count(claimed, 1)?;
        self.take(length)
    }

    #[inline]
    pub fn string(&mut self) -> Result<String, WireError> {
        let bytes = self.buffer()?;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| WireError::Text)
    }

    /// A string that must not be null.
    pub fn path(&mut self) -> Result<String, WireError> {
        if self.left.starts_with(&(-1_i32).to_be_bytes()) {
            return Err(WireError::Value { what: "the length of a path", value: -1 });
        }
        self.string()
    }

    /// A vector whose entries take at least `least` bytes each. A count of -1 is read as empty.
    pub fn vector<T>(
        &mut self,
        least: usize,
        mut entry: impl FnMut(&mut Self) -> Result<T, WireError>,
    ) -> Result<Vec<T>, WireError> {
        let claimed = self.int()?;
        if claimed == -1 {
            return Ok(Vec::new());
        }
        let count = self.count(claimed, least)?;
        (0..count).map(|_| entry(self)).collect()
    }

    pub fn strings(&mut self) -> Result<Vec<String>, WireError> {
        self.vector(4, Self::string)
    }

    /// # Errors
    /// Bytes follow the end of the message.
    pub fn end(&self) -> Result<(), WireError> {
        if self.left.is_empty() { Ok(()) } else { Err(WireError::Rest { left: self.left.len() }) }
    }

    #[inline]
    fn count(&self, claimed: i32, least: usize) -> Result<usize, WireError> {
        let wrong = WireError::Count { claimed, left: self.left.len() };
        let count = usize::try_from(claimed).map_err(|_| wrong)?;
        if count.saturating_mul(least) > self.left.len() { Err(wrong) } else { Ok(count) }
    }

    #[inline]
    fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let missing = WireError::Short { missing: length.saturating_sub(self.left.len()) };
        let (taken, left) = self.left.split_at_checked(length).ok_or(missing)?;
        self.left = left;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let missing = WireError::Short { missing: N.saturating_sub(self.left.len()) };
        let (taken, left) = self.left.split_first_chunk::<N>().ok_or(missing)?;
        self.left = left;
        Ok(*taken)
    }
}

/// Writes one frame: its length, then a message.
#[derive(Clone, Debug)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Default for Writer {
    fn default() -> Self {
        Self { bytes: vec![0; 4] }
    }
}

impl Writer {
    #[inline]
    pub fn int(&mut self, value: i32) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_be_bytes());
        self
    }

    #[inline]
    pub fn long(&mut self, value: i64) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_be_bytes());
        self
    }

    #[inline]
    pub fn boolean(&mut self, value: bool) -> &mut Self {
        self.bytes.push(u8::from(value));
        self
    }

    #[inline]
    pub fn buffer(&mut self, value: &[u8]) -> &mut Self {
        // Longer ones fit into no frame. The sender detects this by the frame's own length.
        self.int(i32::try_from(value.len()).unwrap_or(i32::MAX));
        self.bytes.extend_from_slice(value);
        self
    }

    #[inline]
    pub fn string(&mut self, value: &str) -> &mut Self {
        self.buffer(value.as_bytes())
    }

    pub fn vector<T>(&mut self, values: &[T], mut entry: impl FnMut(&mut Self, &T)) -> &mut Self {
        self.int(i32::try_from(values.len()).unwrap_or(i32::MAX));
        values.iter().for_each(|value| entry(self, value));
        self
    }

    pub fn strings(&mut self, values: &[String]) -> &mut Self {
        self.vector(values, |to, value| {
            to.string(value);
        })
    }

    /// The complete frame, including its length.
    #[must_use]
    pub fn frame(mut self) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len() - 4).unwrap_or(u32::MAX);
        self.bytes[..4].copy_from_slice(&length.to_be_bytes());
        self.bytes
    }
}

/// Length of the frame that begins with these four bytes.
///
/// # Errors
/// It is longer than [`FRAME_BYTES_MAX`], or negative.
pub fn frame_length(first: [u8; 4]) -> Result<usize, WireError> {
    let length = i32::from_be_bytes(first);
    usize::try_from(length)
        .ok()
        .filter(|length| *length <= FRAME_BYTES_MAX)
        .ok_or(WireError::Frame { length: i64::from(length) })
}
