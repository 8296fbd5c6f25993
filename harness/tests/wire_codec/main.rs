//! The wire protocol's encoding: written messages are read back unchanged, and no input does harm.

mod strategies;

use hustings::wire::client::{SessionEvent, read_response, read_session_event, write_ping, write_request};
use hustings::wire::connect::{read_connect, read_connected, write_connect, write_connected};
use hustings::wire::jute::{FRAME_BYTES_MAX, WireError, frame_length};
use hustings::wire::op_code;
use hustings::wire::reply::{write_event, write_reply};
use hustings::wire::request::{WireRequest, read_request};
use hustings_workloads::model::{Code, Connect, ConnectResponse, Event, EventKind, Request};
use proptest::prelude::*;
use strategies::{request, response_to};

/// The message in a frame with a correct length.
fn message(frame: &[u8]) -> &[u8] {
    let (first, message) = frame.split_first_chunk::<4>().expect("a length");
    assert_eq!(frame_length(*first), Ok(message.len()));
    message
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_024, ..ProptestConfig::default() })]

    #[test]
    fn a_request_is_read_as_it_was_written(xid: i32, request in request()) {
        let frame = write_request(xid, &request);
        let (read_xid, ask) = read_request(message(&frame)).expect("read");
        prop_assert_eq!(read_xid, xid);
        match (ask, request) {
            (WireRequest::Request(read, _), written) => prop_assert_eq!(read, written),
            (WireRequest::Auth { scheme, proof }, Request::AddAuth { scheme: written, id }) => {
                prop_assert_eq!((scheme, proof), (written, id.into_bytes()));
            }
            (other, written) => prop_assert!(false, "{other:?} for {written:?}"),
        }
    }

    #[test]
    fn an_answer_is_read_as_it_was_written(
        xid in 0..i32::MAX,
        zxid: i64,
        (request, response) in request().prop_flat_map(|request| {
            let response = response_to(&request);
            (Just(request), response)
        }),
    ) {
        let Ok((_, WireRequest::Request(_, shape))) = read_request(message(&write_request(xid, &request))) else { return Ok(()) };
        let frame = write_reply(xid, zxid, &Ok(response.clone()), &shape);
        let told = read_session_event(message(&frame)).expect("read");
        let SessionEvent::Reply { xid: read_xid, zxid: read_zxid, error: 0, body } = told else { panic!("{told:?}") };
        prop_assert_eq!((read_xid, read_zxid), (xid, zxid));
        prop_assert_eq!(read_response(&request, body), Ok(response));
    }

    #[test]
    fn a_session_is_asked_for_and_granted_as_it_was_written(
        session: i64, password: [u8; 16], timeout_ms: i32, last_zxid_seen: i64, read_only: bool,
    ) {
        let connect = Connect { session, password, timeout_ms, last_zxid_seen, read_only };
        prop_assert_eq!(read_connect(message(&write_connect(&connect))), Ok((connect, true)));
        let connected = ConnectResponse { session, password, timeout_ms };
        prop_assert_eq!(read_connected(message(&write_connected(&connected, read_only))), Ok(connected));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200), op in any_op()) {
        let _ = read_connect(&bytes);
        let _ = read_connected(&bytes);
        let _ = read_session_event(&bytes);
        let _ = read_request(&bytes);
        let mut with_op = [1_i32.to_be_bytes(), op.to_be_bytes()].concat();
        with_op.extend(bytes);
        prop_assert!(read_request(&with_op).is_ok());
    }

    #[test]
    fn a_damaged_request_is_read_or_refused(request in request(), at: proptest::sample::Index, byte: u8, keep: proptest::sample::Index) {
        let mut frame = write_request(1, &request);
        let damaged = 4 + at.index(frame.len() - 4);
        frame[damaged] = byte;
        let kept = 4 + keep.index(frame.len() - 4);
        let _ = read_request(&frame[4..]);
        let _ = read_request(&frame[4..kept]);
    }

    #[test]
    fn any_bytes_are_an_answer_or_none(request in request(), bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_response(&request, &bytes);
    }
}

fn any_op() -> impl Strategy<Value = i32> {
    prop_oneof![-12..120_i32, any::<i32>()]
}

#[test]
fn a_frame_has_at_most_what_a_server_takes() {
    assert_eq!(frame_length((FRAME_BYTES_MAX as u32).to_be_bytes()), Ok(FRAME_BYTES_MAX));
    for too_long in [FRAME_BYTES_MAX as u32 + 1, i32::MAX as u32, u32::MAX] {
        assert!(matches!(frame_length(too_long.to_be_bytes()), Err(WireError::Frame { .. })), "{too_long}");
    }
}

#[test]
fn counts_are_compared_with_the_bytes_that_are_left() {
    // A setWatches that claims two thousand million paths.
    let bytes =
        [&1_i32.to_be_bytes()[..], &op_code::SET_WATCHES.to_be_bytes(), &[0; 8], &i32::MAX.to_be_bytes()].concat();
    let ask = read_request(&bytes).expect("a request").1;
    assert_eq!(ask, WireRequest::Malformed(WireError::Count { claimed: i32::MAX, left: 0 }));
}

#[test]
fn what_is_no_operation_is_told_apart_from_what_is_malformed() {
    let of = |op: i32, body: &[u8]| {
        read_request(&[&7_i32.to_be_bytes(), &op.to_be_bytes(), body].concat()).expect("a request").1
    };
    assert_eq!(of(9_999, &[]), WireRequest::Unknown);
    assert!(matches!(of(op_code::EXISTS, &[]), WireRequest::Malformed(_)));
    assert!(read_request(&[0; 7]).is_err(), "there is no operation");
    // "/a", no data, no list, and invalid flags.
    let create =
        [&2_i32.to_be_bytes()[..], b"/a", &0_i32.to_be_bytes(), &0_i32.to_be_bytes(), &77_i32.to_be_bytes()].concat();
    assert_eq!(of(op_code::CREATE, &create), WireRequest::Refused(Code::BadArguments));
    assert_eq!(read_request(&write_ping()[4..]), Ok((op_code::XID_PING, WireRequest::Ping)));
}

#[test]
fn a_connect_request_of_an_old_client_has_no_byte_for_read_only() {
    let connect = Connect { session: 5, timeout_ms: 4_000, ..Connect::default() };
    let frame = write_connect(&connect);
    assert_eq!(read_connect(&frame[4..frame.len() - 1]), Ok((connect, false)));
    let answer = ConnectResponse { session: 5, timeout_ms: 4_000, ..ConnectResponse::default() };
    assert_eq!(write_connected(&answer, false).len() + 1, write_connected(&answer, true).len());
}

#[test]
fn an_event_is_told_as_servers_before_3_9_do() {
    let frame = write_event(&Event { kind: EventKind::Deleted, path: "/a".into(), zxid: 77 });
    let told = read_session_event(message(&frame)).expect("read");
    assert_eq!(told, SessionEvent::Event(Event { kind: EventKind::Deleted, path: "/a".into(), zxid: -1 }));
}
