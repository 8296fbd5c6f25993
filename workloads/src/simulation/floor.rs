//! The floor of a simulated cell: the first host is told, the last one deletes.

use std::rc::Rc;

use super::event_sink::Writer;
use super::process::SimProcess;
use super::session::SimSession;
use super::sim_cell::SimCell;
use super::world::Owner;
use crate::driver::{FloorPart, FloorStamps, floor_samples, take_floor};
use crate::scenario::ROOT;

/// Takes samples, and writes them down.
pub(super) async fn measure(sim: &SimCell, samples: u32) {
    let (world, hosts) = (&sim.world, sim.state.cell.hosts);
    if sim.state.cell.groups == 0 || hosts == 0 {
        return;
    }
    let watch = take(sim, 0, FloorPart::Watch, samples);
    let delete = take(sim, hosts - 1, FloorPart::Delete, samples);
    match futures::future::join(delete, watch).await {
        (Ok(deleted), Ok(heard)) => {
            floor_samples(deleted, heard).for_each(|sample| world.record(Writer::Coordinator, sample));
        }
        (Err(why), _) | (_, Err(why)) => {
            world.note(Writer::Coordinator, None, format!("the floor could not be measured: {why}"));
        }
    }
}

async fn take(sim: &SimCell, host: u16, part: FloorPart, samples: u32) -> Result<FloorStamps, String> {
    let (world, cell) = (Rc::clone(&sim.world), &sim.state.cell);
    let (timeout_ms, listed) = (cell.session_timeout_ms, format!("{ROOT}/{}", cell.group_names[0]));
    let owner = Owner { host, ..Owner::NOBODY };
    let session = SimSession::connect(&world, owner, timeout_ms).await.ok_or("no server gave a session in time")?;
    take_floor(&SimProcess { world, host, timeout_ms }, &session, part, samples, &listed).await
}
