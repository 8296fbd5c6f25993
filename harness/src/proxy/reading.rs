//! Decodes a ZooKeeper client's connection: creates that go up, and answers that report their execution. It keeps only
//! the heads of frames, and ignores connections of other kinds.

use std::collections::VecDeque;

use crate::wire::frame_headers::{FrameHeaders, FramePlace, LENGTH, int};
use crate::wire::op_code;

/// A frame's length, a request's id and its operation (i32 each).
const REQUEST_HEAD: usize = 12;
/// A frame's length and a request's id (i32), then the answer's zxid (i64) and error (i32).
const ANSWER_HEAD: usize = 20;
/// Maximum number of bytes kept of a path.
const PATH_BYTES_MAX: usize = 512;
/// Maximum number of creates kept without an answer. A client has only a few pending.
const CREATES_MAX: usize = 1_024;

/// The decoding state of one connection.
#[derive(Debug, Default)]
pub(super) struct CreateTracker {
    up: FrameHeaders,
    down: FrameHeaders,
    /// Creates without an answer so far: request ids and paths.
    creates: VecDeque<(i32, String)>,
}

/// A create whose answer reports its execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExecutedCreate {
    pub(super) xid: i32,
    /// The path in the request: for a sequential znode, without its number.
    pub(super) path: String,
    pub(super) zxid: i64,
}

impl CreateTracker {
    /// Processes data from a client.
    pub(super) fn up(&mut self, data: &[u8]) {
        let creates = &mut self.creates;
        self.up.take(data, request_head, |_, head| {
            if let Some(create) = create(head).filter(|_| creates.len() < CREATES_MAX) {
                creates.push_back(create);
            }
            false
        });
    }

    /// Processes data from a server. If `keeps` selects a create's answer, returns how many of these bytes may pass, so
    /// that the client never receives the whole answer.
    pub(super) fn down(&mut self, data: &[u8], mut keeps: impl FnMut(ExecutedCreate) -> bool) -> Option<usize> {
        let creates = &mut self.creates;
        self.down.take(
            data,
            |place, _| if place == FramePlace::First { LENGTH } else { ANSWER_HEAD },
            |_, head| {
                let Some((xid, zxid, error)) = answer(head) else { return false };
                // Answers arrive in the order of the requests.
                let Some((_, path)) = creates.pop_front_if(|(create, _)| *create == xid) else { return false };
                error == 0 && keeps(ExecutedCreate { xid, path, zxid })
            },
        )
    }
}

/// Number of a request's bytes to read, depending on those already read.
fn request_head(place: FramePlace, head: &[u8]) -> usize {
    if place == FramePlace::First {
        return LENGTH;
    }
    if head.len() < REQUEST_HEAD || !is_create(int(head, 8)) {
        return REQUEST_HEAD;
    }
    let path = usize::try_from(int(head, REQUEST_HEAD)).unwrap_or(0).min(PATH_BYTES_MAX);
    REQUEST_HEAD + 4 + if head.len() < REQUEST_HEAD + 4 { 0 } else { path }
}

fn is_create(op: i32) -> bool {
    [op_code::CREATE, op_code::CREATE2, op_code::CREATE_CONTAINER, op_code::CREATE_TTL].contains(&op)
}

fn create(head: &[u8]) -> Option<(i32, String)> {
    let path = head.get(REQUEST_HEAD + 4..).filter(|_| is_create(int(head, 8)))?;
    Some((int(head, 4), String::from_utf8_lossy(path).into_owned()))
}

fn answer(head: &[u8]) -> Option<(i32, i64, i32)> {
    let zxid = i64::from_be_bytes(head.get(8..16)?.try_into().ok()?);
    (head.len() >= ANSWER_HEAD).then(|| (int(head, 4), zxid, int(head, 16)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::jute::Writer;

    fn frame(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut writer = Writer::default();
        write(&mut writer);
        writer.frame()
    }

    fn request(xid: i32, op: i32, path: &str) -> Vec<u8> {
        frame(|to| _ = to.int(xid).int(op).string(path).buffer(b"data").int(0))
    }

    fn reply(xid: i32, zxid: i64, error: i32) -> Vec<u8> {
        frame(|to| _ = to.int(xid).long(zxid).int(error).string("/a/b0000000001"))
    }

    /// Both directions of a session: a connect request, a ping, a read, and two creates, the first of which is refused.
    fn session() -> (Vec<u8>, Vec<u8>) {
        let hello = frame(|to| _ = to.int(0).long(0).int(4_000).long(0).buffer(&[0; 16]));
        let ping = frame(|to| _ = to.int(op_code::XID_PING).int(op_code::PING));
        let read = request(1, op_code::GET_CHILDREN, "/a");
        let up =
            [&hello[..], &ping, &read, &request(2, op_code::CREATE, "/a/b"), &request(3, op_code::CREATE2, "/a/c")];
        let pong = frame(|to| _ = to.int(op_code::XID_PING).long(7).int(0));
        let event = frame(|to| _ = to.int(op_code::XID_EVENT).long(-1).int(0).int(1).int(3).string("/a/x"));
        let down = [&hello[..], &pong, &reply(1, 7, 0), &event, &reply(2, 8, -110), &reply(3, 9, 0)];
        (up.concat(), down.concat())
    }

    #[test]
    fn the_answer_to_a_create_that_was_carried_out_is_known_wherever_the_stream_is_cut() {
        let (up, down) = session();
        let whole = down.len() - reply(3, 9, 0).len();
        for size in 1..=down.len() {
            let mut reading = CreateTracker::default();
            up.chunks(size).for_each(|chunk| reading.up(chunk));
            let (mut passed, mut seen) = (0, Vec::new());
            for chunk in down.chunks(size) {
                let cut = reading.down(chunk, |created| {
                    seen.push(created);
                    true
                });
                passed += cut.unwrap_or(chunk.len());
                if cut.is_some() {
                    break;
                }
            }
            assert_eq!(seen, [ExecutedCreate { xid: 3, path: "/a/c".to_owned(), zxid: 9 }], "chunks of {size}");
            assert!((whole..down.len()).contains(&passed), "chunks of {size}: {passed} passed");
        }
    }

    #[test]
    fn nothing_is_kept_back_unless_it_is_wanted() {
        let (up, down) = session();
        let mut reading = CreateTracker::default();
        reading.up(&up);
        assert_eq!(reading.down(&down, |_| false), None);
        assert!(reading.creates.is_empty());
    }

    #[test]
    fn what_is_no_session_is_left_alone() {
        let (_, down) = session();
        let mut reading = CreateTracker::default();
        reading.up(b"ruok and then some");
        assert!(reading.up.is_other());
        assert_eq!(reading.down(&down, |_| true), None);
    }
}
