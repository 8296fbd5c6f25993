//! Conversations as clients have them, whole and in parts.

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
    (all, conversation.failure().is_none())
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
fn watches_and_credentials_that_a_library_numbers_like_its_requests_are_read_over() {
    let restored = frame(|to| _ = to.int(1).int(op_code::SET_WATCHES).long(70).strings(&[]).strings(&[]).strings(&[]));
    let credentials = frame(|to| _ = to.int(3).int(op_code::AUTH).int(0).string("digest").buffer(b"a:b"));
    let up = [hello(9), restored, request(2, op_code::DELETE, "/g/n-2"), credentials];
    // Servers answer credentials at once.
    let answers = [1, 3, 2].map(|xid| frame(|to| _ = to.int(xid).long(70).int(0)));
    let down = [welcome(9, 4_000), answers.concat()];
    for by in [1, 50, usize::MAX] {
        let (said, sound) = read(&up.concat(), &down.concat(), (by, by));
        assert!(sound);
        let asked = said.iter().filter_map(|said| match said {
            DecodedMessage::Asked(asked) | DecodedMessage::Answered { asked, .. } => Some(asked.xid),
            DecodedMessage::Established { .. } | DecodedMessage::Expired { .. } | DecodedMessage::Woken { .. } => None,
        });
        assert_eq!(asked.collect::<Vec<_>>(), [2, 2]);
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
