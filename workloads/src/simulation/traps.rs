//! What fixed schedules lay in wait for: requests of one candidate, and the answers to them.

use std::rc::Rc;

use super::script::{Request as Wanted, What};
use super::world::{ClientId, World};
use crate::model::{Conn, Micros, Request, Step as Part};

/// What waits for a request, and what waits for an answer.
#[derive(Default)]
pub(super) struct Traps {
    pub(super) laid: Vec<Trap>,
    answers: Vec<(Conn, i32, What)>,
}

/// Waits for the `left`-th request of its kind from now on.
pub(super) struct Trap {
    pub(super) cand: u32,
    pub(super) kind: Wanted,
    pub(super) part: String,
    pub(super) left: u32,
    /// It counts nothing before this time.
    pub(super) from: Micros,
    pub(super) what: What,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Sent,
    /// It leaves so much later.
    Late(Micros),
    /// Its connection breaks before it leaves.
    Lost,
}

impl World {
    /// Springs what lies in wait for this request. What is done to the whole world is done before it leaves.
    pub(super) fn fate(self: &Rc<Self>, client: ClientId, conn: Conn, xid: i32, request: &Request) -> Fate {
        if self.traps.borrow().laid.is_empty() {
            return Fate::Sent;
        }
        let cand = self.clients.borrow()[client as usize].cand;
        let now = self.now();
        let mut due = Vec::new();
        self.traps.borrow_mut().laid.retain_mut(|trap| {
            if now < trap.from || Some(trap.cand) != cand || !matches(trap, request) {
                return true;
            }
            trap.left = trap.left.saturating_sub(1);
            if trap.left == 0 {
                due.push(trap.what);
            }
            trap.left > 0
        });
        let mut fate = Fate::Sent;
        for what in due {
            match what {
                What::LoseReply | What::DelayReply(_) => self.traps.borrow_mut().answers.push((conn, xid, what)),
                What::LoseRequest => fate = Fate::Lost,
                What::DelayRequest(ms) => fate = Fate::Late(ms * 1_000),
                other => self.do_to(other),
            }
        }
        fate
    }

    /// When an answer that is ready `at` may leave. None: it is lost, with its connection.
    pub(super) fn sprung(self: &Rc<Self>, conn: Conn, xid: i32, at: Micros) -> Option<Micros> {
        let what = {
            let mut traps = self.traps.borrow_mut();
            if traps.answers.is_empty() {
                return Some(at);
            }
            let place = traps.answers.iter().position(|(c, x, _)| (*c, *x) == (conn, xid));
            place.map(|place| traps.answers.remove(place).2)
        };
        match what {
            Some(What::LoseReply) => {
                // The model is in the middle of its outputs: the connection breaks right after them.
                self.later(self.now(), move |world| world.reset(conn));
                None
            }
            Some(What::DelayReply(ms)) => Some(at + ms * 1_000),
            _ => Some(at),
        }
    }
}

fn matches(trap: &Trap, request: &Request) -> bool {
    let (kind, path) = match request {
        Request::Create { path, .. } => (Wanted::Create, path.as_str()),
        Request::Delete { path, .. } => (Wanted::Delete, path.as_str()),
        Request::Exists { path, .. } => (Wanted::Exists, path.as_str()),
        Request::GetData { path, .. } => (Wanted::Get, path.as_str()),
        Request::SetData { path, .. } => (Wanted::Set, path.as_str()),
        Request::GetChildren { path, .. } => (Wanted::Children, path.as_str()),
        Request::Sync { path } => (Wanted::Sync, path.as_str()),
        Request::Multi(steps) => (Wanted::Multi, steps.first().map_or("", path_of)),
        _ => return false,
    };
    (trap.kind == kind || trap.kind == Wanted::Any) && path.contains(trap.part.as_str())
}

fn path_of(step: &Part) -> &str {
    match step {
        Part::Create { path, .. }
        | Part::Delete { path, .. }
        | Part::SetData { path, .. }
        | Part::Check { path, .. } => path,
    }
}
