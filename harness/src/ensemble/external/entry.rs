//! Tests once, before a run begins, whether external servers allow its operations.

use std::time::Duration;

use zookeeper_client as zk;

use super::error::ExternalError;
use crate::access::{AUTH_VARIABLE, Access, SASL_VARIABLE};

const SESSION_TIMEOUT: Duration = Duration::from_secs(10);
/// Bound of the whole test.
const WITHIN: Duration = Duration::from_secs(20);

/// Lists the run's root, and creates and deletes a znode there that begins with `prefix`. `cluster` is the client's
/// connect string, `servers` the names for messages.
///
/// # Errors
/// The servers reject the client's authentication, the root is missing, or an operation is not allowed. The flag says
/// whether the znode may be left.
pub(super) async fn prove(
    access: &Access,
    (cluster, servers): (&str, &[String]),
    prefix: &str,
) -> Result<(), (ExternalError, bool)> {
    let mut created = false;
    let all = async {
        let client = enter(access, (cluster, servers)).await?;
        let failed = |doing| move |error: zk::Error| not_allowed(access, servers, doing, &error);
        client.list_children("/").await.map_err(failed("listed"))?;
        let path = format!("{prefix}entry");
        client
            .create(&path, &[], &zk::CreateMode::Persistent.with_acls(access.acls()))
            .await
            .map_err(failed("added to"))?;
        created = true;
        client.delete(&path, None).await.map_err(failed("deleted from"))?;
        created = false;
        Ok::<(), ExternalError>(())
    };
    let proven = in_time(servers, all).await;
    proven.map_err(|error| (error, created))
}

/// Looks for the run's root, and changes nothing there.
///
/// # Errors
/// The servers reject the client's authentication, or the root is missing.
pub(super) async fn look(access: &Access, (cluster, servers): (&str, &[String])) -> Result<(), ExternalError> {
    in_time(servers, enter(access, (cluster, servers))).await.map(drop)
}

/// A session, whose root is there.
async fn enter(access: &Access, (cluster, servers): (&str, &[String])) -> Result<zk::Client, ExternalError> {
    let connected = access.connect(cluster, SESSION_TIMEOUT).await;
    let client = connected.map_err(|error| no_session(access, servers, &error))?;
    let found = client.check_stat("/").await.map_err(|error| not_allowed(access, servers, "looked for", &error))?;
    if found.is_none() {
        return Err(ExternalError::NoRoot { path: access.chroot.clone(), servers: servers.to_owned() });
    }
    Ok(client)
}

async fn in_time<T>(
    servers: &[String],
    all: impl Future<Output = Result<T, ExternalError>>,
) -> Result<T, ExternalError> {
    tokio::time::timeout(WITHIN, all).await.unwrap_or_else(|_| {
        Err(ExternalError::NoSession {
            servers: servers.to_owned(),
            why: format!("what takes milliseconds was not done within {} s", WITHIN.as_secs()),
        })
    })
}

fn no_session(access: &Access, servers: &[String], error: &zk::Error) -> ExternalError {
    let servers = servers.to_owned();
    if !matches!(error, zk::Error::AuthFailed) {
        return ExternalError::NoSession { servers, why: error.to_string() };
    }
    let remedy = if access.sasl.is_some() {
        format!(
            "see that --sasl-file, or {SASL_VARIABLE}, has a user and a password of the servers' JAAS configuration"
        )
    } else {
        format!("name user and password by --sasl-file or {SASL_VARIABLE}, or whatever else is wanted of clients")
    };
    ExternalError::NotTaken { servers, remedy }
}

fn not_allowed(access: &Access, servers: &[String], doing: &'static str, error: &zk::Error) -> ExternalError {
    let path = if access.chroot.is_empty() { "/".to_owned() } else { access.chroot.clone() };
    let why = match error {
        zk::Error::NoAuth | zk::Error::InvalidAcl => remedy(access),
        zk::Error::NoNode => return ExternalError::NoRoot { path, servers: servers.to_owned() },
        error => error.to_string(),
    };
    ExternalError::NotAllowed { path, servers: servers.to_owned(), doing, why }
}

/// The remedy after a refusal.
pub(super) fn remedy(access: &Access) -> String {
    let digest = format!("--auth-file, or {AUTH_VARIABLE},");
    let sasl = format!("--sasl-file, or {SASL_VARIABLE},");
    let by = match (&access.digest, &access.sasl) {
        (None, None) => {
            return format!(
                "name user and password by --auth-file ({AUTH_VARIABLE}) or --sasl-file ({SASL_VARIABLE}), or use a path that anybody may change"
            );
        }
        (Some(_), None) => digest,
        (None, Some(_)) => sasl,
        (Some(_), Some(_)) => format!("{digest} and {sasl}"),
    };
    format!("see that user and password of {by} are right, and that its ACL lets this user read, create and delete")
}
