//! Requests within a session, as servers read them.

use hustings_workloads::model::{Code, Read, Request, TransactionStep, WatcherType, Watches, ZnodeLifetime};

use super::jute::{Reader, WireError};
use super::op_code;
use super::records::{CreateKindError, kind, read_acl};
use super::reply::ReplyFormat;

/// A client's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireRequest {
    /// Only keeps the session alive.
    Ping,
    /// Proves an identity of some scheme.
    Auth { scheme: String, proof: Vec<u8> },
    /// To be executed. The answer has this format.
    Request(Request, ReplyFormat),
    /// It requests something impossible. The answer is this code.
    Refused(Code),
    /// It is not a message of its operation. The answer is `MarshallingError`.
    Malformed(WireError),
    /// The operation does not exist. The answer is `Unimplemented`, and the connection ends.
    Unknown,
    /// Asks for the identities of the connection.
    WhoAmI,
    /// The next token of a SASL negotiation, which these servers do not support. The answer is empty.
    Sasl,
    /// Servers accept it but never answer: a check outside of a transaction.
    Unanswered,
    /// It is not a message of its operation. The connection ends without an answer.
    Nonsense,
}

/// The reason why a request cannot be executed.
enum RequestDefect {
    Wire(WireError),
    Arguments,
    Operation,
    Refused(Code),
}

impl From<WireError> for RequestDefect {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

impl From<CreateKindError> for RequestDefect {
    fn from(kind: CreateKindError) -> Self {
        match kind {
            CreateKindError::Ever => Self::Arguments,
            CreateKindError::SwitchedOff => Self::Refused(Code::Unimplemented),
        }
    }
}

/// Parses a request and its id.
///
/// # Errors
/// The request's id or operation is missing, so no answer is possible. Later errors are returned as a [`WireRequest`].
pub fn read_request(message: &[u8]) -> Result<(i32, WireRequest), WireError> {
    let mut from = Reader::new(message);
    let (xid, op) = (from.int()?, from.int()?);
    let ask = match op {
        op_code::PING => WireRequest::Ping,
        op_code::AUTH => read_auth(&mut from).unwrap_or(WireRequest::Nonsense),
        op_code::SASL => from.buffer().map_or(WireRequest::Nonsense, |_| WireRequest::Sasl),
        op_code::WHO_AM_I => WireRequest::WhoAmI,
        op_code::CHECK => read_check(&mut from).unwrap_or_else(WireRequest::Malformed),
        op => match read_body(op, &mut from) {
            Ok((request, shape)) => WireRequest::Request(request, shape),
            Err(RequestDefect::Wire(error)) => WireRequest::Malformed(error),
            Err(RequestDefect::Arguments) => WireRequest::Refused(Code::BadArguments),
            Err(RequestDefect::Operation) => WireRequest::Unknown,
            Err(RequestDefect::Refused(code)) => WireRequest::Refused(code),
        },
    };
    Ok((xid, ask))
}

fn read_auth(from: &mut Reader<'_>) -> Result<WireRequest, WireError> {
    let _kind = from.int()?;
    Ok(WireRequest::Auth { scheme: from.string()?, proof: from.buffer()?.to_vec() })
}

fn read_check(from: &mut Reader<'_>) -> Result<WireRequest, WireError> {
    let (path, _version) = (from.string()?, from.int()?);
    Ok(if path.is_empty() { WireRequest::Refused(Code::BadArguments) } else { WireRequest::Unanswered })
}

/// Servers in their default configuration refuse reconfiguration.
fn read_reconfig(from: &mut Reader<'_>) -> Result<Code, WireError> {
    let (_joining, _leaving, _members, _version) = (from.string()?, from.string()?, from.string()?, from.long()?);
    Ok(Code::ReconfigDisabled)
}

fn read_body(op: i32, from: &mut Reader<'_>) -> Result<(Request, ReplyFormat), RequestDefect> {
    let request = match op {
        op_code::CREATE | op_code::CREATE2 | op_code::CREATE_CONTAINER | op_code::CREATE_TTL => {
            alone(read_step(op, from)?)?
        }
        op_code::DELETE | op_code::SET_DATA => alone(read_step(op, from)?)?,
        op_code::EXISTS => Request::Exists { path: from.path()?, watch: from.boolean()? },
        op_code::GET_DATA => Request::GetData { path: from.path()?, watch: from.boolean()? },
        op_code::GET_ACL => Request::GetAcl { path: from.path()? },
        op_code::SET_ACL => Request::SetAcl { path: from.string()?, acl: read_acl(from)?, version: from.int()? },
        op_code::GET_CHILDREN | op_code::GET_CHILDREN2 => {
            let with_stat = op == op_code::GET_CHILDREN2;
            Request::GetChildren { path: from.path()?, watch: from.boolean()?, with_stat }
        }
        op_code::GET_EPHEMERALS => Request::GetEphemerals { prefix: from.string()? },
        op_code::GET_ALL_CHILDREN_NUMBER => Request::CountAllChildren { path: from.path()? },
        op_code::SYNC => Request::Sync { path: from.string()? },
        op_code::MULTI => return read_multi(from),
        op_code::MULTI_READ => Request::MultiRead(read_reads(from)?),
        op_code::ADD_WATCH => {
            let path = from.string()?;
            let recursive = match from.int()? {
                0 => false,
                1 => true,
                value => return Err(RequestDefect::Wire(WireError::Value { what: "a mode of watching", value })),
            };
            return Ok((Request::AddWatch { path, recursive }, ReplyFormat::WithError));
        }
        op_code::CHECK_WATCHES | op_code::REMOVE_WATCHES => {
            let path = if op == op_code::CHECK_WATCHES { from.path()? } else { from.string()? };
            let of = match from.int()? {
                1 => WatcherType::Children,
                2 => WatcherType::Data,
                3 => WatcherType::Any,
                value => return Err(RequestDefect::Wire(WireError::Value { what: "a type of watchers", value })),
            };
            Request::RemoveWatches { path, of, only_check: op == op_code::CHECK_WATCHES }
        }
        op_code::SET_WATCHES | op_code::SET_WATCHES2 => read_watches(from, op == op_code::SET_WATCHES2)?,
        op_code::CLOSE_SESSION => Request::CloseSession,
        op_code::RECONFIG => return Err(RequestDefect::Refused(read_reconfig(from)?)),
        // Only servers send these, for internal use.
        op_code::DELETE_CONTAINER => return Err(RequestDefect::Arguments),
        op_code::CREATE_SESSION => return Err(RequestDefect::Refused(Code::MarshallingError)),
        _ => return Err(RequestDefect::Operation),
    };
    Ok((request, ReplyFormat::Plain))
}

fn read_watches(from: &mut Reader<'_>, has_persistent: bool) -> Result<Request, WireError> {
    let mut watches = Watches {
        since: from.long()?,
        data: from.strings()?,
        exist: from.strings()?,
        child: from.strings()?,
        ..Watches::default()
    };
    if has_persistent {
        watches.persistent = from.strings()?;
        watches.persistent_recursive = from.strings()?;
    }
    Ok(Request::SetWatches(Box::new(watches)))
}

/// The next operation of a list. None at its end.
fn next_op(from: &mut Reader<'_>) -> Result<Option<i32>, WireError> {
    let (op, done, _error) = (from.int()?, from.boolean()?, from.int()?);
    Ok((!done).then_some(op))
}

fn read_multi(from: &mut Reader<'_>) -> Result<(Request, ReplyFormat), RequestDefect> {
    let (mut steps, mut ops) = (Vec::new(), Vec::new());
    while let Some(op) = next_op(from)? {
        let mut step = read_step(op, from)?;
        if let TransactionStep::Create { kind, with_stat, .. } = &mut step {
            // Here servers select the answer by the kind of the znode, not by the operation.
            *with_stat = kind.life == ZnodeLifetime::Container;
        }
        steps.push(step);
        ops.push(op);
    }
    Ok((Request::Multi(steps), ReplyFormat::Multi(ops)))
}

fn read_reads(from: &mut Reader<'_>) -> Result<Vec<Read>, WireError> {
    let mut reads = Vec::new();
    while let Some(op) = next_op(from)? {
        let (path, _watch) = (from.string()?, from.boolean()?);
        reads.push(match op {
            op_code::GET_DATA => Read::Data { path },
            op_code::GET_CHILDREN => Read::Children { path },
            value => return Err(WireError::Value { what: "a read among several", value }),
        });
    }
    Ok(reads)
}

/// A step that is a separate request.
fn alone(step: TransactionStep) -> Result<Request, RequestDefect> {
    match step {
        TransactionStep::Create { path, data, acl, kind, with_stat } => {
            Ok(Request::Create { path, data, acl, kind, with_stat })
        }
        TransactionStep::Delete { path, version } => Ok(Request::Delete { path, version }),
        TransactionStep::SetData { path, data, version } => Ok(Request::SetData { path, data, version }),
        TransactionStep::Check { .. } => Err(RequestDefect::Operation),
    }
}

fn read_step(op: i32, from: &mut Reader<'_>) -> Result<TransactionStep, RequestDefect> {
    let path = if op == op_code::SET_DATA { from.string()? } else { from.path()? };
    Ok(match op {
        op_code::CREATE | op_code::CREATE2 | op_code::CREATE_CONTAINER | op_code::CREATE_TTL => {
            let (data, acl, flags) = (from.buffer()?.to_vec(), read_acl(from)?, from.int()?);
            let has_ttl = op == op_code::CREATE_TTL;
            if has_ttl {
                from.long()?;
            }
            TransactionStep::Create { path, data, acl, kind: kind(flags, has_ttl)?, with_stat: op != op_code::CREATE }
        }
        op_code::DELETE => TransactionStep::Delete { path, version: from.int()? },
        op_code::SET_DATA => TransactionStep::SetData { path, data: from.buffer()?.to_vec(), version: from.int()? },
        op_code::CHECK => TransactionStep::Check { path, version: from.int()? },
        value => return Err(RequestDefect::Wire(WireError::Value { what: "a step of a transaction", value })),
    })
}
