//! The size of a message on ZooKeeper's wire in bytes, so that a link's rate can act on it. The encoding: a length of
//! four bytes first, numbers of four or eight bytes, strings and lists after their length.

use super::message::{FromClient, ToClient};
use crate::model::{Acl, Code, Read, Request, Response, Stat, TransactionStep, Watches};

const LENGTH: u64 = 4;
/// Number of the request, and its operation.
const REQUEST_HEAD: u64 = LENGTH + 4 + 4;
/// Number of the request, zxid, error.
const REPLY_HEAD: u64 = LENGTH + 4 + 8 + 4;
/// Protocol, last zxid, timeout, session, password, read-only.
const CONNECT: u64 = LENGTH + 4 + 8 + 4 + 8 + (LENGTH + 16) + 1;
/// Protocol, timeout, session, password, read-only.
const CONNECTED: u64 = LENGTH + 4 + 4 + 8 + (LENGTH + 16) + 1;
/// Three zxids, two times, the owner, five numbers.
const STAT: u64 = 3 * 8 + 2 * 8 + 8 + 5 * 4;
/// Before each step of a transaction, and once after the last: kind, whether it is the last, error.
const STEP_HEAD: u64 = 4 + 1 + 4;

impl FromClient {
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Connect(_) => CONNECT,
            Self::Ping => REQUEST_HEAD,
            Self::Request(_, request) => REQUEST_HEAD + of_request(request),
            Self::Closed => 0,
        }
    }
}

impl ToClient {
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Connected(_) => CONNECTED,
            Self::Pong => REPLY_HEAD,
            Self::Reply(_, _, answer) => REPLY_HEAD + of_answer(answer),
            // Kind, state of the session, path.
            Self::Event(fired) => REPLY_HEAD + 4 + 4 + text(&fired.path),
            Self::Closed => 0,
        }
    }
}

fn text(text: &str) -> u64 {
    LENGTH + text.len() as u64
}

fn list<T>(of: &[T], bytes: impl Fn(&T) -> u64) -> u64 {
    LENGTH + of.iter().map(bytes).sum::<u64>()
}

fn texts(of: &[String]) -> u64 {
    list(of, |one| text(one))
}

fn acls(of: &[Acl]) -> u64 {
    list(of, |acl| 4 + text(&acl.scheme) + text(&acl.id))
}

fn of_request(request: &Request) -> u64 {
    match request {
        Request::Create { path, data, acl, .. } => text(path) + LENGTH + data.len() as u64 + acls(acl) + 4,
        Request::Delete { path, .. } | Request::AddWatch { path, .. } | Request::RemoveWatches { path, .. } => {
            text(path) + 4
        }
        Request::Exists { path, .. } | Request::GetData { path, .. } | Request::GetChildren { path, .. } => {
            text(path) + 1
        }
        Request::SetData { path, data, .. } => text(path) + LENGTH + data.len() as u64 + 4,
        Request::GetAcl { path } | Request::CountAllChildren { path } | Request::Sync { path } => text(path),
        Request::SetAcl { path, acl, .. } => text(path) + acls(acl) + 4,
        Request::GetEphemerals { prefix } => text(prefix),
        Request::Multi(steps) => STEP_HEAD + steps.iter().map(|step| STEP_HEAD + of_step(step)).sum::<u64>(),
        Request::MultiRead(reads) => STEP_HEAD + reads.iter().map(|read| STEP_HEAD + of_read(read)).sum::<u64>(),
        Request::SetWatches(watches) => of_watches(watches),
        Request::AddAuth { scheme, id } => 4 + text(scheme) + text(id),
        Request::CloseSession => 0,
    }
}

fn of_step(step: &TransactionStep) -> u64 {
    match step {
        TransactionStep::Create { path, data, acl, .. } => text(path) + LENGTH + data.len() as u64 + acls(acl) + 4,
        TransactionStep::SetData { path, data, .. } => text(path) + LENGTH + data.len() as u64 + 4,
        TransactionStep::Delete { path, .. } | TransactionStep::Check { path, .. } => text(path) + 4,
    }
}

fn of_read(read: &Read) -> u64 {
    match read {
        Read::Data { path } | Read::Children { path } => text(path) + 1,
    }
}

fn of_watches(watches: &Watches) -> u64 {
    let Watches { data, exist, child, persistent, persistent_recursive, .. } = watches;
    8 + [data, exist, child, persistent, persistent_recursive].into_iter().map(|paths| texts(paths)).sum::<u64>()
}

fn of_answer(answer: &Result<Response, Code>) -> u64 {
    answer.as_ref().map_or(0, of_response)
}

fn of_response(response: &Response) -> u64 {
    let stat = |stat: &Option<Stat>| if stat.is_some() { STAT } else { 0 };
    match response {
        Response::Done => 0,
        Response::Created { path, stat: of } => text(path) + stat(of),
        Response::Stat(_) => STAT,
        Response::Data { data, .. } => LENGTH + data.len() as u64 + STAT,
        Response::Acl { acl, .. } => acls(acl) + STAT,
        Response::Children { names, stat: of } => texts(names) + stat(of),
        Response::Paths(paths) => texts(paths),
        Response::Count(_) => 4,
        Response::Path(path) => text(path),
        Response::Multi(all) => STEP_HEAD + all.iter().map(|one| STEP_HEAD + of_response(one)).sum::<u64>(),
        Response::MultiFailed(codes) => STEP_HEAD + codes.len() as u64 * (STEP_HEAD + 4),
        Response::MultiRead(all) => STEP_HEAD + all.iter().map(|one| STEP_HEAD + of_answer(one)).sum::<u64>(),
    }
}
