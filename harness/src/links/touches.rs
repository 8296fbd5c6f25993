//! When each session last sent bytes up a link, which starts its expiry clock. From the embedded proxy's counters.

use std::collections::BTreeMap;

use hustings_record::Touch;

use crate::proxy::stats::{ProxyStats, unhex};

/// Known last touches of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touches {
    /// One per session, ordered by session.
    pub list: Vec<Touch>,
    /// Origin of the list, or the reason why it is empty.
    pub explanation: String,
}

/// The session that a server granted, from the first bytes that it sent. ZooKeeper's ConnectResponse has the fields
/// length, protocol version (0), timeout (all i32), session id (i64) and a password of 16 bytes, big endian. None for
/// other data, or for a refusal (timeout 0, session 0).
pub(super) fn session(head: &[u8]) -> Option<i64> {
    let (length, rest) = head.split_first_chunk()?;
    let (protocol, rest) = rest.split_first_chunk()?;
    let (timeout, rest) = rest.split_first_chunk()?;
    let (session, _) = rest.split_first_chunk()?;
    let [length, protocol, timeout] = [length, protocol, timeout].map(|field| i32::from_be_bytes(*field));
    let session = i64::from_be_bytes(*session);
    (protocol == 0 && (36..=64).contains(&length) && timeout > 0 && session != 0).then_some(session)
}

/// The latest touch of every session on these links.
pub(super) fn touches(stats: &[ProxyStats]) -> Touches {
    let mut latest: BTreeMap<i64, u64> = BTreeMap::new();
    for connection in stats.iter().flat_map(|proxy| &proxy.connections) {
        let session = unhex(&connection.head).and_then(|head| session(&head));
        if let (Some(session), Some(last)) = (session, connection.up.last) {
            let touch = latest.entry(session).or_default();
            *touch = last.max(*touch);
        }
    }
    let list: Vec<_> = latest.into_iter().map(|(session, last_up)| Touch { session, last_up }).collect();
    let explanation = format!("{} sessions seen by the byte counters of {} links", list.len(), stats.len());
    Touches { list, explanation }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(protocol: i32, timeout: i32, session: i64) -> Vec<u8> {
        let mut bytes = Vec::new();
        for field in [37, protocol, timeout] {
            bytes.extend(field.to_be_bytes());
        }
        bytes.extend(session.to_be_bytes());
        bytes.extend([0; 21]);
        bytes
    }

    #[test]
    fn the_session_is_read_from_a_connect_response_and_from_nothing_else() {
        assert_eq!(session(&response(0, 4000, 0x1000_0abc)), Some(0x1000_0abc));
        assert_eq!(session(&response(0, 4000, -5)), Some(-5));
        assert_eq!(session(&response(0, 0, 0)), None, "refused: the session has expired");
        assert_eq!(session(&response(1, 4000, 7)), None);
        assert_eq!(session(b"imok"), None);
        assert_eq!(session(b"Zookeeper version: 3.8.0-, built on ..."), None);
        assert_eq!(session(&[]), None);
    }
}
