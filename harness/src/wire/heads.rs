//! The heads of frames on a stream that is only read along on: so much as is wanted of each is kept, the rest is counted.

use super::jute::FRAME_BYTES_MAX;

/// Bytes of a frame's length.
pub const LENGTH: usize = 4;

/// Which frame of a stream it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramePlace {
    /// The first, with which both sides introduce themselves.
    First,
    Later,
}

/// A stream of frames, each of which begins with its length.
#[derive(Debug, Default)]
pub struct Heads {
    /// The first is past.
    introduced: bool,
    /// What was kept of the frame under way, with its length, and how many of its bytes have come.
    head: Vec<u8>,
    come: usize,
    /// This is no stream of frames.
    other: bool,
}

impl Heads {
    /// Whether this is no stream of frames: nothing of it is told any more.
    #[must_use]
    pub fn is_other(&self) -> bool {
        self.other
    }

    /// Takes the next bytes. `wanted` says of a frame, by what is there of its head (its length at least), how many bytes of it
    /// are to be kept; no more than its length means none. `tell` is told each head once it, or the whole frame, is there; when it
    /// says so the rest is not looked at, and the caller is told how many bytes were.
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

    /// How many bytes of the frame under way are to be kept, as far as that is known.
    fn want(&self, wanted: impl Fn(FramePlace, &[u8]) -> usize) -> usize {
        match self.head.len() {
            0..LENGTH => LENGTH,
            _ => wanted(self.place(), &self.head).max(LENGTH).min(self.whole()),
        }
    }

    /// Bytes of the frame under way, whose length is known.
    fn whole(&self) -> usize {
        usize::try_from(int(&self.head, 0)).map_or(usize::MAX, |length| length.saturating_add(LENGTH))
    }
}

/// The number at a place; 0 where there is none.
#[must_use]
pub fn int(bytes: &[u8], at: usize) -> i32 {
    let four = bytes.get(at..at + 4).and_then(|four| <[u8; 4]>::try_from(four).ok());
    four.map_or(0, i32::from_be_bytes)
}
