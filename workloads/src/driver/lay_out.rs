//! The znodes of a cell: those of its elections, and their ancestors.

use futures::stream::{self, StreamExt as _};

use crate::coordination::{CreateMode, OpError, Refusal, Session};
use crate::scenario::ROOT;

/// Concurrent creates.
const AT_ONCE: usize = 64;

/// Creates the election root below `chroot`, and in it a znode for every group, where they do not exist.
///
/// # Errors
/// The first create that the servers refused.
pub async fn lay_out(session: &impl Session, chroot: &str, groups: &[String]) -> Result<(), OpError> {
    let root = format!("{chroot}{ROOT}");
    create_path(session, &root).await?;
    let create = async |group| create_one(session, &format!("{root}/{group}")).await;
    let creates = groups.iter().map(create);
    let mut creates = stream::iter(creates).buffer_unordered(AT_ONCE);
    while let Some(created) = creates.next().await {
        created?;
    }
    Ok(())
}

/// Creates a znode and all its ancestors, where they do not exist.
pub(super) async fn create_path<S: Session>(session: &S, path: &str) -> Result<(), OpError> {
    let ends = path.match_indices('/').map(|(at, _)| at).skip(1).chain([path.len()]);
    for end in ends {
        create_one(session, &path[..end]).await?;
    }
    Ok(())
}

async fn create_one<S: Session>(session: &S, path: &str) -> Result<(), OpError> {
    match session.create(path, b"", CreateMode::Persistent).await {
        Ok(_) | Err(OpError::Refused(Refusal::NodeExists)) => Ok(()),
        Err(error) => Err(error),
    }
}
