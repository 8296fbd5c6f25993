//! Any bytes from a client: connect request and requests, frame by frame, as a connection's stream. What can be read is
//! carried out by the model, on three servers that keep up; nothing brings the decoder or the model down.
#![no_main]

use hustings::wire::client::read_session_event;
use hustings::wire::connect::{read_connect, read_connected};
use hustings::wire::jute::frame_length;
use hustings::wire::op_code::XID_EVENT;
use hustings::wire::reply::write_reply;
use hustings::wire::request::{WireRequest, read_request};
use hustings_workloads::model::{Connect, Ensemble, Options, Output, settle};
use libfuzzer_sys::fuzz_target;

/// Frames of one input.
const FRAMES_MAX: usize = 64;
const TICK_US: u64 = 2_000_000;

fuzz_target!(|stream: &[u8]| {
    let mut ensemble = Ensemble::new(Options { servers: 3, ..Options::default() });
    (0..3).for_each(|server| ensemble.start(0, server));
    let mut now = TICK_US;
    ensemble.advance(now);
    settle(&mut ensemble, now, drop);
    // A session there is in any case, whatever the input makes of its own.
    ensemble.connect(now, 0, 1, Connect { timeout_ms: 10_000, ..Connect::default() });
    settle(&mut ensemble, now, drop);
    let mut rest = stream;
    for number in 0..FRAMES_MAX {
        let Some((message, next)) = frame(rest) else { break };
        rest = next;
        let _ = (read_connected(message), read_session_event(message));
        if number == 0
            && let Ok((ask, _)) = read_connect(message)
        {
            ensemble.connect(now, 1, 2, ask);
        }
        let mut shapes = Vec::new();
        if let Ok((xid, WireRequest::Request(request, shape))) = read_request(message) {
            ensemble.request(now, 0, 1, xid, request.clone());
            ensemble.request(now, 1, 2, xid, request);
            shapes.push((xid, shape));
        }
        settle(&mut ensemble, now, |output| {
            if let Output::Reply { xid, zxid, result, .. } = output {
                // Who numbers a request as events are numbered takes its answer for one.
                for (_, shape) in shapes.iter().filter(|(asked, _)| *asked == xid && xid != XID_EVENT) {
                    let reply = write_reply(xid, zxid, &result, shape);
                    assert!(read_session_event(&reply[4..]).is_ok(), "a client reads what a server writes");
                }
            }
        });
        now += TICK_US / 4;
        ensemble.advance(now);
    }
});

/// The first frame of a stream, and what follows it.
fn frame(stream: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = stream.split_at_checked(4)?;
    let length = frame_length(length.try_into().ok()?).ok()?;
    rest.split_at_checked(length)
}
