//! The client side: writing requests and reading answers.

use hustings_workloads::model::{
    Code, CreateKind, Event, EventKind, Read, Request, Response, TransactionStep, WatcherType, ZnodeLifetime, Zxid,
};

use super::jute::{Reader, WireError, Writer};
use super::op_code;
use super::records::{flags, read_acl, read_stat, write_acl};

/// A message from a server within a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEvent<'a> {
    Event(Event),
    /// The answer to request `xid`. [`read_response`] reads the body of a successful one.
    Reply {
        xid: i32,
        zxid: Zxid,
        error: i32,
        body: &'a [u8],
    },
}

/// The frame of a request. For [`Request::AddAuth`], the id is sent as the proof.
#[must_use]
pub fn write_request(xid: i32, request: &Request) -> Vec<u8> {
    let mut to = Writer::default();
    to.int(xid).int(op_of(request));
    match request {
        Request::Create { path, data, acl, kind, .. } => {
            to.string(path).buffer(data);
            write_acl(&mut to, acl);
            to.int(flags(*kind));
        }
        Request::Delete { path, version } => drop(to.string(path).int(*version)),
        Request::SetData { path, data, version } => drop(to.string(path).buffer(data).int(*version)),
        Request::Exists { path, watch }
        | Request::GetData { path, watch }
        | Request::GetChildren { path, watch, .. } => {
            to.string(path).boolean(*watch);
        }
        Request::GetAcl { path }
        | Request::GetEphemerals { prefix: path }
        | Request::CountAllChildren { path }
        | Request::Sync { path } => {
            to.string(path);
        }
        Request::SetAcl { path, acl, version } => {
            to.string(path);
            write_acl(&mut to, acl);
            to.int(*version);
        }
        Request::Multi(steps) => {
            steps.iter().for_each(|step| write_step(&mut to, step));
            write_head(&mut to, -1, true);
        }
        Request::MultiRead(reads) => {
            for read in reads {
                let (op, path) = match read {
                    Read::Data { path } => (op_code::GET_DATA, path),
                    Read::Children { path } => (op_code::GET_CHILDREN, path),
                };
                write_head(&mut to, op, false);
                to.string(path).boolean(false);
            }
            write_head(&mut to, -1, true);
        }
        Request::AddWatch { path, recursive } => drop(to.string(path).int(i32::from(*recursive))),
        Request::RemoveWatches { path, of, .. } => drop(to.string(path).int(number_of(*of))),
        Request::SetWatches(watches) => {
            to.long(watches.since).strings(&watches.data).strings(&watches.exist).strings(&watches.child);
            to.strings(&watches.persistent).strings(&watches.persistent_recursive);
        }
        Request::AddAuth { scheme, id } => drop(to.int(0).string(scheme).string(id)),
        Request::CloseSession => {}
    }
    to.frame()
}

/// The frame of a ping.
#[must_use]
pub fn write_ping() -> Vec<u8> {
    let mut to = Writer::default();
    to.int(op_code::XID_PING).int(op_code::PING);
    to.frame()
}

/// Parses a message from a server.
///
/// # Errors
/// The bytes are not such a message.
pub fn read_session_event(message: &[u8]) -> Result<SessionEvent<'_>, WireError> {
    let mut from = Reader::new(message);
    let (xid, zxid, error) = (from.int()?, from.long()?, from.int()?);
    if xid != op_code::XID_EVENT {
        return Ok(SessionEvent::Reply { xid, zxid, error, body: &message[message.len() - from.left()..] });
    }
    let kind = match from.int()? {
        1 => EventKind::Created,
        2 => EventKind::Deleted,
        3 => EventKind::DataChanged,
        4 => EventKind::ChildrenChanged,
        value => return Err(WireError::Value { what: "what a watch has seen", value }),
    };
    let _state = from.int()?;
    let path = from.string()?;
    from.end()?;
    Ok(SessionEvent::Event(Event { kind, path, zxid }))
}

/// Parses the body of a successful answer to `request`.
///
/// # Errors
/// The bytes are not such an answer.
pub fn read_response(request: &Request, body: &[u8]) -> Result<Response, WireError> {
    let mut from = Reader::new(body);
    let response = match request {
        Request::Create { with_stat, .. } => read_created(&mut from, *with_stat)?,
        Request::Exists { .. } | Request::SetData { .. } | Request::SetAcl { .. } => {
            Response::Stat(read_stat(&mut from)?)
        }
        Request::GetData { .. } => Response::Data { data: from.buffer()?.to_vec(), stat: read_stat(&mut from)? },
        Request::GetAcl { .. } => Response::Acl { acl: read_acl(&mut from)?, stat: read_stat(&mut from)? },
        Request::GetChildren { with_stat, .. } => {
            let names = from.strings()?;
            Response::Children { names, stat: with_stat.then(|| read_stat(&mut from)).transpose()? }
        }
        Request::GetEphemerals { .. } => Response::Paths(from.strings()?),
        Request::CountAllChildren { .. } => Response::Count(from.int()?),
        Request::Sync { .. } => Response::Path(from.string()?),
        Request::Multi(_) => read_steps(&mut from)?,
        Request::MultiRead(_) => {
            let mut reads = Vec::new();
            while let Some(op) = read_head(&mut from)? {
                reads.push(match op {
                    op_code::GET_DATA => {
                        Ok(Response::Data { data: from.buffer()?.to_vec(), stat: read_stat(&mut from)? })
                    }
                    op_code::GET_CHILDREN => Ok(Response::Children { names: from.strings()?, stat: None }),
                    op_code::ERROR => Err(read_code(&mut from)?),
                    value => return Err(WireError::Value { what: "an answer among several", value }),
                });
            }
            Response::MultiRead(reads)
        }
        Request::AddWatch { .. } => {
            let _error = from.int()?;
            Response::Done
        }
        Request::Delete { .. }
        | Request::RemoveWatches { .. }
        | Request::SetWatches(_)
        | Request::AddAuth { .. }
        | Request::CloseSession => Response::Done,
    };
    from.end()?;
    Ok(response)
}

fn read_created(from: &mut Reader<'_>, with_stat: bool) -> Result<Response, WireError> {
    let path = from.string()?;
    Ok(Response::Created { path, stat: with_stat.then(|| read_stat(from)).transpose()? })
}

fn read_steps(from: &mut Reader<'_>) -> Result<Response, WireError> {
    let (mut steps, mut codes) = (Vec::new(), Vec::new());
    while let Some(op) = read_head(from)? {
        match op {
            op_code::CREATE => steps.push(read_created(from, false)?),
            op_code::CREATE2 => steps.push(read_created(from, true)?),
            op_code::SET_DATA => steps.push(Response::Stat(read_stat(from)?)),
            op_code::DELETE | op_code::CHECK => steps.push(Response::Done),
            op_code::ERROR => codes.push(read_code(from)?),
            value => return Err(WireError::Value { what: "an answer to a step", value }),
        }
    }
    Ok(if codes.is_empty() { Response::Multi(steps) } else { Response::MultiFailed(codes) })
}

/// The operation that the next answer belongs to. None at the end.
fn read_head(from: &mut Reader<'_>) -> Result<Option<i32>, WireError> {
    let (op, done, _error) = (from.int()?, from.boolean()?, from.int()?);
    Ok((!done).then_some(op))
}

fn read_code(from: &mut Reader<'_>) -> Result<Code, WireError> {
    let value = from.int()?;
    code(value).ok_or(WireError::Value { what: "an error code", value })
}

/// The error with this number.
#[must_use]
pub fn code(number: i32) -> Option<Code> {
    const ALL: [Code; 17] = [
        Code::Ok,
        Code::SystemError,
        Code::RuntimeInconsistency,
        Code::MarshallingError,
        Code::Unimplemented,
        Code::BadArguments,
        Code::NoNode,
        Code::NoAuth,
        Code::BadVersion,
        Code::NoChildrenForEphemerals,
        Code::NodeExists,
        Code::NotEmpty,
        Code::SessionExpired,
        Code::InvalidAcl,
        Code::AuthFailed,
        Code::SessionMoved,
        Code::NoWatcher,
    ];
    ALL.into_iter().find(|code| code.number() == number)
}

fn op_of(request: &Request) -> i32 {
    match request {
        Request::Create { kind, with_stat, .. } => op_of_create(*kind, *with_stat),
        Request::Delete { .. } => op_code::DELETE,
        Request::Exists { .. } => op_code::EXISTS,
        Request::GetData { .. } => op_code::GET_DATA,
        Request::SetData { .. } => op_code::SET_DATA,
        Request::GetAcl { .. } => op_code::GET_ACL,
        Request::SetAcl { .. } => op_code::SET_ACL,
        Request::GetChildren { with_stat: false, .. } => op_code::GET_CHILDREN,
        Request::GetChildren { with_stat: true, .. } => op_code::GET_CHILDREN2,
        Request::GetEphemerals { .. } => op_code::GET_EPHEMERALS,
        Request::CountAllChildren { .. } => op_code::GET_ALL_CHILDREN_NUMBER,
        Request::Sync { .. } => op_code::SYNC,
        Request::Multi(_) => op_code::MULTI,
        Request::MultiRead(_) => op_code::MULTI_READ,
        Request::AddWatch { .. } => op_code::ADD_WATCH,
        Request::RemoveWatches { only_check: true, .. } => op_code::CHECK_WATCHES,
        Request::RemoveWatches { only_check: false, .. } => op_code::REMOVE_WATCHES,
        Request::SetWatches(_) => op_code::SET_WATCHES2,
        Request::AddAuth { .. } => op_code::AUTH,
        Request::CloseSession => op_code::CLOSE_SESSION,
    }
}

fn op_of_create(kind: CreateKind, with_stat: bool) -> i32 {
    match (kind.life, with_stat) {
        (ZnodeLifetime::Container, true) => op_code::CREATE_CONTAINER,
        (_, true) => op_code::CREATE2,
        (_, false) => op_code::CREATE,
    }
}

fn write_step(to: &mut Writer, step: &TransactionStep) {
    match step {
        TransactionStep::Create { path, data, acl, kind, with_stat } => {
            write_head(to, op_of_create(*kind, *with_stat), false);
            to.string(path).buffer(data);
            write_acl(to, acl);
            to.int(flags(*kind));
        }
        TransactionStep::Delete { path, version } => {
            write_head(to, op_code::DELETE, false);
            to.string(path).int(*version);
        }
        TransactionStep::SetData { path, data, version } => {
            write_head(to, op_code::SET_DATA, false);
            to.string(path).buffer(data).int(*version);
        }
        TransactionStep::Check { path, version } => {
            write_head(to, op_code::CHECK, false);
            to.string(path).int(*version);
        }
    }
}

fn write_head(to: &mut Writer, op: i32, done: bool) {
    to.int(op).boolean(done).int(-1);
}

fn number_of(watchers: WatcherType) -> i32 {
    match watchers {
        WatcherType::Children => 1,
        WatcherType::Data => 2,
        WatcherType::Any => 3,
    }
}
