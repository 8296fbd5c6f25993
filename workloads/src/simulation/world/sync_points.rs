//! Sync points for requests of single candidates, and for their answers.

use super::due::Call;
use crate::model::{Conn, Micros, Request, TransactionStep};
use crate::schedule::ScheduledRequest;

/// The sync points for requests, and those for answers.
#[derive(Default)]
pub(crate) struct SyncPoints {
    laid: Vec<ArmedSyncPoint>,
    answers: Vec<(Conn, i32, AnswerDelivery)>,
}

/// Waits for the `left`-th request of its kind from now on.
pub(crate) struct ArmedSyncPoint {
    pub(crate) cand: u32,
    pub(crate) kind: ScheduledRequest,
    pub(crate) part: String,
    pub(crate) left: u32,
    /// Requests before this time do not count.
    pub(crate) from: Micros,
    pub(crate) effect: SyncPointEffect,
}

/// The effect of a sync point.
pub(crate) enum SyncPointEffect {
    Request(RequestDelivery),
    Answer(AnswerDelivery),
    /// An action on others than the request, before it leaves.
    Call(Call),
}

/// The fate of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestDelivery {
    Sent,
    /// It leaves this much later.
    Late(Micros),
    /// Its connection breaks before it leaves.
    Lost,
}

/// The fate of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerDelivery {
    /// It leaves this much later.
    Late(Micros),
    /// Its connection breaks before it leaves.
    Lost,
}

impl SyncPoints {
    pub(crate) fn arm(&mut self, point: ArmedSyncPoint) {
        self.laid.push(point);
    }

    /// Whether there is no sync point for a request.
    pub(crate) fn is_clear(&self) -> bool {
        self.laid.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.laid.clear();
    }

    /// The sync points that this request of a candidate triggers.
    pub(crate) fn triggered_by(&mut self, now: Micros, cand: u32, request: &Request) -> Vec<SyncPointEffect> {
        let triggers = |point: &mut ArmedSyncPoint| {
            if now < point.from || point.cand != cand || !matches(point.kind, &point.part, request) {
                return false;
            }
            point.left = point.left.saturating_sub(1);
            point.left == 0
        };
        self.laid.extract_if(.., triggers).map(|point| point.effect).collect()
    }

    pub(crate) fn await_answer(&mut self, conn: Conn, xid: i32, fate: AnswerDelivery) {
        self.answers.push((conn, xid, fate));
    }

    /// The fate of this answer, if there is a sync point for it.
    pub(crate) fn answered(&mut self, conn: Conn, xid: i32) -> Option<AnswerDelivery> {
        let place = self.answers.iter().position(|(c, x, _)| (*c, *x) == (conn, xid))?;
        Some(self.answers.remove(place).2)
    }
}

fn matches(wanted: ScheduledRequest, part: &str, request: &Request) -> bool {
    let (kind, path) = match request {
        Request::Create { path, .. } => (ScheduledRequest::Create, path.as_str()),
        Request::Delete { path, .. } => (ScheduledRequest::Delete, path.as_str()),
        Request::Exists { path, .. } => (ScheduledRequest::Exists, path.as_str()),
        Request::GetData { path, .. } => (ScheduledRequest::Get, path.as_str()),
        Request::SetData { path, .. } => (ScheduledRequest::Set, path.as_str()),
        Request::GetChildren { path, .. } => (ScheduledRequest::Children, path.as_str()),
        Request::Sync { path } => (ScheduledRequest::Sync, path.as_str()),
        Request::Multi(steps) => (ScheduledRequest::Multi, steps.first().map_or("", path_of)),
        _ => return false,
    };
    (wanted == kind || wanted == ScheduledRequest::Any) && path.contains(part)
}

fn path_of(step: &TransactionStep) -> &str {
    match step {
        TransactionStep::Create { path, .. }
        | TransactionStep::Delete { path, .. }
        | TransactionStep::SetData { path, .. }
        | TransactionStep::Check { path, .. } => path,
    }
}
