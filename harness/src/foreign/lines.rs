//! Lines from external programs: of bounded length; invalid text does not end the stream.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use futures::StreamExt as _;
use tokio::io::AsyncRead;
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

/// Longer lines are rejected.
pub(super) const LINE_BYTES_MAX: usize = 8 * 1024;
/// Bytes of a line without a newline that are shown.
const UNENDED_BYTES_MAX: usize = 512;

/// The beginning of the line whose newline has not been read yet. Empty: there is none.
pub(super) type UnendedLine = Rc<RefCell<String>>;

/// A stream's lines, with any content.
pub(super) struct StreamLines<R> {
    lines: FramedRead<R, LinesCodec>,
    /// After an error the codec returns None once, and continues on the next call.
    goes_on: bool,
    unended: UnendedLine,
}

impl<R: AsyncRead + Unpin> StreamLines<R> {
    pub(super) fn of(stream: R) -> Self {
        let lines = FramedRead::new(stream, LinesCodec::new_with_max_length(LINE_BYTES_MAX));
        Self { lines, goes_on: false, unended: UnendedLine::default() }
    }

    /// Shows the beginning of an unended line while the stream is read.
    pub(super) fn unended(&self) -> UnendedLine {
        self.unended.clone()
    }

    /// The next line, or why it is rejected. None: the stream has ended.
    pub(super) async fn next(&mut self) -> Option<Result<String, String>> {
        loop {
            let error = match self.framed().await {
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

    /// The codec's next result. What it has not made a line of is an unended line, and so is a line that is too long.
    async fn framed(&mut self) -> Option<Result<String, LinesCodecError>> {
        let Self { lines, unended, .. } = self;
        poll_fn(|cx| {
            let polled = lines.poll_next_unpin(cx);
            let begun = match &polled {
                Poll::Pending | Poll::Ready(Some(Err(LinesCodecError::MaxLineLengthExceeded))) => {
                    let bytes = lines.read_buffer();
                    String::from_utf8_lossy(&bytes[..bytes.len().min(UNENDED_BYTES_MAX)]).into_owned()
                }
                Poll::Ready(_) => String::new(),
            };
            unended.replace(begun);
            polled
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use tokio::io::AsyncWriteExt as _;

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

    #[tokio::test]
    async fn a_line_without_its_newline_is_shown_until_that_comes() {
        let (mut writer, stream) = tokio::io::duplex(4 * LINE_BYTES_MAX);
        let mut lines = StreamLines::of(stream);
        let unended = lines.unended();
        writer.write_all(b"one\n{\"m\":").await.expect("written");
        assert_eq!(lines.next().await, Some(Ok("one".to_owned())));
        assert!(lines.next().now_or_never().is_none() && *unended.borrow() == "{\"m\":");
        writer.write_all(b"2}").await.expect("written");
        assert!(lines.next().now_or_never().is_none() && *unended.borrow() == "{\"m\":2}");
        writer.write_all(b"\n").await.expect("written");
        assert_eq!(lines.next().await, Some(Ok("{\"m\":2}".to_owned())));
        assert_eq!(*unended.borrow(), "");
        writer.write_all(&vec![b'x'; 2 * LINE_BYTES_MAX]).await.expect("written");
        assert!(lines.next().await.is_some_and(|line| line.is_err()));
        assert_eq!(*unended.borrow(), "x".repeat(UNENDED_BYTES_MAX), "a line that is too long has a beginning");
    }
}
