//! Lines from external programs: of bounded length; invalid text does not end the stream.

use futures::StreamExt as _;
use tokio::io::AsyncRead;
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

/// Longer lines are rejected.
pub(super) const LINE_BYTES_MAX: usize = 8 * 1024;

/// A stream's lines, with any content.
pub(super) struct StreamLines<R> {
    lines: FramedRead<R, LinesCodec>,
    /// After an error the codec returns None once, and continues on the next call.
    goes_on: bool,
}

impl<R: AsyncRead + Unpin> StreamLines<R> {
    pub(super) fn of(stream: R) -> Self {
        Self { lines: FramedRead::new(stream, LinesCodec::new_with_max_length(LINE_BYTES_MAX)), goes_on: false }
    }

    /// The next line, or why it is rejected. None: the stream has ended.
    pub(super) async fn next(&mut self) -> Option<Result<String, String>> {
        loop {
            let error = match self.lines.next().await {
                Some(Ok(line)) => return Some(Ok(line)),
                Some(Err(error)) => error,
                None if self.goes_on => {
                    self.goes_on = false;
                    continue;
                }
                None => return None,
            };
            self.goes_on = true;
            return match error {
                LinesCodecError::MaxLineLengthExceeded => {
                    Some(Err(format!("a line of more than {LINE_BYTES_MAX} bytes")))
                }
                LinesCodecError::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                    Some(Err("it is not UTF-8".to_owned()))
                }
                LinesCodecError::Io(_) => None,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_cannot_be_taken_is_told_and_what_follows_is_read() {
        let text = [b"one\n".as_slice(), &vec![b'x'; 2 * LINE_BYTES_MAX], b"\n\xff\xfe\ntwo\nthe end"].concat();
        let mut lines = StreamLines::of(text.as_slice());
        let mut all = Vec::new();
        while let Some(line) = lines.next().await {
            all.push(line.unwrap_or_else(|why| format!("({why})")));
        }
        assert_eq!(all, ["one", "(a line of more than 8192 bytes)", "(it is not UTF-8)", "two", "the end"]);
    }
}
