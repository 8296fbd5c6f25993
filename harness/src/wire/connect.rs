//! The first message in each direction: a session is requested, and granted or refused.

use hustings_workloads::model::{Connect, ConnectResponse};

use super::jute::{Reader, WireError, Writer};

/// Parses a connect request. `tells_read_only`: it has the byte that clients since 3.4 send and expect in the answer.
///
/// # Errors
/// The bytes are not such a message.
pub fn read_connect(message: &[u8]) -> Result<(Connect, bool), WireError> {
    let mut from = Reader::new(message);
    let _protocol = from.int()?;
    let last_zxid_seen = from.long()?;
    let timeout_ms = from.int()?;
    let session = from.long()?;
    // A new session ignores the password. A password of another length belongs to no session.
    let password = from.buffer()?.try_into().unwrap_or_default();
    let tells_read_only = from.left() > 0;
    let read_only = tells_read_only && from.boolean()?;
    from.end()?;
    Ok((Connect { session, password, timeout_ms, last_zxid_seen, read_only }, tells_read_only))
}

/// The session in a connect request, 0 for a new one, and the requested timeout. `message` may be a prefix of a request
/// of `length` bytes.
///
/// # Errors
/// It is not a prefix of such a message.
pub fn read_connect_head(message: &[u8], length: usize) -> Result<(i64, i32), WireError> {
    if message.len() == length {
        return read_connect(message).map(|(connect, _)| (connect.session, connect.timeout_ms));
    }
    let mut from = Reader::new(message);
    let (_protocol, _last_zxid_seen) = (from.int()?, from.long()?);
    let (timeout_ms, session, claimed) = (from.int()?, from.long()?, from.int()?);
    // Only the read-only byte follows the password.
    let left = length.saturating_sub(message.len() - from.left());
    let fits = usize::try_from(claimed).is_ok_and(|claimed| claimed == left || claimed + 1 == left);
    if fits { Ok((session, timeout_ms)) } else { Err(WireError::Count { claimed, left }) }
}

/// The frame that requests a session.
#[must_use]
pub fn write_connect(connect: &Connect) -> Vec<u8> {
    let mut to = Writer::default();
    to.int(0).long(connect.last_zxid_seen).int(connect.timeout_ms).long(connect.session);
    to.buffer(&connect.password).boolean(connect.read_only);
    to.frame()
}

/// Parses the answer to a connect request.
///
/// # Errors
/// The bytes are not such a message.
pub fn read_connected(message: &[u8]) -> Result<ConnectResponse, WireError> {
    let mut from = Reader::new(message);
    let _protocol = from.int()?;
    let timeout_ms = from.int()?;
    let session = from.long()?;
    let password = match from.buffer()? {
        [] => [0; 16],
        bytes => bytes.try_into().map_err(|_| {
            let value = i32::try_from(bytes.len()).unwrap_or(i32::MAX);
            WireError::Value { what: "the length of a password", value }
        })?,
    };
    if from.left() > 0 {
        let _read_only = from.boolean()?;
    }
    from.end()?;
    Ok(ConnectResponse { session, password, timeout_ms })
}

/// The frame that grants or refuses a session.
#[must_use]
pub fn write_connected(connected: &ConnectResponse, tells_read_only: bool) -> Vec<u8> {
    let mut to = Writer::default();
    to.int(0).int(connected.timeout_ms).long(connected.session).buffer(&connected.password);
    if tells_read_only {
        to.boolean(false);
    }
    to.frame()
}
