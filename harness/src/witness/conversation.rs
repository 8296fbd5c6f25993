//! Decodes the messages between a client and a server on one connection, as far as elections need them: sessions,
//! requests with their replies, and watch events. Only the heads of messages are kept.

use std::collections::VecDeque;

use hustings_record::WatchEvent;
use hustings_workloads::model::{ConnectResponse, Request, Stat, ZnodeLifetime};

use crate::wire::connect::{read_connect_head, read_connected};
use crate::wire::frame_headers::{FrameHeaders, FramePlace, LENGTH, int};
use crate::wire::jute::{Reader, WireError};
use crate::wire::op_code;
use crate::wire::records::read_stat;
use crate::wire::request::{WireRequest, read_request};

/// Maximum length of a connect message, including its length field.
const FIRST_BYTES_MAX: usize = 128;
/// A frame's length, a request's id and its operation (i32 each).
const REQUEST_HEAD: usize = 12;
/// A frame's length and a request's id (i32), the zxid (i64) and the error (i32) of its reply.
const ANSWER_HEAD: usize = 20;
/// The same, and a watch event's kind and the session's state (i32 each).
const EVENT_HEAD: usize = ANSWER_HEAD + 8;
/// Of a longer reply, only the beginning is read, without its znode's times or its list of names.
const ANSWER_BYTES_MAX: usize = 16 * 1_024;
/// A longer path belongs to no election.
const PATH_BYTES_MAX: usize = 1_024;
/// Of a longer create request, the znode's mode is not read: candidates write less data into theirs.
const CREATE_BYTES_MAX: usize = 4 * PATH_BYTES_MAX;
/// Maximum number of tracked requests without a reply: more than any client has under way.
const ASKED_MAX: usize = 1 << 16;

/// One decoded message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodedMessage {
    /// A session was granted: a new one, or (`resumed`) the client's previous one. The client requested `asked_ms` and
    /// got `timeout_ms`.
    Established { session: i64, password: [u8; 16], asked_ms: i32, timeout_ms: i32, resumed: bool },
    /// The client's session has ended.
    Expired { session: i64 },
    /// A request of the client. Pings, authentication and restored watches do not count as requests.
    Asked(PendingRequest),
    /// A reply of the server. `error` is its code, 0 for none.
    Answered { asked: PendingRequest, zxid: i64, error: i32, shows: ReplyContent },
    /// A watch fired.
    Woken { path: String, kind: WatchEvent },
}

/// Information on znodes in a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyContent {
    Nothing,
    /// The path of the created znode.
    Made(String),
    /// The requested znode exists: its czxid, and its owner session, 0 for none.
    There {
        czxid: i64,
        session: i64,
    },
    /// All child names of the requested path.
    Names(Vec<String>),
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRequest {
    pub xid: i32,
    /// One of the constants in [`op_code`].
    pub op: i32,
    /// Its path; empty for requests with none, or several.
    pub path: String,
    /// It creates an ephemeral znode.
    pub ephemeral: bool,
}

impl PendingRequest {
    #[must_use]
    pub fn creates(&self) -> bool {
        creates(self.op)
    }
}

fn creates(op: i32) -> bool {
    [op_code::CREATE, op_code::CREATE2, op_code::CREATE_CONTAINER, op_code::CREATE_TTL].contains(&op)
}

/// The length of four-letter words.
const WORD_BYTES: usize = 4;

/// Decodes one connection, both ways.
#[derive(Debug, Default)]
pub struct Conversation {
    up: FrameHeaders,
    down: FrameHeaders,
    /// The session that the client claims, 0 for none, and its requested timeout.
    had: (i64, i32),
    asked: VecDeque<PendingRequest>,
    /// Why decoding has failed, if it has.
    lost: Option<String>,
    /// The first bytes from the client, up to the length of a four-letter word.
    first: Vec<u8>,
}

impl Conversation {
    /// Why decoding has failed, if it has. No more messages are reported then. A four-letter word counts as decoded:
    /// its connection has no session.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        let other = self.up.is_other() || self.down.is_other();
        let other = other.then_some("a message has a length that ZooKeeper's have not");
        self.lost.as_deref().or(other).filter(|_| !self.is_word())
    }

    /// As a length, such a word would mean a message of at least 1.6 GB.
    fn is_word(&self) -> bool {
        self.first.len() == WORD_BYTES && self.first.iter().all(u8::is_ascii_lowercase)
    }

    /// Handles data from the client.
    pub fn up(&mut self, data: &[u8], mut tell: impl FnMut(DecodedMessage)) {
        let missing = WORD_BYTES.saturating_sub(self.first.len()).min(data.len());
        self.first.extend_from_slice(&data[..missing]);
        let Self { up, had, asked, lost, .. } = self;
        up.take(data, request_wanted, |place, head| {
            match place {
                FramePlace::First => match read_connect_head(&head[LENGTH..], length(head)) {
                    Ok(asked) => *had = asked,
                    Err(error) => *lost = Some(format!("the client's first message: {error}")),
                },
                FramePlace::Later => {
                    if let Some(request) = request(head).filter(|_| lost.is_none()) {
                        if asked.len() >= ASKED_MAX {
                            *lost = Some(format!("more than {ASKED_MAX} requests wait for an answer"));
                        }
                        if !is_by_library(request.op) {
                            tell(DecodedMessage::Asked(request.clone()));
                        }
                        asked.push_back(request);
                    }
                }
            }
            lost.is_some()
        });
    }

    /// Handles data from the server.
    pub fn down(&mut self, data: &[u8], mut tell: impl FnMut(DecodedMessage)) {
        let Self { down, had, asked, lost, .. } = self;
        down.take(data, answer_wanted, |place, head| {
            let said = match place {
                FramePlace::First => established(head, *had).ok_or_else(|| "the server's first message".to_owned()),
                FramePlace::Later => match int(head, LENGTH) {
                    op_code::XID_EVENT => {
                        woken(head).ok_or_else(|| format!("a watch event of kind {}", int(head, ANSWER_HEAD)))
                    }
                    op_code::XID_PING | op_code::XID_AUTH | op_code::XID_SET_WATCHES => return lost.is_some(),
                    xid => match asked_by(asked, xid) {
                        Some(asked) if is_by_library(asked.op) => return lost.is_some(),
                        Some(asked) => {
                            let op = asked.op;
                            answered(head, asked).ok_or_else(|| format!("the answer to a request of operation {op}"))
                        }
                        None => Err(format!("an answer to request {xid}, which is not the oldest without one")),
                    },
                },
            };
            match said {
                Ok(said) if lost.is_none() => tell(said),
                Ok(_) => {}
                Err(what) => _ = lost.get_or_insert(what),
            }
            lost.is_some()
        });
    }
}

/// The length of a message, without the length field.
fn length(head: &[u8]) -> usize {
    usize::try_from(int(head, 0)).unwrap_or(0)
}

/// How many bytes of a client's message to keep, given the bytes read so far.
fn request_wanted(place: FramePlace, head: &[u8]) -> usize {
    match place {
        FramePlace::First => FIRST_BYTES_MAX,
        FramePlace::Later if head.len() < REQUEST_HEAD || !has_path(int(head, 8)) => REQUEST_HEAD,
        FramePlace::Later if creates(int(head, 8)) => CREATE_BYTES_MAX,
        FramePlace::Later => text_wanted(head, REQUEST_HEAD),
    }
}

/// The same for a server's message. After a reply's head, a path, names, or a znode's times may follow.
fn answer_wanted(place: FramePlace, head: &[u8]) -> usize {
    match place {
        FramePlace::First => FIRST_BYTES_MAX,
        FramePlace::Later if head.len() < ANSWER_HEAD => ANSWER_HEAD,
        FramePlace::Later if int(head, LENGTH) == op_code::XID_EVENT => text_wanted(head, EVENT_HEAD),
        FramePlace::Later => ANSWER_BYTES_MAX,
    }
}

/// Up to the end of the text at `at`, which begins with its length.
fn text_wanted(head: &[u8], at: usize) -> usize {
    let text = at + 4;
    if head.len() < text {
        return text;
    }
    text + usize::try_from(int(head, at)).unwrap_or(0).min(PATH_BYTES_MAX)
}

fn has_path(op: i32) -> bool {
    ![op_code::PING, op_code::AUTH, op_code::MULTI, op_code::MULTI_READ, op_code::CLOSE_SESSION]
        .into_iter()
        .chain([op_code::SET_WATCHES, op_code::SET_WATCHES2])
        .any(|other| other == op)
}

/// None for messages whose answers are known by their ids: what client libraries send by themselves. Some libraries number these
/// like requests (go-zookeeper does so when it restores watches), and are answered by that number.
fn request(head: &[u8]) -> Option<PendingRequest> {
    let (xid, op) = (int(head, LENGTH), int(head, 8));
    let numbered = op != op_code::PING && (!is_by_library(op) || xid > 0);
    let path = if has_path(op) { text(head, REQUEST_HEAD).unwrap_or_default() } else { String::new() };
    numbered.then(|| PendingRequest { xid, op, path, ephemeral: creates(op) && lives_with_its_session(head) })
}

/// What client libraries send by themselves. It is no request of the program.
fn is_by_library(op: i32) -> bool {
    [op_code::PING, op_code::AUTH, op_code::SET_WATCHES, op_code::SET_WATCHES2].contains(&op)
}

/// The request with this id. Answers come in the order of the requests, but for that to an authentication, which servers give at once.
fn asked_by(asked: &mut VecDeque<PendingRequest>, xid: i32) -> Option<PendingRequest> {
    let oldest = asked.pop_front_if(|asked| asked.xid == xid);
    oldest.or_else(|| {
        let place = asked.iter().position(|asked| asked.op == op_code::AUTH && asked.xid == xid)?;
        asked.remove(place)
    })
}

fn lives_with_its_session(head: &[u8]) -> bool {
    let request = read_request(&head[LENGTH..]).map(|(_, ask)| ask);
    matches!(request, Ok(WireRequest::Request(Request::Create { kind, .. }, _)) if kind.life == ZnodeLifetime::Ephemeral)
}

fn established(head: &[u8], (had, asked_ms): (i64, i32)) -> Option<DecodedMessage> {
    let connected = read_connected(&head[LENGTH..]).ok()?;
    Some(if connected.timeout_ms > 0 {
        let ConnectResponse { session, password, timeout_ms } = connected;
        DecodedMessage::Established { session, password, asked_ms, timeout_ms, resumed: had != 0 }
    } else {
        DecodedMessage::Expired { session: had }
    })
}

fn answered(head: &[u8], asked: PendingRequest) -> Option<DecodedMessage> {
    let zxid = i64::from_be_bytes(head.get(8..16)?.try_into().ok()?);
    let error = head.get(16..ANSWER_HEAD).map(|_| int(head, 16))?;
    let shows = match error {
        0 if asked.creates() => ReplyContent::Made(text(head, ANSWER_HEAD)?),
        0 => shown(asked.op, head.get(ANSWER_HEAD..)?).unwrap_or(ReplyContent::Nothing),
        _ => ReplyContent::Nothing,
    };
    Some(DecodedMessage::Answered { asked, zxid, error, shows })
}

/// The information in a reply's body; nothing if the body is incomplete.
fn shown(op: i32, body: &[u8]) -> Result<ReplyContent, WireError> {
    let mut from = Reader::new(body);
    let there = |stat: Stat| ReplyContent::There { czxid: stat.czxid, session: stat.ephemeral_owner };
    Ok(match op {
        op_code::EXISTS | op_code::SET_DATA => there(read_stat(&mut from)?),
        op_code::GET_DATA => {
            from.buffer()?;
            there(read_stat(&mut from)?)
        }
        op_code::GET_CHILDREN | op_code::GET_CHILDREN2 => ReplyContent::Names(from.strings()?),
        _ => ReplyContent::Nothing,
    })
}

fn woken(head: &[u8]) -> Option<DecodedMessage> {
    let kind = match int(head, ANSWER_HEAD) {
        1 => WatchEvent::Created,
        2 => WatchEvent::Deleted,
        3 => WatchEvent::DataChanged,
        4 => WatchEvent::ChildrenChanged,
        _ => return None,
    };
    Some(DecodedMessage::Woken { path: text(head, EVENT_HEAD)?, kind })
}

/// The text at `at`, which begins with its length; None if it is incomplete.
fn text(head: &[u8], at: usize) -> Option<String> {
    let length = usize::try_from(int(head, at)).ok()?;
    let bytes = head.get(at + 4..)?.get(..length)?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests;
