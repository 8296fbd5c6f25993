//! The life of a simulated candidate: session after session, it stands, leads, leaves and stands again.

use std::rc::Rc;

use super::client::Owner;
use super::seat::{Held, Seat};
use super::session::SimSession;
use super::witness::{By, Saw};
use super::world::sleep_until;
use crate::booth::Departure;
use crate::coordination::Session as _;
use crate::model::Micros;
use crate::recipes::{TermCounter, stand};
use crate::scenario::SessionUse;

/// After a failure that its recipe has no answer to, a candidate stands again after this.
const AFTER_FAILURE_US: Micros = 500_000;
/// Between tries to get a session.
const RETRY_US: Micros = 50_000;
const RETRY_MAX_US: Micros = 1_000_000;
/// The server's answer to a close is waited for this long.
const CLOSE_MAX_US: Micros = 5_000_000;

/// Runs a candidate until its host stops or its election is deleted.
pub(super) async fn live(seat: Rc<Seat>) {
    let (terms, booth) = (TermCounter::new(), Held(seat.clone()));
    let mut ended = 0;
    while let Some(session) = obtain(&seat, ended).await {
        ended = session.id();
        seat.client.set(Some(session.client()));
        seat.session.set(ended);
        seat.requests.replace(session.counter());
        seat.stage.world.saw(By::Host(seat.host), Saw::Incarnation { cand: seat.cand, session: ended });
        if one_session(&booth, session, &terms).await {
            break;
        }
    }
    seat.stage.living.set(seat.stage.living.get() - 1);
    seat.stage.touch();
}

/// Stands under one session until that ends. True: it is done for good.
async fn one_session(booth: &Held, session: SimSession, terms: &TermCounter) -> bool {
    let seat = &booth.0;
    let (stage, world) = (&seat.stage, &seat.stage.world);
    let election = stage.elections[seat.group as usize].clone();
    loop {
        let departure = stand(&session, booth, &election, terms).await;
        seat.stands(false);
        left(seat, &departure);
        let pause = match departure {
            Departure::SessionEnded(_) => return stage.stopping.get(),
            Departure::Stopped | Departure::ElectionDeleted => break,
            Departure::Resigned { .. } => stage.cell.rejoin_after_ms * 1_000,
            Departure::Failed(_) => AFTER_FAILURE_US,
        };
        sleep_until(world, seat.host, world.now() + pause).await;
        if stage.stopping.get() {
            break;
        }
    }
    if !session.close(CLOSE_MAX_US).await {
        let text = "the close of a session was not answered".to_owned();
        world.saw(By::Host(seat.host), Saw::Note { cand: Some(seat.cand), text });
    }
    true
}

fn left(seat: &Seat, departure: &Departure) {
    let world = &seat.stage.world;
    world.saw(By::Host(seat.host), Saw::Left { cand: seat.cand, session: seat.session.get(), departure });
    if let Some((fault, from)) = seat.resigning.take() {
        let verified = matches!(departure, Departure::Resigned { left: Some(_) });
        let evidence = match departure {
            Departure::Resigned { left: Some(_) } => "the deletion of its znode was answered".to_owned(),
            other => format!("it left otherwise: {other:?}"),
        };
        let receipt = Saw::Receipt { id: fault, healed: false, from, verified, evidence, touches: Vec::new() };
        world.saw(By::Coordinator, receipt);
    }
}

/// A live session that is not the one that ended; None once the host stops.
async fn obtain(seat: &Rc<Seat>, ended: i64) -> Option<SimSession> {
    let stage = &seat.stage;
    if stage.cell.sessions == SessionUse::PerCandidate {
        return connect(seat, Some(seat.cand)).await;
    }
    let mut common = stage.hosts[usize::from(seat.host)].common.lock().await;
    match common.as_ref() {
        Some(session) if session.id() != ended => Some(session.share()),
        _ => {
            let session = connect(seat, None).await?;
            *common = Some(session.share());
            Some(session)
        }
    }
}

async fn connect(seat: &Rc<Seat>, cand: Option<u32>) -> Option<SimSession> {
    let (stage, world) = (&seat.stage, &seat.stage.world);
    let _turn = stage.hosts[usize::from(seat.host)].turns.enter().await;
    let owner = Owner { host: seat.host, cand, told: true };
    let mut pause = RETRY_US;
    while !stage.stopping.get() {
        if let Some(session) = SimSession::connect(world, owner, stage.cell.session_timeout_ms).await {
            return Some(session);
        }
        let text = "no session: no server gave one in time".to_owned();
        world.saw(By::Host(seat.host), Saw::Note { cand: None, text });
        sleep_until(world, seat.host, world.now() + pause).await;
        pause = (pause * 2).min(RETRY_MAX_US);
    }
    None
}
