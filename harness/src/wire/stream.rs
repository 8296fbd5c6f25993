//! Frames on a stream of bytes.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::jute::frame_length;

/// Reads one frame and returns the message in it.
///
/// # Errors
/// The stream ends or fails, or the frame exceeds the maximum length.
pub async fn read_frame(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut first = [0; 4];
    from.read_exact(&mut first).await?;
    let length = frame_length(first).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    let mut message = vec![0; length];
    from.read_exact(&mut message).await?;
    Ok(message)
}
