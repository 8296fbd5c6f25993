//! Answers and watch events, as servers write them.

use hustings_workloads::model::{Code, Event, Response, Zxid};

use super::jute::Writer;
use super::op_code;
use super::records::{write_acl, write_stat};

/// The format of the answer to a request, if it does not follow from the response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReplyFormat {
    #[default]
    Plain,
    /// It repeats the error code of its header.
    WithError,
    /// It contains no transaction id.
    Timeless,
    /// The operations of a transaction, one per step.
    Multi(Vec<i32>),
}

/// The frame that answers request `xid`.
#[must_use]
pub fn write_reply(xid: i32, zxid: Zxid, result: &Result<Response, Code>, shape: &ReplyFormat) -> Vec<u8> {
    let mut to = Writer::default();
    let code = result.as_ref().err().copied().unwrap_or(Code::Ok);
    let zxid = if *shape == ReplyFormat::Timeless { 0 } else { zxid };
    to.int(xid).long(zxid).int(code.number());
    if let Ok(response) = result {
        write_response(&mut to, response, shape);
    }
    to.frame()
}

/// The frame that lists the identities of a connection.
#[must_use]
pub fn write_identities(xid: i32, zxid: Zxid, identities: &[(String, String)]) -> Vec<u8> {
    let mut to = Writer::default();
    to.int(xid).long(zxid).int(Code::Ok.number());
    to.vector(identities, |to, (scheme, user)| {
        to.string(scheme).string(user);
    });
    to.frame()
}

/// The frame that answers a SASL negotiation with an empty token.
#[must_use]
pub fn write_no_token(xid: i32, zxid: Zxid) -> Vec<u8> {
    const NONE: i32 = -1;
    let mut to = Writer::default();
    to.int(xid).long(zxid).int(Code::Ok.number()).int(NONE);
    to.frame()
}

/// The frame of a watch event.
#[must_use]
pub fn write_event(event: &Event) -> Vec<u8> {
    // Servers before 3.9 do not send the transaction id.
    const ZXID: Zxid = -1;
    const CONNECTED: i32 = 3;
    let mut to = Writer::default();
    to.int(op_code::XID_EVENT).long(ZXID).int(Code::Ok.number());
    to.int(event.kind as i32).int(CONNECTED).string(&event.path);
    to.frame()
}

fn write_response(to: &mut Writer, response: &Response, shape: &ReplyFormat) {
    match response {
        Response::Done => {
            if *shape == ReplyFormat::WithError {
                to.int(Code::Ok.number());
            }
        }
        Response::Created { path, stat } => {
            to.string(path);
            stat.iter().for_each(|stat| write_stat(to, stat));
        }
        Response::Stat(stat) => write_stat(to, stat),
        Response::Data { data, stat } => {
            to.buffer(data);
            write_stat(to, stat);
        }
        Response::Acl { acl, stat } => {
            write_acl(to, acl);
            write_stat(to, stat);
        }
        Response::Children { names, stat } => {
            to.strings(names);
            stat.iter().for_each(|stat| write_stat(to, stat));
        }
        Response::Paths(paths) => drop(to.strings(paths)),
        Response::Count(count) => drop(to.int(*count)),
        Response::Path(path) => drop(to.string(path)),
        Response::Multi(steps) => write_steps(to, steps, shape),
        Response::MultiFailed(codes) => {
            codes.iter().for_each(|code| write_failed(to, *code));
            write_end(to);
        }
        Response::MultiRead(reads) => {
            for read in reads {
                match read {
                    Ok(response) => {
                        let is_data = matches!(response, Response::Data { .. });
                        write_head(to, if is_data { op_code::GET_DATA } else { op_code::GET_CHILDREN }, 0);
                        write_response(to, response, &ReplyFormat::Plain);
                    }
                    Err(code) => write_failed(to, *code),
                }
            }
            write_end(to);
        }
    }
}

fn write_steps(to: &mut Writer, steps: &[Response], shape: &ReplyFormat) {
    let ops = if let ReplyFormat::Multi(ops) = shape { ops.as_slice() } else { &[] };
    for (place, step) in steps.iter().enumerate() {
        let op = match step {
            Response::Created { stat: None, .. } => op_code::CREATE,
            // Also for containers: clients know only these two.
            Response::Created { stat: Some(_), .. } => op_code::CREATE2,
            Response::Stat(_) => op_code::SET_DATA,
            _ => ops.get(place).copied().unwrap_or(op_code::DELETE),
        };
        write_head(to, op, 0);
        write_response(to, step, &ReplyFormat::Plain);
    }
    write_end(to);
}

fn write_failed(to: &mut Writer, code: Code) {
    write_head(to, op_code::ERROR, code.number());
    to.int(code.number());
}

fn write_head(to: &mut Writer, op: i32, error: i32) {
    to.int(op).boolean(false).int(error);
}

fn write_end(to: &mut Writer) {
    to.int(op_code::ERROR).boolean(true).int(-1);
}
