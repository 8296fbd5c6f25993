//! How clients get into an ensemble: below which znode they stay, and who they are. Every client of the servers is made here.

mod secret;
mod tls;
mod tunnel;

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use zookeeper_client as zk;

pub use secret::{AUTH_VARIABLE, SASL_VARIABLE, Secret};
pub use tls::{Tls, TlsError, is_of_tls};
pub use tunnel::Tunnel;

/// What a client needs beside the servers' addresses. By default: nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Access {
    /// Znode below which everything stays, as `/some/path`; empty: the root.
    pub chroot: String,
    /// User and password of the scheme `digest`.
    pub digest: Option<Secret>,
    /// User and password for DIGEST-MD5 by SASL.
    pub sasl: Option<Secret>,
    /// For servers that speak TLS. Only whoever holds their [`Tunnel`] needs it: all others speak to that, in the clear.
    #[serde(skip)]
    pub tls: Option<Tls>,
}

impl Access {
    /// Whether the servers learn who a client is, so that znodes can be its own.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.digest.is_some() || self.sasl.is_some()
    }

    /// Who may do what with znodes that are created: nobody but whoever is known by the same name, or everybody where clients
    /// have none.
    #[must_use]
    pub fn acls(&self) -> zk::Acls<'static> {
        if self.is_known() { zk::Acls::creator_all() } else { zk::Acls::anyone_all() }
    }

    /// `host:port,host:port/chroot/path`: these servers, below a path of theirs that begins with `/` or is empty.
    #[must_use]
    pub fn connect_string(&self, servers: &[SocketAddr], path: &str) -> String {
        format!("{}{}{path}", addresses(servers), self.chroot)
    }

    /// What makes clients.
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
    /// When no server gave a session within about the timeout, or they do not take the client for whom it says it is.
    pub async fn connect(&self, cluster: &str, timeout: Duration) -> Result<zk::Client, zk::Error> {
        self.connector().with_session_timeout(timeout).connect(cluster).await
    }
}

/// `host:port,host:port`.
#[must_use]
pub fn addresses(servers: &[SocketAddr]) -> String {
    servers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
