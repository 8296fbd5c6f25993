//! Looks after the processes that a cell stands on and that no fault hits unbidden: servers, link proxies. One that is gone ends
//! the run; what one did not run for is written down, and nobody is blamed for what it covers.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hustings_record::words::duration;
use hustings_record::{Event, Nanos};

use crate::clock;
use crate::coordinator::live_cell::LiveCell;
use crate::ensemble::{Ensemble, EnsembleError};

const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Where looking itself takes long, as in containers, it is done for no more than this share of the time.
const PAUSE_PER_LOOK: u32 = 20;
/// Whoever has been stopped for so long is not expected back.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(10);

/// What was found wrong.
struct Gone {
    who: String,
    why: String,
}

/// Looks again and again, until the cell cannot go on or this is dropped.
pub(super) async fn watch(cell: Rc<LiveCell>) {
    // When whoever was not idle was last seen to run; and since when the others have not been.
    let mut whole = clock::now();
    let mut idle: BTreeMap<String, Nanos> = BTreeMap::new();
    loop {
        let (begun, began) = (clock::now(), Instant::now());
        match look(&cell).await {
            Ok(names) => {
                let now = clock::now();
                let dated = names.into_iter().map(|who| (since(&idle, &who, whole), who));
                idle = dated.map(|(since, who)| (who, since)).collect();
                for (who, &since) in &idle {
                    let (who, why) = (who.clone(), "stood still, and no fault had it so".to_owned());
                    cell.journal.push(&Event::Outage { from: since, to: Some(now), who, why });
                }
                let lost = idle.iter().find(|(_, since)| now - **since > GIVEN_UP_AFTER.as_nanos() as u64);
                if let Some((who, since)) = lost {
                    return cell
                        .fail(format!("{who} stood still for {}, and no fault had it so", duration(now - since)));
                }
            }
            Err(Gone { who, why }) => {
                let from = since(&idle, &who, whole);
                cell.journal.push(&Event::Outage {
                    from,
                    to: None,
                    who,
                    why: "was gone, and no fault had it so".to_owned(),
                });
                return cell.fail(why);
            }
        }
        whole = begun;
        tokio::time::sleep(LOOK_EVERY.max(began.elapsed() * PAUSE_PER_LOOK)).await;
    }
}

/// Waits until a server has died.
pub(super) async fn death(ensemble: &dyn Ensemble) -> EnsembleError {
    loop {
        if let Err(died) = ensemble.check_alive().await {
            return died;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn since(idle: &BTreeMap<String, Nanos>, who: &str, whole: Nanos) -> Nanos {
    idle.get(who).copied().unwrap_or(whole)
}

/// Names of those that do not run.
async fn look(cell: &LiveCell) -> Result<Vec<String>, Gone> {
    let servers = cell.ensemble().check_alive().await;
    let mut idle = servers.map_err(|error| {
        let who = error.gone().unwrap_or_else(|| "the ensemble".to_owned());
        Gone { who, why: error.to_string() }
    })?;
    if let Some(links) = cell.links() {
        let proxies = links.check_alive().await;
        idle.extend(proxies.map_err(|error| {
            let who = error.gone().unwrap_or_else(|| "a link proxy".to_owned());
            Gone { who, why: error.to_string() }
        })?);
    }
    Ok(idle)
}
