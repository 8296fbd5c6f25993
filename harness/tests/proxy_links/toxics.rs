//! Each toxic has its specified effect. Times are only bounded from below: a busy machine adds.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType, bind, listen, socket};
use serde_json::json;

use super::support::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn latency_delays_its_direction_and_keeps_the_order() {
    let (proxy, mut stream) = echoing(&[]);
    proxy.toxic("latency", "downstream", json!({"latency":60,"jitter":20}));
    let data = pattern(50_000);
    let asked = Instant::now();
    echoes(&mut stream, &data);
    assert!(asked.elapsed() >= ms(40));
    proxy.heal("latency_downstream");
    echoes(&mut stream, &data);
}

#[test]
fn latency_that_is_removed_lets_go_of_what_it_delays() {
    let (proxy, mut stream) = echoing(&[]);
    proxy.toxic("latency", "upstream", json!({"latency":600_000}));
    stream.write_all(b"late").unwrap();
    assert!(is_quiet(&mut stream));
    proxy.heal("latency_upstream");
    assert_eq!(read_exactly(&mut stream, 4), b"late");
}

#[test]
fn bandwidth_bounds_the_rate() {
    let (proxy, mut stream) = echoing(&[]);
    proxy.toxic("bandwidth", "upstream", json!({"rate":200}));
    let data = pattern(100_000);
    let asked = Instant::now();
    echoes(&mut stream, &data);
    assert!(asked.elapsed() >= ms(480), "100 KB at 200 KB/s: {:?}", asked.elapsed());
}

#[test]
fn slow_close_delays_the_end_and_nothing_else() {
    let (proxy, mut stream) = echoing(&[]);
    proxy.toxic("slow_close", "downstream", json!({"delay":300}));
    let asked = Instant::now();
    stream.write_all(b"bye").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_exactly(&mut stream, 3), b"bye");
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    assert!(asked.elapsed() >= ms(300));
}

#[test]
fn timeout_zero_drops_data_until_it_is_removed_and_then_closes() {
    let proxy = Proxy::start(&[]);
    let address = proxy.link(echo().0);
    let mut stream = connect(address);
    proxy.toxic("timeout", "upstream", json!({"timeout":0}));
    stream.write_all(b"lost").unwrap();
    assert!(is_quiet(&mut stream));
    assert_eq!(proxy.stats()["up"]["dropped"], 4);
    proxy.heal("timeout_upstream");
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)), "closed, and nothing comes late");
    let mut again = connect(address);
    echoes(&mut again, b"new");
}

#[test]
fn timeout_closes_after_its_time() {
    let (proxy, mut stream) = echoing(&[]);
    let asked = Instant::now();
    proxy.toxic("timeout", "downstream", json!({"timeout":150}));
    stream.write_all(b"lost").unwrap();
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    assert!(asked.elapsed() >= ms(150));
}

#[test]
fn reset_peer_resets_on_data() {
    let (proxy, mut stream) = echoing(&[]);
    proxy.toxic("reset_peer", "upstream", json!({"timeout":50}));
    assert!(is_quiet(&mut stream), "an idle connection is left alone");
    stream.write_all(b"x").unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn slicer_delays_between_slices_and_loses_nothing() {
    let (proxy, mut stream) = echoing(&[]);
    proxy.toxic("slicer", "upstream", json!({"average_size":100,"size_variation":10,"delay":10_000}));
    let data = pattern(2_000);
    let asked = Instant::now();
    echoes(&mut stream, &data);
    assert!(asked.elapsed() >= ms(170), "at least 18 slices, 10 ms apart: {:?}", asked.elapsed());
}

#[test]
fn limit_data_passes_so_many_bytes_and_closes() {
    let proxy = Proxy::start(&[]);
    let address = proxy.link(echo().0);
    proxy.toxic("limit_data", "downstream", json!({"bytes":1_000}));
    for _ in 0..2 {
        let mut stream = connect(address);
        let data = pattern(600);
        stream.write_all(&data).unwrap();
        assert_eq!(read_exactly(&mut stream, 600), data);
        stream.write_all(&data).unwrap();
        let mut rest = Vec::new();
        // It may be closed with unread data of this test, which is a reset.
        let _ = stream.read_to_end(&mut rest);
        assert_eq!(rest, data[..400]);
    }
}

#[test]
fn toxicity_is_drawn_once_a_connection() {
    let proxy = Proxy::start(&["--seed", "7"]);
    let address = proxy.link(echo().0);
    let request = json!({"type":"timeout","stream":"upstream","toxicity":0.5,"attributes":{"timeout":0}});
    assert_eq!(proxy.call("POST", "/proxies/link/toxics", &request.to_string()).0, 200);
    let mut streams: Vec<_> = (0..40).map(|_| connect(address)).collect();
    let bytes = |way: &str, what: &str| proxy.stats()[way][what].as_u64().unwrap();
    for round in 1..=3 {
        streams.iter_mut().for_each(|stream| stream.write_all(b"x").unwrap());
        until("all bytes are dropped or passed", || bytes("up", "bytes") + bytes("up", "dropped") == round * 40);
    }
    until("all that passed is answered", || bytes("down", "bytes") == bytes("up", "bytes"));
    let answer = |stream: &mut std::net::TcpStream| {
        stream.set_nonblocking(true).unwrap();
        stream.read(&mut [0; 8]).unwrap_or(0)
    };
    let answered: Vec<_> = streams.iter_mut().map(answer).collect();
    assert!(answered.iter().all(|n| *n == 0 || *n == 3), "{answered:?}");
    let hit = answered.iter().filter(|n| **n == 0).count();
    assert!((5..=35).contains(&hit), "{hit} of 40");
}

#[test]
fn a_toxic_acts_on_its_direction_only() {
    let (said, heard) = channel();
    let (address, _) = server(move |mut stream| {
        stream.write_all(b"hello").unwrap();
        let mut word = [0; 4];
        if stream.read_exact(&mut word).is_ok() {
            said.send(word).unwrap();
        }
    });
    let proxy = Proxy::start(&[]);
    let address = proxy.link(address);
    proxy.toxic("timeout", "upstream", json!({"timeout":0}));
    let mut stream = connect(address);
    assert_eq!(read_exactly(&mut stream, 5), b"hello");
    stream.write_all(b"word").unwrap();
    assert!(heard.recv_timeout(QUIET).is_err());
    proxy.heal("timeout_upstream");
    proxy.toxic("timeout", "downstream", json!({"timeout":0}));
    let mut stream = connect(address);
    stream.write_all(b"word").unwrap();
    assert_eq!(heard.recv_timeout(SOON).unwrap(), *b"word");
    assert!(is_quiet(&mut stream));
}

#[test]
fn an_unreachable_server_closes_the_connection_and_is_counted() {
    let proxy = Proxy::start(&[]);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut stream = connect(proxy.link(free));
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    until("it is counted", || proxy.stats()["failed"] == 1);
}

#[test]
fn an_awaited_upstream_may_come_late_and_gets_every_byte() {
    // A bound port without a listener: no other process can take it, and it refuses connections.
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let listener = TcpListener::from(socket);
    let proxy = Proxy::start(&[]);
    let address = proxy.link(listener.local_addr().unwrap());
    proxy.toxic("await_upstream", "upstream", json!({"timeout":600_000}));
    let mut stream = connect(address);
    stream.write_all(b"early").unwrap();
    assert!(is_quiet(&mut stream));
    listen(&listener, 1).unwrap();
    let mut server = listener.accept().unwrap().0;
    assert_eq!(read_exactly(&mut server, 5), b"early");
    server.write_all(b"late").unwrap();
    assert_eq!(read_exactly(&mut stream, 4), b"late");
    assert_eq!(proxy.stats()["failed"], 0);
}

#[test]
fn an_upstream_is_awaited_for_the_time_and_no_longer_than_its_client_stays() {
    let proxy = Proxy::start(&[]);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let address = proxy.link(free);
    proxy.toxic("await_upstream", "upstream", json!({"timeout":300}));
    let asked = Instant::now();
    let mut stream = connect(address);
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    assert!(asked.elapsed() >= ms(300));
    proxy.heal("await_upstream_upstream");
    proxy.toxic("await_upstream", "upstream", json!({"timeout":600_000}));
    let stream = connect(address);
    until("it waits", || proxy.stats()["open"] == 1);
    drop(stream);
    until("both are counted", || proxy.stats()["failed"] == 2);
}
