//! The heads of frames on an observed stream. It keeps the required bytes of each frame and counts the rest.

use super::jute::FRAME_BYTES_MAX;

/// Bytes of a frame's length.
pub const LENGTH: usize = 4;

/// The position of a frame in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramePlace {
    /// The first frame: the connect request, or the answer to it.
    First,
    Later,
}

/// A stream of frames, each of which begins with its length.
#[derive(Debug, Default)]
pub struct FrameHeaders {
    /// The first frame has passed.
    introduced: bool,
    /// The bytes kept of the current frame, with its length, and the number of its bytes that have arrived.
    head: Vec<u8>,
    come: usize,
    /// The stream does not consist of frames.
    other: bool,
}

impl FrameHeaders {
    /// Whether the stream does not consist of frames. It is then no longer reported.
    #[must_use]
    pub fn is_other(&self) -> bool {
        self.other
    }

    /// Processes the next bytes. `wanted` returns how many bytes of a frame to keep, from the head read so far (at
    /// least its length); up to its length means none. `tell` receives each head once it, or the whole frame, is
    /// complete. If `tell` returns true, the rest is ignored, and the number of processed bytes is returned.
    pub fn take(
        &mut self,
        data: &[u8],
        wanted: impl Fn(FramePlace, &[u8]) -> usize,
        mut tell: impl FnMut(FramePlace, &[u8]) -> bool,
    ) -> Option<usize> {
        let mut at = 0;
        while at < data.len() && !self.other {
            let want = self.want(&wanted);
            if self.head.len() < want {
                let n = (want - self.head.len()).min(data.len() - at);
                self.head.extend_from_slice(&data[at..at + n]);
                (at, self.come) = (at + n, self.come + n);
                self.other = self.head.len() >= LENGTH && self.whole() > FRAME_BYTES_MAX + LENGTH;
                let kept = self.head.len();
                if kept > LENGTH && kept >= self.want(&wanted) && tell(self.place(), &self.head) {
                    return Some(at);
                }
            } else {
                let n = (self.whole() - self.come).min(data.len() - at);
                (at, self.come) = (at + n, self.come + n);
            }
            if self.head.len() >= LENGTH && self.come == self.whole() {
                (self.introduced, self.come) = (true, 0);
                self.head.clear();
            }
        }
        None
    }

    fn place(&self) -> FramePlace {
        if self.introduced { FramePlace::Later } else { FramePlace::First }
    }

    /// Number of bytes of the current frame to keep, as far as known.
    fn want(&self, wanted: impl Fn(FramePlace, &[u8]) -> usize) -> usize {
        match self.head.len() {
            0..LENGTH => LENGTH,
            _ => wanted(self.place(), &self.head).max(LENGTH).min(self.whole()),
        }
    }

    /// Bytes of the current frame, whose length is known.
    fn whole(&self) -> usize {
        usize::try_from(int(&self.head, 0)).map_or(usize::MAX, |length| length.saturating_add(LENGTH))
    }
}

/// The number at an offset. 0 if there is none.
#[must_use]
pub fn int(bytes: &[u8], at: usize) -> i32 {
    let four = bytes.get(at..at + 4).and_then(|four| <[u8; 4]>::try_from(four).ok());
    four.map_or(0, i32::from_be_bytes)
}
