//! Authentication of clients.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hustings_workloads::model::Request;
use sha1_smol::Sha1;

/// The request that gives a connection the identity that `proof` proves. None if the proof is invalid.
#[must_use]
pub fn identity(scheme: &str, proof: &[u8], peer: SocketAddr) -> Option<Request> {
    let id = match scheme {
        "digest" => digest(std::str::from_utf8(proof).ok()?),
        // The proof is the client's address.
        "ip" => peer.ip().to_string(),
        _ => return None,
    };
    Some(Request::AddAuth { scheme: scheme.to_owned(), id })
}

/// The identity that `user:password` proves: `user:` and the base64 of the SHA-1 of the whole, as in access lists.
#[must_use]
pub fn digest(proof: &str) -> String {
    let user = proof.split(':').next().unwrap_or_default();
    format!("{user}:{}", STANDARD.encode(Sha1::from(proof).digest().bytes()))
}

#[cfg(test)]
mod tests {
    use super::digest;

    #[test]
    fn a_digest_is_what_zookeepers_own_generator_makes() {
        assert_eq!(digest("super:test"), "super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
    }
}
