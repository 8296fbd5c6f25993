//! The order of creation.

use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::names;
use crate::coordination::{OpError, Session};

/// Requests in flight at once.
const AT_ONCE: usize = 64;

/// The candidates' names among `names`, in the order of creation: by their numbers, or by their czxids where the
/// numbers are not sufficient. A znode that is gone in the meantime is left out.
pub(super) async fn first_come_first<S: Session>(
    session: &S,
    election: &str,
    names: Vec<String>,
) -> Result<Vec<String>, OpError> {
    if names::numbers_give_order(&names) {
        return Ok(names::by_number(names));
    }
    let ask = async |name: String| {
        let stat = session.exists(&format!("{election}/{name}")).await?;
        Ok(stat.map(|stat| (stat.czxid, name)))
    };
    let candidates = names.into_iter().filter(|name| names::sequence(name).is_some());
    let asked = stream::iter(candidates).map(ask).buffered(AT_ONCE);
    let mut aged: Vec<(i64, String)> = asked.try_filter_map(async |aged| Ok(aged)).try_collect().await?;
    aged.sort();
    Ok(aged.into_iter().map(|(_, name)| name).collect())
}
