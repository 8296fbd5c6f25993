//! The greeting that opens a ZooKeeper election connection, and its older form, which contains no address.
//!
//! A server greeted by a smaller id closes the connection and connects back: to the address in the greeting, past all
//! links. After the older form, it connects to the address in its own configuration.

/// The protocol versions with addresses: with one, and with several.
const VERSIONS: [i64; 2] = [-65_536, -65_535];
/// Servers refuse longer addresses (`QuorumCnxManager.maxBuffer`).
const ADDRESS_BYTES_MAX: u32 = 2_048;

/// Classification of the first bytes of an election connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    /// An incomplete greeting with addresses.
    Torn,
    /// A greeting with addresses, of this many bytes, from this server.
    Named { bytes: usize, server: i64 },
    /// The older form, or other data.
    Other,
}

/// Reads the protocol version and the server id (i64), then the length (i32) and text of the addresses, big endian.
pub(super) fn read(head: &[u8]) -> Greeting {
    let may_become = |field: &[u8]| VERSIONS.iter().any(|version| version.to_be_bytes().starts_with(field));
    let Some((version, rest)) = head.split_first_chunk::<8>() else {
        return if may_become(head) { Greeting::Torn } else { Greeting::Other };
    };
    if !may_become(version) {
        return Greeting::Other;
    }
    let Some((server, rest)) = rest.split_first_chunk() else { return Greeting::Torn };
    let server = i64::from_be_bytes(*server);
    // A negative id in the first field would be read as a version.
    if server < 0 {
        return Greeting::Other;
    }
    let Some((length, addresses)) = rest.split_first_chunk() else { return Greeting::Torn };
    // A negative length exceeds the maximum when it is read without its sign.
    match u32::from_be_bytes(*length) {
        length @ 1..=ADDRESS_BYTES_MAX if addresses.len() < length as usize => Greeting::Torn,
        length @ 1..=ADDRESS_BYTES_MAX => Greeting::Named { bytes: 20 + length as usize, server },
        _ => Greeting::Other,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Greeting, read};

    pub(crate) fn greeting(version: i64, server: i64, length: i32, addresses: &str) -> Vec<u8> {
        [&version.to_be_bytes()[..], &server.to_be_bytes(), &length.to_be_bytes(), addresses.as_bytes()].concat()
    }

    #[test]
    fn a_greeting_is_known_once_it_is_whole_and_whatever_follows() {
        for version in [-65_536, -65_535] {
            let whole = greeting(version, 3, 15, "127.0.0.1:23888");
            for cut in 0..whole.len() {
                assert_eq!(read(&whole[..cut]), Greeting::Torn, "{cut} bytes");
            }
            let known = Greeting::Named { bytes: 35, server: 3 };
            assert_eq!(read(&whole), known);
            assert_eq!(read(&[&whole[..], b"more"].concat()), known);
        }
    }

    #[test]
    fn the_older_form_and_what_is_no_greeting_are_something_else() {
        for other in [
            &2_i64.to_be_bytes()[..],
            &[0],
            b"ruok",
            &greeting(-65_534, 3, 15, "127.0.0.1:23888"),
            &greeting(-1, 3, 15, "127.0.0.1:23888"),
            &greeting(-65_536, -1, 15, "127.0.0.1:23888"),
            &greeting(-65_536, 3, 0, ""),
            &greeting(-65_536, 3, -1, ""),
            &greeting(-65_536, 3, 2_049, ""),
        ] {
            assert_eq!(read(other), Greeting::Other, "{other:?}");
        }
        assert_eq!(read(&greeting(-65_536, 3, 2_048, "")), Greeting::Torn);
    }
}
