//! The first message each way: a session is asked for, and granted or refused.

use hustings_workloads::model::{Connect, Connected};

use super::jute::{Reader, WireError, Writer};

/// A connect request. `tells_read_only`: it has the byte that clients since 3.4 send, and wants it in the answer too.
///
/// # Errors
/// The bytes are no such message, or the password has not 16 bytes.
pub fn read_connect(message: &[u8]) -> Result<(Connect, bool), WireError> {
    let mut from = Reader::new(message);
    let _protocol = from.int()?;
    let last_zxid_seen = from.long()?;
    let timeout_ms = from.int()?;
    let session = from.long()?;
    let password = password(&mut from)?;
    let tells_read_only = from.left() > 0;
    let read_only = tells_read_only && from.boolean()?;
    from.end()?;
    Ok((Connect { session, password, timeout_ms, last_zxid_seen, read_only }, tells_read_only))
}

/// The frame that asks for a session.
#[must_use]
pub fn write_connect(connect: &Connect) -> Vec<u8> {
    let mut to = Writer::default();
    to.int(0).long(connect.last_zxid_seen).int(connect.timeout_ms).long(connect.session);
    to.buffer(&connect.password).boolean(connect.read_only);
    to.frame()
}

/// The answer to a connect request.
///
/// # Errors
/// The bytes are no such message.
pub fn read_connected(message: &[u8]) -> Result<Connected, WireError> {
    let mut from = Reader::new(message);
    let _protocol = from.int()?;
    let timeout_ms = from.int()?;
    let session = from.long()?;
    let password = password(&mut from)?;
    if from.left() > 0 {
        let _read_only = from.boolean()?;
    }
    from.end()?;
    Ok(Connected { session, password, timeout_ms })
}

/// The frame that grants or refuses a session.
#[must_use]
pub fn write_connected(connected: &Connected, tells_read_only: bool) -> Vec<u8> {
    let mut to = Writer::default();
    to.int(0).int(connected.timeout_ms).long(connected.session).buffer(&connected.password);
    if tells_read_only {
        to.boolean(false);
    }
    to.frame()
}

/// None at all stands for zeros, as some clients send it for a new session.
fn password(from: &mut Reader<'_>) -> Result<[u8; 16], WireError> {
    match from.buffer()? {
        [] => Ok([0; 16]),
        bytes => bytes.try_into().map_err(|_| {
            let value = i32::try_from(bytes.len()).unwrap_or(i32::MAX);
            WireError::Value { what: "the length of a password", value }
        }),
    }
}
