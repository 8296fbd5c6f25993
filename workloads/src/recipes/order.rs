//! Who came first.

use super::names;
use crate::coordination::{OpError, Session};

/// The candidates' names among `names`, in the order in which they came: by their numbers, or, where these do not tell, by the
/// czxid of each. A znode that is gone meanwhile is left out.
pub(super) async fn first_come_first<S: Session>(
    session: &S,
    election: &str,
    names: Vec<String>,
) -> Result<Vec<String>, OpError> {
    if names::numbers_tell(&names) {
        return Ok(names::by_number(names));
    }
    let mut aged = Vec::with_capacity(names.len());
    for name in names.into_iter().filter(|name| names::sequence(name).is_some()) {
        if let Some(stat) = session.exists(&format!("{election}/{name}")).await? {
            aged.push((stat.czxid, name));
        }
    }
    aged.sort();
    Ok(aged.into_iter().map(|(_, name)| name).collect())
}
