//! The floor of a simulated cell.

use std::rc::Rc;
use std::time::Duration;

use super::process::SimProcess;
use super::session::SimSession;
use super::sim_cell::SimCell;
use super::world::ClientOwner;
use crate::driver::{FloorPair, FloorPart, FloorStamps, Process as _, take_floor};
use crate::scenario::ROOT;

/// Bound on the wait for the close of the session used for a floor.
const CLOSE_AT_MOST: Duration = Duration::from_secs(2);

/// One host takes its part of the samples.
pub(super) async fn take(sim: &SimCell, host: u16, part: FloorPart, one: FloorPair) -> FloorStamps {
    let (world, cell) = (Rc::clone(&sim.world), &sim.state.cell);
    let (timeout_ms, listed) = (cell.session_timeout_ms, format!("{ROOT}/{}", cell.group_names[0]));
    let owner = ClientOwner { host, ..ClientOwner::NOBODY };
    let session = SimSession::connect(&world, owner, timeout_ms).await.ok_or("no server gave a session in time")?;
    let (id, process) = (crate::coordination::Session::id(&session), SimProcess { world, host, timeout_ms });
    let stamps = take_floor(&process, &session, part, one, &listed).await;
    process.close(session, CLOSE_AT_MOST).await;
    Ok((id, stamps))
}
