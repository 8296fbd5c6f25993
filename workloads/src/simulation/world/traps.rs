//! What lies in wait for requests of single candidates, and for the answers to them.

use super::due::Call;
use crate::model::{Conn, Micros, Request, Step};
use crate::schedule::Request as Wanted;

/// What waits for a request, and what waits for an answer.
#[derive(Default)]
pub(crate) struct Traps {
    laid: Vec<Trap>,
    answers: Vec<(Conn, i32, AnswerFate)>,
}

/// Waits for the `left`-th request of its kind from now on.
pub(crate) struct Trap {
    pub(crate) cand: u32,
    pub(crate) kind: Wanted,
    pub(crate) part: String,
    pub(crate) left: u32,
    /// It counts nothing before this time.
    pub(crate) from: Micros,
    pub(crate) effect: Effect,
}

/// What a trap does.
pub(crate) enum Effect {
    Request(Fate),
    Answer(AnswerFate),
    /// Something to others than the request, before it leaves.
    Call(Call),
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Sent,
    /// It leaves so much later.
    Late(Micros),
    /// Its connection breaks before it leaves.
    Lost,
}

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerFate {
    /// It leaves so much later.
    Late(Micros),
    /// Its connection breaks before it leaves.
    Lost,
}

impl Traps {
    pub(crate) fn lay(&mut self, trap: Trap) {
        self.laid.push(trap);
    }

    /// Nothing lies in wait for a request.
    pub(crate) fn is_clear(&self) -> bool {
        self.laid.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.laid.clear();
    }

    /// What this request of a candidate springs.
    pub(crate) fn spring(&mut self, now: Micros, cand: u32, request: &Request) -> Vec<Effect> {
        let springs = |trap: &mut Trap| {
            if now < trap.from || trap.cand != cand || !matches(trap.kind, &trap.part, request) {
                return false;
            }
            trap.left = trap.left.saturating_sub(1);
            trap.left == 0
        };
        self.laid.extract_if(.., springs).map(|trap| trap.effect).collect()
    }

    pub(crate) fn await_answer(&mut self, conn: Conn, xid: i32, fate: AnswerFate) {
        self.answers.push((conn, xid, fate));
    }

    /// What becomes of this answer, if something lies in wait for it.
    pub(crate) fn answered(&mut self, conn: Conn, xid: i32) -> Option<AnswerFate> {
        let place = self.answers.iter().position(|(c, x, _)| (*c, *x) == (conn, xid))?;
        Some(self.answers.remove(place).2)
    }
}

fn matches(wanted: Wanted, part: &str, request: &Request) -> bool {
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
    (wanted == kind || wanted == Wanted::Any) && path.contains(part)
}

fn path_of(step: &Step) -> &str {
    match step {
        Step::Create { path, .. }
        | Step::Delete { path, .. }
        | Step::SetData { path, .. }
        | Step::Check { path, .. } => path,
    }
}
