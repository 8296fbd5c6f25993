//! Client access to an ensemble: the chroot and the credentials. Every client of the servers is created here.

mod secret;
mod tls;

use std::net::SocketAddr;
use std::time::Duration;

use hustings_record::words::first_few;
use serde::{Deserialize, Serialize};
use zookeeper_client as zk;

pub use secret::{AUTH_VARIABLE, SASL_VARIABLE, Secret};
pub use tls::{Tls, TlsError, is_of_tls};

/// Settings of a client in addition to the servers' addresses. Default: none.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Access {
    /// Znode under which all znodes of the run are created, as `/some/path`. Empty: the root.
    pub chroot: String,
    /// User and password of the scheme `digest`.
    pub digest: Option<Secret>,
    /// User and password for DIGEST-MD5 by SASL.
    pub sasl: Option<Secret>,
    /// For servers that speak TLS. Only the holder of their [`Tunnel`](crate::links::Tunnel) needs it: all other clients
    /// connect to the tunnel, in the clear.
    #[serde(skip)]
    pub tls: Option<Tls>,
}

impl Access {
    /// Whether clients authenticate to the servers, so that a znode can belong to its creator.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.digest.is_some() || self.sasl.is_some()
    }

    /// ACL of created znodes: all rights for their creator only. Without credentials: all rights for all clients.
    #[must_use]
    pub fn acls(&self) -> zk::Acls<'static> {
        if self.is_known() { zk::Acls::creator_all() } else { zk::Acls::anyone_all() }
    }

    /// `host:port,host:port/chroot/path`: these servers, and a path that is empty or begins with `/`, below the chroot.
    #[must_use]
    pub fn connect_string(&self, servers: &[SocketAddr], path: &str) -> String {
        format!("{}{}{path}", addresses(servers).join(","), self.chroot)
    }

    /// These servers and the chroot, for messages. Of many servers the first few.
    #[must_use]
    pub fn place(&self, servers: &[SocketAddr]) -> String {
        let below = if self.chroot.is_empty() { String::new() } else { format!(" below {}", self.chroot) };
        format!("{}{below}", first_few(&addresses(servers)))
    }

    /// A connector with these credentials.
    #[must_use]
    pub fn connector(&self) -> zk::Connector {
        let mut connector = zk::Client::connector();
        if let Some(secret) = &self.digest {
            connector = connector.with_auth("digest", secret.text().as_bytes());
        }
        if let Some(secret) = &self.sasl {
            let (user, password) = secret.parts();
            connector = connector.with_sasl(zk::SaslOptions::digest_md5(user.to_owned(), password.to_owned()));
        }
        connector
    }

    /// A session. `cluster` is a connect string, as [`Self::connect_string`] gives it.
    ///
    /// # Errors
    /// No server granted a session within about the timeout, or the servers rejected the credentials.
    pub async fn connect(&self, cluster: &str, timeout: Duration) -> Result<zk::Client, zk::Error> {
        self.connector().with_session_timeout(timeout).connect(cluster).await
    }
}

/// Each as `host:port`.
fn addresses(servers: &[SocketAddr]) -> Vec<String> {
    servers.iter().map(ToString::to_string).collect()
}
