//! The znodes of a cell: those in which its elections are held, and whatever lies above them.

use futures::stream::{self, StreamExt as _};

use crate::coordination::{CreateMode, OpError, Refusal, Session};
use crate::scenario::ROOT;

/// Creations under way at once.
const AT_ONCE: usize = 64;

/// Creates the election root below `chroot`, and in it a znode for every group, as far as they are not there.
///
/// # Errors
/// The first that the servers refused.
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

/// Creates a znode with all that lie above it, as far as they are not there.
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
