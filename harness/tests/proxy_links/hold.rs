//! A hold blocks everything and loses nothing; the proxy's counts match the traffic; Nagle's algorithm delays no byte.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::tcp_nodelay;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use serde_json::{Value, json};

use super::support::*;

fn hold(proxy: &Proxy) {
    proxy.toxic("hold", "upstream", json!({}));
    proxy.toxic("hold", "downstream", json!({}));
}

fn release(proxy: &Proxy) {
    proxy.heal("hold_downstream");
    proxy.heal("hold_upstream");
}

fn passed(stats: &Value) -> (u64, u64) {
    (stats["up"]["bytes"].as_u64().unwrap(), stats["down"]["bytes"].as_u64().unwrap())
}

#[test]
fn holds_lose_nothing_and_keep_the_order_both_ways() {
    const PAUSE: Duration = Duration::from_millis(1);
    let (proxy, mut stream) = echoing(&[]);
    let data = pattern(8_000_000);
    let mut out = stream.try_clone().unwrap();
    let sent = data.clone();
    let writer = thread::spawn(move || sent.chunks(7_001).for_each(|chunk| out.write_all(chunk).unwrap()));
    let bytes = data.len();
    // It starts late and reads slowly, so that the proxy always has unwritten data.
    let reader = thread::spawn(move || {
        thread::sleep(QUIET);
        let mut back = Vec::new();
        let mut buffer = vec![0; 50_000];
        while back.len() < bytes {
            let n = stream.read(&mut buffer).unwrap();
            assert!(n > 0, "the connection lives on");
            back.extend_from_slice(&buffer[..n]);
            thread::sleep(PAUSE);
        }
        back
    });
    thread::sleep(QUIET);
    for _ in 0..6 {
        hold(&proxy);
        let first = passed(&proxy.stats());
        thread::sleep(QUIET);
        assert_eq!(passed(&proxy.stats()), first, "not a byte passes");
        release(&proxy);
        thread::sleep(PAUSE * 5);
    }
    writer.join().unwrap();
    assert!(reader.join().unwrap() == data, "what comes back is what was sent");
}

#[test]
fn a_hold_reads_no_further_so_that_the_sender_is_held_back() {
    let (proxy, mut stream) = echoing(&[]);
    proxy.toxic("hold", "upstream", json!({}));
    stream.set_nonblocking(true).unwrap();
    let chunk = pattern(65_536);
    let mut written = 0;
    let blocked = loop {
        match stream.write(&chunk) {
            Ok(n) => written += n,
            Err(error) => break error.kind(),
        }
        assert!(written < 1 << 30, "nothing holds the sender back");
    };
    assert_eq!(blocked, ErrorKind::WouldBlock);
    let held = usize::try_from(proxy.stats()["up"]["held"].as_u64().unwrap()).unwrap();
    assert!(0 < held && held <= written);
    stream.set_nonblocking(false).unwrap();
    proxy.heal("hold_upstream");
    let mut reader = stream.try_clone().unwrap();
    assert_eq!(read_exactly(&mut reader, written).len(), written);
}

#[test]
fn a_hold_of_one_direction_leaves_the_other_alone() {
    let (said, heard) = channel();
    let (address, _) = server(move |mut stream| {
        let mut word = [0; 4];
        while stream.read_exact(&mut word).is_ok() {
            said.send(word).unwrap();
            stream.write_all(&word).unwrap();
        }
    });
    let proxy = Proxy::start(&[]);
    let mut stream = connect(proxy.link(address));
    stream.write_all(b"one.").unwrap();
    read_exactly(&mut stream, 4);
    heard.recv_timeout(SOON).unwrap();
    proxy.toxic("hold", "downstream", json!({}));
    stream.write_all(b"two.").unwrap();
    assert_eq!(heard.recv_timeout(SOON).unwrap(), *b"two.", "up passes");
    assert!(is_quiet(&mut stream), "down does not");
    proxy.toxic("hold", "upstream", json!({}));
    proxy.heal("hold_downstream");
    assert_eq!(read_exactly(&mut stream, 4), b"two.");
    stream.write_all(b"tri.").unwrap();
    assert!(heard.recv_timeout(QUIET).is_err());
    proxy.heal("hold_upstream");
    assert_eq!(heard.recv_timeout(SOON).unwrap(), *b"tri.");
}

#[test]
fn a_close_is_held_as_data_is() {
    let (said, heard) = channel();
    let (address, _) = server(move |mut stream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        said.send(all).unwrap();
    });
    let proxy = Proxy::start(&[]);
    let mut stream = connect(proxy.link(address));
    stream.write_all(b"a").unwrap();
    until("the connection stands", || passed(&proxy.stats()).0 == 1);
    hold(&proxy);
    stream.write_all(b"b").unwrap();
    drop(stream);
    assert!(heard.recv_timeout(QUIET).is_err(), "neither data nor end");
    release(&proxy);
    assert_eq!(heard.recv_timeout(SOON).unwrap(), b"ab");
}

#[test]
fn nobody_can_connect_during_a_hold_and_everybody_after_it() {
    for way in ["upstream", "downstream"] {
        let (upstream, count) = echo();
        let proxy = Proxy::start(&[]);
        let address = proxy.link(upstream);
        proxy.toxic("hold", way, json!({}));
        // The port is closed right after the answer to the toxic.
        thread::sleep(QUIET);
        for _ in 0..5 {
            let refused = TcpStream::connect_timeout(&address, QUIET).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::TimedOut, "neither accepted nor refused");
        }
        let patient = thread::spawn(move || TcpStream::connect_timeout(&address, Duration::from_secs(20)));
        thread::sleep(QUIET);
        assert_eq!(count.load(SeqCst), 0);
        proxy.heal(&format!("hold_{way}"));
        let mut patient = patient.join().unwrap().unwrap();
        echoes(&mut patient, b"still here");
        let mut next = connect(address);
        echoes(&mut next, b"x");
        assert_eq!(count.load(SeqCst), 2, "and the port's own filler reached nobody");
    }
}

#[test]
fn a_connection_held_by_chance_reaches_its_server_after_it_unless_its_client_gave_up() {
    let (upstream, count) = echo();
    let proxy = Proxy::start(&[]);
    let address = proxy.link(upstream);
    for way in ["upstream", "downstream"] {
        let toxic = json!({ "type": "hold", "stream": way, "toxicity": 0.999_999 });
        assert_eq!(proxy.call("POST", "/proxies/link/toxics", &toxic.to_string()).0, 200);
    }
    let mut patient = connect(address);
    patient.write_all(b"still here").unwrap();
    let mut hasty = connect(address);
    hasty.write_all(b"gone").unwrap();
    drop(hasty);
    assert!(is_quiet(&mut patient));
    until("the hasty one is forgotten", || proxy.stats()["abandoned"] == 1);
    assert_eq!(count.load(SeqCst), 0, "no handshake passes either");
    release(&proxy);
    assert_eq!(read_exactly(&mut patient, 10), b"still here");
    assert_eq!(count.load(SeqCst), 1);
}

#[test]
fn disconnect_resets_what_is_open_and_nothing_after() {
    let proxy = Proxy::start(&[]);
    let address = proxy.link(echo().0);
    let mut stream = connect(address);
    echoes(&mut stream, b"x");
    let (status, told) = proxy.call("POST", "/proxies/link/disconnect", "");
    assert_eq!((status, &told["reset"]), (200, &json!(1)));
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(proxy.call("GET", "/proxies/link/toxics", "").1, json!([]));
    let mut stream = connect(address);
    echoes(&mut stream, b"x");
    until("the counters say so", || proxy.stats()["closed"] == 1 && proxy.stats()["open"] == 1);
}

#[test]
fn a_reset_by_the_client_reaches_the_server_as_a_reset() {
    let (said, heard) = channel();
    let (address, _) = server(move |mut stream| {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        said.send(stream.read(&mut byte).map_err(|error| error.kind())).unwrap();
    });
    let proxy = Proxy::start(&[]);
    let mut stream = connect(proxy.link(address));
    stream.write_all(b"x").unwrap();
    until("it has passed", || passed(&proxy.stats()).0 == 1);
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    drop(stream);
    assert_eq!(heard.recv_timeout(SOON).unwrap(), Err(ErrorKind::ConnectionReset));
}

#[test]
fn a_half_closed_connection_still_answers() {
    let (_proxy, mut stream) = echoing(&[]);
    stream.write_all(b"question").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"question");
}

#[test]
fn stats_tell_bytes_times_and_the_servers_first_words() {
    let proxy = Proxy::start(&[]);
    let mut stream = connect(proxy.link(zookeeper(0x1234)));
    let before = hustings::process::clock::now();
    stream.write_all(&[1; 45]).unwrap();
    read_exactly(&mut stream, 41);
    let after = hustings::process::clock::now();
    let stats = proxy.stats();
    let one = &stats["connections"][0];
    assert_eq!((&one["up"]["bytes"], &one["down"]["bytes"]), (&json!(45), &json!(41)));
    let last = one["up"]["last"].as_u64().unwrap();
    assert!((before..=after).contains(&last));
    assert!(one["head"].as_str().unwrap().starts_with("000000250000000000000fa00000000000001234"));
    assert_eq!((&stats["open"], &stats["accepted"], &one["closed"]), (&json!(1), &json!(1), &Value::Null));
    drop(stream);
    until("it is listed as closed", || proxy.stats()["connections"][0]["closed"].is_u64());
    let late = format!("/proxies/link/stats?closed_after={}", hustings::process::clock::now());
    assert_eq!(proxy.call("GET", &late, "").1["connections"], json!([]));
    assert_eq!(proxy.call("GET", "/stats?breef=true", "").0, 400);
    assert_eq!(proxy.call("GET", "/stats?brief=true", "").1["link"]["connections"], json!([]));
    assert_eq!(proxy.call("GET", "/proxies/none/stats", "").0, 404);
}

#[test]
fn no_socket_of_the_data_path_delays_small_writes() {
    let proxy = Proxy::start(&[]);
    let address = proxy.link(echo().0);
    let mut streams: Vec<TcpStream> = (0..5).map(|_| connect(address)).collect();
    for stream in &mut streams {
        for _ in 0..200 {
            stream.write_all(b"pi").unwrap();
            stream.write_all(b"ng").unwrap();
            read_exactly(stream, 4);
        }
    }
    let pid = Pid::from_raw(i32::try_from(proxy.pid()).unwrap()).unwrap();
    let process = pidfd_open(pid, PidfdFlags::empty()).unwrap();
    let mut sockets = 0;
    for entry in std::fs::read_dir(format!("/proc/{}/fd", proxy.pid())).unwrap().flatten() {
        let target = std::fs::read_link(entry.path()).unwrap_or_default();
        let fd = entry.file_name().to_str().unwrap().parse().unwrap();
        if !target.to_string_lossy().starts_with("socket:") {
            continue;
        }
        let socket = TcpStream::from(pidfd_getfd(&process, fd, PidfdGetfdFlags::empty()).unwrap());
        if socket.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()) {
            sockets += 1;
            assert!(tcp_nodelay(&socket).unwrap(), "{socket:?}");
        }
    }
    assert!(sockets >= 10, "both sides of five connections, and not {sockets} sockets");
}

#[test]
fn the_lying_proxy_shows_toxics_and_ignores_them() {
    let (proxy, mut stream) = echoing(&["--lie"]);
    hold(&proxy);
    assert_eq!(proxy.call("GET", "/proxies/link/toxics", "").1.as_array().unwrap().len(), 2);
    echoes(&mut stream, b"through");
}
