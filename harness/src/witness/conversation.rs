//! Decodes the messages between a client and a server on one connection, as far as elections need them: sessions,
//! requests with their replies, and watch events. Only the heads of messages are kept.

use std::collections::VecDeque;

use hustings_record::WatchEvent;
use hustings_workloads::model::{ConnectResponse, Life, Request, Stat};

use crate::wire::connect::{read_connect_head, read_connected};
use crate::wire::heads::{FramePlace, Heads, LENGTH, int};
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
    up: Heads,
    down: Heads,
    /// The session that the client claims, 0 for none, and its requested timeout.
    had: (i64, i32),
    asked: VecDeque<PendingRequest>,
    /// Decoding has failed.
    lost: bool,
    /// The first bytes from the client, up to the length of a four-letter word.
    first: Vec<u8>,
}

impl Conversation {
    /// Whether everything could be decoded so far. After a failure, no more messages are reported. A four-letter word
    /// counts as decoded: its connection has no session.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.is_word() || !self.lost && !self.up.is_other() && !self.down.is_other()
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
                    Err(_) => *lost = true,
                },
                FramePlace::Later => {
                    if let Some(request) = request(head).filter(|_| !*lost) {
                        *lost = asked.len() >= ASKED_MAX;
                        tell(DecodedMessage::Asked(request.clone()));
                        asked.push_back(request);
                    }
                }
            }
            *lost
        });
    }

    /// Handles data from the server.
    pub fn down(&mut self, data: &[u8], mut tell: impl FnMut(DecodedMessage)) {
        let Self { down, had, asked, lost, .. } = self;
        down.take(data, answer_wanted, |place, head| {
            let said = match place {
                FramePlace::First => established(head, *had),
                FramePlace::Later => match int(head, LENGTH) {
                    op_code::XID_EVENT => woken(head),
                    op_code::XID_PING | op_code::XID_AUTH | op_code::XID_SET_WATCHES => return *lost,
                    // Replies come in the order of the requests.
                    xid => asked.pop_front_if(|asked| asked.xid == xid).and_then(|asked| answered(head, asked)),
                },
            };
            match said {
                Some(said) if !*lost => tell(said),
                Some(_) => {}
                None => *lost = true,
            }
            *lost
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

/// None for messages that the client library sends by itself.
fn request(head: &[u8]) -> Option<PendingRequest> {
    let (xid, op) = (int(head, LENGTH), int(head, 8));
    let own = ![op_code::PING, op_code::AUTH, op_code::SET_WATCHES, op_code::SET_WATCHES2].contains(&op);
    let path = if has_path(op) { text(head, REQUEST_HEAD).unwrap_or_default() } else { String::new() };
    own.then(|| PendingRequest { xid, op, path, ephemeral: creates(op) && lives_with_its_session(head) })
}

fn lives_with_its_session(head: &[u8]) -> bool {
    let request = read_request(&head[LENGTH..]).map(|(_, ask)| ask);
    matches!(request, Ok(WireRequest::Request(Request::Create { kind, .. }, _)) if kind.life == Life::Ephemeral)
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
mod tests {
    use hustings_workloads::model::Connect;
    use proptest::prelude::*;

    use super::*;
    use crate::wire::connect::{write_connect, write_connected};
    use crate::wire::jute::Writer;

    fn frame(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut writer = Writer::default();
        write(&mut writer);
        writer.frame()
    }

    const EPHEMERAL_SEQUENTIAL: i32 = 3;

    fn hello(session: i64) -> Vec<u8> {
        let connect = Connect { session, password: [0; 16], timeout_ms: 4_000, last_zxid_seen: 0, read_only: false };
        write_connect(&connect)
    }

    fn welcome(session: i64, timeout_ms: i32) -> Vec<u8> {
        write_connected(&ConnectResponse { session, password: [7; 16], timeout_ms }, true)
    }

    fn request(xid: i32, op: i32, path: &str) -> Vec<u8> {
        frame(|to| _ = to.int(xid).int(op).string(path).buffer(b"data").int(0).int(EPHEMERAL_SEQUENTIAL))
    }

    fn asked(xid: i32, op: i32, path: &str) -> PendingRequest {
        PendingRequest { xid, op, path: path.into(), ephemeral: false }
    }

    /// A candidate that enrols, lists, is woken, and leaves.
    fn whole() -> (Vec<u8>, Vec<u8>) {
        let ping = frame(|to| _ = to.int(op_code::XID_PING).int(op_code::PING));
        let close = frame(|to| _ = to.int(4).int(op_code::CLOSE_SESSION));
        let up = [
            hello(0),
            request(1, op_code::CREATE2, "/g/n-"),
            ping,
            request(2, op_code::GET_CHILDREN2, "/g"),
            request(3, op_code::DELETE, "/g/other"),
            close,
        ];
        let stat = [0_u8; 68];
        let event = frame(|to| _ = to.int(op_code::XID_EVENT).long(-1).int(0).int(2).int(3).string("/g/n-1"));
        let down = [
            welcome(9, 4_000),
            frame(|to| _ = to.int(1).long(70).int(0).string("/g/n-2").buffer(&stat)),
            frame(|to| _ = to.int(op_code::XID_PING).long(70).int(0)),
            frame(|to| _ = to.int(2).long(70).int(0).strings(&["n-1".into(), "n-2".into()])),
            event,
            frame(|to| _ = to.int(3).long(71).int(-101)),
            frame(|to| _ = to.int(4).long(72).int(0)),
        ];
        (up.concat(), down.concat())
    }

    fn read(up: &[u8], down: &[u8], sizes: (usize, usize)) -> (Vec<DecodedMessage>, bool) {
        let (mut all, mut conversation) = (Vec::new(), Conversation::default());
        up.chunks(sizes.0).for_each(|chunk| conversation.up(chunk, |said| all.push(said)));
        down.chunks(sizes.1).for_each(|chunk| conversation.down(chunk, |said| all.push(said)));
        (all, conversation.is_sound())
    }

    #[test]
    fn a_candidate_s_life_is_told() {
        let (up, down) = whole();
        let create = PendingRequest { ephemeral: true, ..asked(1, op_code::CREATE2, "/g/n-") };
        let list = asked(2, op_code::GET_CHILDREN2, "/g");
        let delete = asked(3, op_code::DELETE, "/g/other");
        let close = asked(4, op_code::CLOSE_SESSION, "");
        let answered = |asked: &PendingRequest, zxid, error, shows| DecodedMessage::Answered {
            asked: asked.clone(),
            zxid,
            error,
            shows,
        };
        let names = ReplyContent::Names(vec!["n-1".into(), "n-2".into()]);
        let (said, sound) = read(&up, &down, (usize::MAX, usize::MAX));
        assert!(sound);
        assert_eq!(
            said,
            [
                DecodedMessage::Asked(create.clone()),
                DecodedMessage::Asked(list.clone()),
                DecodedMessage::Asked(delete.clone()),
                DecodedMessage::Asked(close.clone()),
                DecodedMessage::Established {
                    session: 9,
                    password: [7; 16],
                    asked_ms: 4_000,
                    timeout_ms: 4_000,
                    resumed: false
                },
                answered(&create, 70, 0, ReplyContent::Made("/g/n-2".into())),
                answered(&list, 70, 0, names),
                DecodedMessage::Woken { path: "/g/n-1".into(), kind: WatchEvent::Deleted },
                answered(&delete, 71, -101, ReplyContent::Nothing),
                answered(&close, 72, 0, ReplyContent::Nothing),
            ]
        );
    }

    #[test]
    fn answers_tell_whose_a_znode_is() {
        let stat = |to: &mut Writer| {
            let stat = Stat { czxid: 70, ephemeral_owner: 9, ..Stat::default() };
            crate::wire::records::write_stat(to, &stat);
        };
        let up = [hello(9), request(1, op_code::EXISTS, "/g/n-2"), request(2, op_code::GET_DATA, "/g/n-2")].concat();
        let down = [
            welcome(9, 4_000),
            frame(|to| stat(to.int(1).long(90).int(0))),
            frame(|to| stat(to.int(2).long(90).int(0).buffer(b"some data"))),
        ];
        for by in [1, 30, usize::MAX] {
            let (said, sound) = read(&up, &down.concat(), (by, by));
            let shows = said.iter().filter_map(|said| match said {
                DecodedMessage::Answered { shows, .. } => Some(shows.clone()),
                _ => None,
            });
            assert!(sound);
            assert_eq!(shows.collect::<Vec<_>>(), vec![ReplyContent::There { czxid: 70, session: 9 }; 2]);
        }
    }

    #[test]
    fn a_session_that_is_over_is_told_as_such() {
        let (said, _) = read(&hello(9), &welcome(0, 0), (1, 1));
        assert_eq!(said, [DecodedMessage::Expired { session: 9 }]);
        let (said, _) = read(&hello(9), &welcome(9, 4_000), (1, 1));
        assert_eq!(
            said,
            [DecodedMessage::Established {
                session: 9,
                password: [7; 16],
                asked_ms: 4_000,
                timeout_ms: 4_000,
                resumed: true
            }]
        );
    }

    #[test]
    fn a_session_is_read_whatever_the_length_of_the_password_that_it_is_asked_for_with() {
        for length in [0, 1, 15, 16, 17, 200, 4_000] {
            let hello = frame(|to| _ = to.int(0).long(0).int(4_000).long(0).buffer(&vec![7; length]).boolean(false));
            for by in [1, 50, usize::MAX] {
                let (said, sound) = read(&hello, &welcome(9, 4_000), (by, by));
                assert!(
                    sound && matches!(said[..], [DecodedMessage::Established { session: 9, asked_ms: 4_000, .. }]),
                    "{length}"
                );
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_told_no_more_and_known() {
        let (up, _) = whole();
        let stray = [welcome(9, 4_000), frame(|to| _ = to.int(77).long(1).int(0))].concat();
        let (said, sound) = read(&up, &stray, (64, 64));
        assert!(!sound && !said.iter().any(|said| matches!(said, DecodedMessage::Answered { .. })));
        for by in [1, 9] {
            assert_eq!(
                read(b"mntr", b"zk_version\t3.8", (by, by)),
                (vec![], true),
                "with a four-letter word nothing is lost"
            );
            assert!(!read(b"GET / HTTP/1.1\r\n", b"HTTP/1.1 400", (by, by)).1);
        }
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_the_streams_are_cut(up_by in 1_usize..40, down_by in 1_usize..40) {
            let (up, down) = whole();
            prop_assert_eq!(read(&up, &down, (up_by, down_by)), read(&up, &down, (usize::MAX, usize::MAX)));
        }

        #[test]
        fn whatever_comes_is_read_in_bounded_memory_and_without_panic(
            up in prop::collection::vec(any::<u8>(), 0..300),
            down in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let (said, _) = read(&[hello(0), up].concat(), &[welcome(1, 1), down].concat(), (50, 7));
            prop_assert!(said.len() < 100);
        }
    }
}
