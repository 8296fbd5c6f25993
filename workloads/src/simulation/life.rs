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
use crate::recipes::{Career, stand};
use crate::scenario::SessionUse;

/// After a failure that its recipe has no answer to, a candidate stands again after this.
const AFTER_FAILURE_US: Micros = 500_000;
/// Between tries to get a session.
const RETRY_US: Micros = 50_000;
const RETRY_MAX_US: Micros = 1_000_000;
/// The server's answer to a close is waited for this long.
const CLOSE_MAX_US: Micros = 5_000_000;

/// Runs a candidate until its election is deleted; with its process, and with its world, it just ends.
pub(super) async fn live(seat: Rc<Seat>) {
    let (career, booth) = (Career::new(), Held(seat.clone()));
    let mut ended = 0;
    loop {
        let session = obtain(&seat, ended).await;
        ended = session.id();
        seat.client.set(Some(session.client()));
        seat.session.set(ended);
        seat.requests.replace(session.counter());
        seat.stage.world.saw(By::Host(seat.host), Saw::Incarnation { cand: seat.cand, session: ended });
        if one_session(&booth, session, &career).await {
            return;
        }
    }
}

/// Stands under one session until that ends. True: it is done for good.
async fn one_session(booth: &Held, session: SimSession, career: &Career) -> bool {
    let seat = &booth.0;
    let (stage, world) = (&seat.stage, &seat.stage.world);
    let election = stage.elections[seat.group as usize].clone();
    loop {
        let departure = stand(&session, booth, &election, career).await;
        seat.stands(false);
        left(seat, &departure);
        let pause = match departure {
            Departure::SessionEnded(_) => return false,
            Departure::Stopped | Departure::ElectionDeleted => break,
            Departure::Resigned { .. } => stage.cell.rejoin_after_ms * 1_000,
            Departure::Failed(_) => AFTER_FAILURE_US,
        };
        sleep_until(world, seat.host, world.now() + pause).await;
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
        let receipt =
            Saw::Receipt { id: fault, healed: false, from, to: world.now(), verified, evidence, touches: Vec::new() };
        world.saw(By::Coordinator, receipt);
    }
}

/// A live session that is not the one that ended.
async fn obtain(seat: &Rc<Seat>, ended: i64) -> SimSession {
    let stage = &seat.stage;
    if stage.cell.sessions == SessionUse::PerCandidate {
        return connect(seat, Some(seat.cand)).await;
    }
    let mut common = stage.hosts[usize::from(seat.host)].common.lock().await;
    match common.as_ref() {
        Some(session) if session.id() != ended => session.share(),
        _ => {
            let session = connect(seat, None).await;
            *common = Some(session.share());
            session
        }
    }
}

async fn connect(seat: &Rc<Seat>, cand: Option<u32>) -> SimSession {
    let (stage, world) = (&seat.stage, &seat.stage.world);
    let _turn = stage.hosts[usize::from(seat.host)].turns.enter().await;
    let owner = Owner { host: seat.host, cand, told: true };
    let mut pause = RETRY_US;
    loop {
        if let Some(session) = SimSession::connect(world, owner, stage.cell.session_timeout_ms).await {
            return session;
        }
        let text = "no session: no server gave one in time".to_owned();
        world.saw(By::Host(seat.host), Saw::Note { cand: None, text });
        sleep_until(world, seat.host, world.now() + pause).await;
        pause = (pause * 2).min(RETRY_MAX_US);
    }
}
