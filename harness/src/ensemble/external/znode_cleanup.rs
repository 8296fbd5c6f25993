//! What a run may have left on an ensemble of somebody else, by the note in its folder.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::server_route::ServerRoute;
use super::znodes;
use crate::access::{AUTH_VARIABLE, Access, SASL_VARIABLE};
use crate::files::cleanup_notes::{self, CleanupNote};

const FILE: &str = "external";

/// What is needed to get there again, but for what is secret.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EnsembleNote {
    servers: Vec<SocketAddr>,
    /// As they were given, `host:port`, in the same order.
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    chroot: String,
    /// Which keys the run had.
    #[serde(default)]
    digest: bool,
    #[serde(default)]
    sasl: bool,
    #[serde(default)]
    tls: bool,
}

/// Notes that a run creates znodes there, before it does.
pub(super) fn borrow(folder: &Path, servers: &[(SocketAddr, String)], access: &Access) -> io::Result<CleanupNote> {
    let borrowed = EnsembleNote {
        servers: servers.iter().map(|(addr, _)| *addr).collect(),
        names: servers.iter().map(|(_, name)| name.clone()).collect(),
        chroot: access.chroot.clone(),
        digest: access.digest.is_some(),
        sasl: access.sasl.is_some(),
        tls: access.tls.is_some(),
    };
    CleanupNote::write(folder, FILE, &borrowed)
}

/// Znodes of a run on an ensemble of somebody else.
#[derive(Debug, PartialEq, Eq)]
pub struct ZnodeCleanup {
    /// Where they are, for messages.
    pub servers: String,
    pub prefix: String,
    borrowed: EnsembleNote,
}

/// What the run `run`, whose folder this is, may have left on an ensemble of somebody else; None if it borrowed none, or
/// removed its znodes.
///
/// # Errors
/// The note cannot be read.
pub fn pending_znode_cleanup(folder: &Path, run: &str) -> io::Result<Option<ZnodeCleanup>> {
    // The prefix follows from the run's id alone: a note can never name znodes of others.
    let borrowed = cleanup_notes::read::<EnsembleNote>(folder, FILE)?;
    let pending = |borrowed: EnsembleNote| ZnodeCleanup {
        servers: Access { chroot: borrowed.chroot.clone(), ..Access::default() }.place(&borrowed.servers),
        prefix: znodes::prefix(run),
        borrowed,
    };
    Ok(borrowed.map(pending))
}

impl ZnodeCleanup {
    /// Removes the znodes, with keys like those that the run had. Gives how many there were.
    ///
    /// # Errors
    /// Why some are left, or may be: above all, a key that is missing.
    pub async fn clean_up(&self, keys: &Access) -> Result<u64, String> {
        let access = self.access(keys)?;
        let EnsembleNote { servers, names, .. } = &self.borrowed;
        let named: Vec<_> = servers.iter().copied().zip(names.iter().cloned()).collect();
        let way = ServerRoute::open(&access, &named).map_err(|error| error.to_string())?;
        // Notes of older versions have no names, and nothing that needs them.
        let addrs = if access.tls.is_some() { way.addrs() } else { servers };
        znodes::remove(&access, &access.connect_string(addrs, ""), &self.prefix).await
    }

    fn access(&self, keys: &Access) -> Result<Access, String> {
        let EnsembleNote { digest, sasl, tls, chroot, .. } = &self.borrowed;
        let missing: Vec<String> = [
            (*digest && keys.digest.is_none(), format!("--auth-file or {AUTH_VARIABLE}")),
            (*sasl && keys.sasl.is_none(), format!("--sasl-file or {SASL_VARIABLE}")),
            (*tls && keys.tls.is_none(), "--tls-ca, with --tls-cert and --tls-key if the run had them".to_owned()),
        ]
        .into_iter()
        .filter_map(|(missing, option)| missing.then_some(option))
        .collect();
        if !missing.is_empty() {
            return Err(format!(
                "the run got there by what is not noted anywhere: give it again by {}",
                missing.join(", and ")
            ));
        }
        Ok(Access {
            chroot: chroot.clone(),
            digest: keys.digest.clone().filter(|_| *digest),
            sasl: keys.sasl.clone().filter(|_| *sasl),
            tls: keys.tls.clone().filter(|_| *tls),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::{borrow, pending_znode_cleanup};
    use crate::access::{Access, Secret};

    #[test]
    fn of_hundreds_of_servers_the_first_few_are_told() {
        let folder = tempfile::tempdir().expect("a temp dir");
        let server = |port| (SocketAddr::from(([127, 0, 0, 1], port)), format!("zk{port}:2181"));
        let servers: Vec<_> = (1..=400).map(server).collect();
        borrow(folder.path(), &servers, &Access { chroot: "/x".to_owned(), ..Access::default() }).expect("noted");
        let cleanup = pending_znode_cleanup(folder.path(), "1").expect("read").expect("owed");
        assert!(cleanup.servers.starts_with("127.0.0.1:1, 127.0.0.1:2, "), "{}", cleanup.servers);
        assert!(cleanup.servers.ends_with(" and 392 more below /x"), "{}", cleanup.servers);
    }

    #[test]
    fn a_note_says_which_keys_are_needed_and_has_none() {
        let folder = tempfile::tempdir().expect("a temp dir");
        let secret = |text| Secret::parse(text).ok();
        let access = Access {
            chroot: "/some/path".to_owned(),
            digest: secret("scott:tiger"),
            sasl: secret("fred:flint"),
            ..Access::default()
        };
        let servers = [("127.0.0.1:1".parse().expect("an address"), "localhost:1".to_owned())];
        borrow(folder.path(), &servers, &access).expect("noted");
        let text = std::fs::read_to_string(folder.path().join("external")).expect("a note");
        assert!(!["scott", "tiger", "fred", "flint"].iter().any(|word| text.contains(word)), "{text}");
        let cleanup = pending_znode_cleanup(folder.path(), "1").expect("read").expect("owed");
        assert_eq!(
            (cleanup.servers.as_str(), cleanup.prefix.as_str()),
            ("127.0.0.1:1 below /some/path", "/hustings-1-")
        );
        let why = cleanup.access(&Access { digest: secret("a:b"), ..Access::default() }).expect_err("a key is missing");
        assert!(why.contains("--sasl-file") && !why.contains("--auth-file"), "{why}");
        let other = Access { chroot: String::new(), ..access };
        assert_eq!(cleanup.access(&other).expect("all keys").chroot, "/some/path");
    }

    #[test]
    fn a_note_of_an_older_version_needs_no_keys() {
        let folder = tempfile::tempdir().expect("a temp dir");
        std::fs::write(folder.path().join("external"), r#"{"servers":["127.0.0.1:1"]}"#).expect("written");
        let cleanup = pending_znode_cleanup(folder.path(), "1").expect("read").expect("owed");
        assert_eq!(cleanup.servers, "127.0.0.1:1");
        let access =
            cleanup.access(&Access { digest: Secret::parse("a:b").ok(), ..Access::default() }).expect("no keys");
        assert!(access.digest.is_none() && access.chroot.is_empty(), "what the run did not need is not used");
    }
}
