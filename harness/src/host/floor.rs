//! Measures the floor over the path of a host's candidates to the servers.

use std::rc::Rc;
use std::time::Duration;

use hustings_workloads::coordination::Session as _;
use hustings_workloads::driver::{FloorPair, FloorPart, take_floor};

use crate::client::session::ZkSession;
use crate::host::process::{HostProcess, HostShared};
use crate::protocol::FromHost;

/// Maximum wait for the close of the measuring session.
const CLOSE_AT_MOST: Duration = Duration::from_secs(2);

/// Measures one part over `cluster`, on the path of this host's candidates.
pub(super) async fn measure(shared: Rc<HostShared>, cluster: String, part: FloorPart, one: FloorPair) {
    let set_up = &shared.set_up;
    let taken = async {
        let timeout = Duration::from_millis(set_up.timeout_ms);
        let session = ZkSession::connect_as(&set_up.access, &cluster, timeout).await;
        let session = session.map_err(|error| error.to_string())?;
        let listed = set_up.candidates.first().map_or("/", |(_, _, path)| path.as_str());
        let stamps = take_floor(&HostProcess(shared.clone()), &session, part, one, listed).await;
        let id = session.id();
        session.close(CLOSE_AT_MOST).await;
        Ok((id, stamps))
    };
    let taken = taken.await;
    shared.tell(FromHost::FloorDone { part, one, taken });
}
