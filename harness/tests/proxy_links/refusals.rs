//! A request that is refused, or whose client leaves, leaves no proxy half changed.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::support::*;

/// No machine has this address (TEST-NET-1).
const ELSEWHERE: &str = "192.0.2.1:1";

/// The proxies as the API shows them.
fn shown(proxy: &Proxy) -> Value {
    let (status, all) = proxy.call("GET", "/proxies", "");
    assert_eq!(status, 200, "{all}");
    all
}

fn is_refused_for(answer: &(u16, Value), listen: &str) -> bool {
    answer.0 == 500 && answer.1["error"].as_str().is_some_and(|error| error.contains(listen))
}

/// A port that another program has, and its address.
fn taken_port() -> (TcpListener, String) {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    (taken, address)
}

#[test]
fn a_refused_address_leaves_a_proxy_on_its_port_with_its_connections() {
    let (proxy, mut stream) = echoing(&[]);
    proxy.toxic("latency", "upstream", json!({ "latency": 1 }));
    let before = shown(&proxy);
    let (_taken, address) = taken_port();
    for listen in [address.as_str(), ELSEWHERE, "nowhere"] {
        for rest in [json!({}), json!({ "upstream": "127.0.0.1:2" }), json!({ "enabled": true })] {
            let mut change = rest;
            change["listen"] = listen.into();
            let answer = proxy.call("PATCH", "/proxies/link", &change.to_string());
            assert!(is_refused_for(&answer, listen), "{change}: {answer:?}");
            assert_eq!(shown(&proxy), before, "{change}");
        }
    }
    echoes(&mut stream, b"the same connection");
    echoes(&mut connect(stream.peer_addr().unwrap()), b"a new one");
}

#[test]
fn a_refused_change_leaves_a_disabled_proxy_disabled_at_its_own_address() {
    let proxy = Proxy::start(&[]);
    let address = proxy.link(echo().0);
    assert_eq!(proxy.call("PATCH", "/proxies/link", r#"{"enabled":false}"#).0, 200);
    let before = shown(&proxy);
    let change = json!({ "listen": ELSEWHERE, "upstream": "127.0.0.1:2", "enabled": true });
    let answer = proxy.call("PATCH", "/proxies/link", &change.to_string());
    assert!(is_refused_for(&answer, ELSEWHERE), "{answer:?}");
    assert_eq!(shown(&proxy), before);
    assert_eq!(proxy.call("PATCH", "/proxies/link", r#"{"enabled":true}"#).0, 200);
    echoes(&mut connect(address), b"as before");
}

#[test]
fn a_proxy_moves_within_its_port_and_keeps_its_address_if_another_program_has_one_of_the_others() {
    let (proxy, mut stream) = echoing(&[]);
    let address = stream.peer_addr().unwrap();
    let everywhere = format!("0.0.0.0:{}", address.port());
    let before = shown(&proxy);
    let other = TcpListener::bind(("127.0.0.2", address.port())).unwrap();
    let to = |listen: &str| proxy.call("PATCH", "/proxies/link", &json!({ "listen": listen }).to_string());
    let answer = to(&everywhere);
    assert!(is_refused_for(&answer, &everywhere), "{answer:?}");
    assert_eq!(shown(&proxy), before);
    echoes(&mut stream, b"the same connection");
    echoes(&mut connect(address), b"a new one");
    drop(other);
    for listen in [everywhere, address.to_string()] {
        let (status, moved) = to(&listen);
        assert_eq!((status, &moved["listen"]), (200, &json!(listen)), "{moved}");
        echoes(&mut connect(address), b"moved");
    }
}

#[test]
fn other_words_for_the_same_address_change_nothing() {
    let (proxy, mut stream) = echoing(&[]);
    proxy.toxic("latency", "upstream", json!({ "latency": 1 }));
    let before = shown(&proxy);
    let listen = format!("127.1:{}", stream.peer_addr().unwrap().port());
    let changed = proxy.call("PATCH", "/proxies/link", &json!({ "listen": listen }).to_string());
    assert_eq!(changed, (200, before["link"].clone()));
    let same = json!([{ "name": "link", "listen": listen, "upstream": before["link"]["upstream"] }]);
    assert_eq!(proxy.call("POST", "/populate", &same.to_string()).0, 201);
    assert_eq!(shown(&proxy), before);
    echoes(&mut stream, b"the same connection");
}

#[test]
fn a_changed_upstream_keeps_the_port_and_its_hold() {
    let proxy = Proxy::start(&[]);
    let ((first, reached_first), (second, reached_second)) = (echo(), echo());
    let address = proxy.link(first);
    proxy.toxic("hold", "upstream", json!({}));
    thread::sleep(QUIET);
    let change = json!({ "upstream": second.to_string() });
    let (status, changed) = proxy.call("PATCH", "/proxies/link", &change.to_string());
    assert_eq!((status, &changed["listen"]), (200, &json!(address.to_string())), "{changed}");
    thread::sleep(QUIET);
    let refused = TcpStream::connect_timeout(&address, QUIET).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::TimedOut, "neither accepted nor refused");
    proxy.heal("hold_upstream");
    for _ in 0..3 {
        echoes(&mut connect(address), b"through");
    }
    assert_eq!((reached_first.load(SeqCst), reached_second.load(SeqCst)), (0, 3), "and no filler of the port's");
}

#[test]
fn a_refused_populate_changes_nothing() {
    let (proxy, mut stream) = echoing(&[]);
    proxy.toxic("latency", "upstream", json!({ "latency": 1 }));
    let parked = json!({ "name": "parked", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:1", "enabled": false });
    assert_eq!(proxy.call("POST", "/proxies", &parked.to_string()).0, 201);
    let before = shown(&proxy);
    let (listen, upstream) = (&before["link"]["listen"], &before["link"]["upstream"]);
    let (_taken, address) = taken_port();
    for last in [address.as_str(), ELSEWHERE] {
        for link in [
            json!({ "name": "link", "listen": listen, "upstream": "127.0.0.1:2" }),
            json!({ "name": "link", "listen": "127.0.0.1:0", "upstream": upstream }),
            json!({ "name": "link", "listen": listen, "upstream": upstream, "enabled": false }),
        ] {
            let list = json!([
                { "name": "fresh", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:1" },
                link,
                { "name": "parked", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:1", "enabled": true },
                { "name": "the last", "listen": last, "upstream": "127.0.0.1:1" },
            ]);
            let answer = proxy.call("POST", "/populate", &list.to_string());
            assert!(is_refused_for(&answer, last), "{answer:?}");
            assert_eq!(shown(&proxy), before, "{list}");
        }
    }
    echoes(&mut stream, b"the same connection");
    echoes(&mut connect(stream.peer_addr().unwrap()), b"a new one");
}

#[test]
fn a_populate_may_exchange_the_ports_of_proxies() {
    let proxy = Proxy::start(&[]);
    let says = |word: &'static [u8]| server(move |mut stream| drop(stream.write_all(word))).0;
    let (one, two) = (says(b"1"), says(b"2"));
    let (port_of_one, port_of_two) = (proxy.named_link("one", one), proxy.named_link("two", two));
    assert_eq!(read_exactly(&mut connect(port_of_one), 1), b"1");
    let list = json!([
        { "name": "one", "listen": port_of_two.to_string(), "upstream": one.to_string() },
        { "name": "two", "listen": port_of_one.to_string(), "upstream": two.to_string() },
    ]);
    let answer = proxy.call("POST", "/populate", &list.to_string());
    assert_eq!(answer.0, 201, "{answer:?}");
    assert_eq!(read_exactly(&mut connect(port_of_one), 1), b"2");
    assert_eq!(read_exactly(&mut connect(port_of_two), 1), b"1");
}

#[test]
fn a_reset_resets_all_that_it_can_and_names_the_port_that_is_taken() {
    let proxy = Proxy::start(&[]);
    let names = ["a", "b", "c"];
    let [_, b, _] = names.map(|name| {
        let address = proxy.named_link(name, "127.0.0.1:1".parse().unwrap());
        assert_eq!(proxy.call("POST", &format!("/proxies/{name}/toxics"), r#"{"type":"latency"}"#).0, 200);
        address
    });
    for name in ["b", "c"] {
        assert_eq!(proxy.call("PATCH", &format!("/proxies/{name}"), r#"{"enabled":false}"#).0, 200);
    }
    let taken = TcpListener::bind(b).unwrap();
    let answer = proxy.call("POST", "/reset", "");
    assert!(is_refused_for(&answer, &b.to_string()), "{answer:?}");
    let states = || {
        let all = shown(&proxy);
        names.map(|name| (all[name]["enabled"] == true, all[name]["toxics"] == json!([])))
    };
    assert_eq!(states(), [(true, true), (false, true), (true, true)], "enabled, and without toxics");
    drop(taken);
    assert_eq!(proxy.call("POST", "/reset", "").0, 204);
    assert_eq!(states(), [(true, true); 3]);
}

#[test]
fn a_request_whose_client_leaves_is_handled_to_its_end() {
    let proxy = Proxy::start(&[]);
    let list = |upstream: &str| {
        let proxies = (0..300)
            .map(|n| json!({ "name": format!("p{n}"), "listen": "127.0.0.1:0", "upstream": upstream }))
            .collect::<Vec<_>>();
        Value::from(proxies).to_string()
    };
    assert_eq!(proxy.call("POST", "/populate", &list("127.0.0.1:1")).0, 201);
    for wait_ms in 0..20 {
        let body = list(&format!("127.0.0.1:{}", 2 + wait_ms));
        let head = format!("POST /populate HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
        let mut client = TcpStream::connect(proxy.api).unwrap();
        client.write_all((head + &body).as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(wait_ms));
        drop(client);
        let all = shown(&proxy);
        let upstreams: BTreeSet<String> =
            all.as_object().unwrap().values().map(|one| one["upstream"].to_string()).collect();
        assert_eq!(upstreams.len(), 1, "after {wait_ms} ms, some proxies are replaced: {upstreams:?}");
    }
}

#[test]
fn a_refused_update_of_a_toxic_changes_none_of_its_attributes() {
    let proxy = Proxy::start(&[]);
    proxy.link("127.0.0.1:1".parse().unwrap());
    proxy.toxic("latency", "upstream", json!({ "latency": 1, "jitter": 2 }));
    let before = shown(&proxy);
    let at = "/proxies/link/toxics/latency_upstream";
    for change in [
        r#"{"toxicity":0.5,"attributes":{"latency":5,"jitter":"x"}}"#,
        r#"{"toxicity":1e300,"attributes":{"latency":5}}"#,
        r#"{"toxicity":"x","attributes":{"latency":5}}"#,
    ] {
        assert_eq!(proxy.call("PATCH", at, change).0, 400, "{change}");
        assert_eq!(shown(&proxy), before, "{change}");
    }
}

#[test]
fn a_deleted_proxy_leaves_neither_port_nor_connection() {
    let (proxy, mut stream) = echoing(&[]);
    echoes(&mut stream, b"open");
    assert_eq!(proxy.call("DELETE", "/proxies/link", "").0, 204);
    let free = TcpListener::bind(stream.peer_addr().unwrap());
    assert!(free.is_ok(), "{free:?}");
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    assert_eq!(shown(&proxy), json!({}));
}

#[test]
fn a_proxy_whose_upstream_is_its_own_address_is_refused() {
    let (proxy, mut stream) = echoing(&[]);
    let before = shown(&proxy);
    let (taken, free) = taken_port();
    drop(taken);
    let (_, port) = free.rsplit_once(':').unwrap();
    for (listen, upstream, own) in [
        ("127.0.0.1", "127.0.0.1", "127.0.0.1"),
        ("127.0.0.1", "LocalHost", "127.0.0.1"),
        ("127.0.0.1", "0.0.0.0", "127.0.0.1"),
        ("127.0.0.1", "[::ffff:127.0.0.1]", "127.0.0.1"),
        ("", "127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.2", "0.0.0.0"),
        ("0.0.0.0", "0.0.0.0", "0.0.0.0"),
        ("[::]", "[::1]", "[::]"),
        ("[::]", "127.0.0.1", "[::]"),
        ("[::1]", "[::]", "[::1]"),
    ] {
        let [listen, upstream, own] = [listen, upstream, own].map(|host| format!("{host}:{port}"));
        for enabled in [true, false] {
            let new = json!({ "name": "new", "listen": listen, "upstream": upstream, "enabled": enabled });
            let first = json!({ "name": "first", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:1" });
            for (method, path, body) in [
                ("POST", "/proxies", new.clone()),
                ("PATCH", "/proxies/link", new.clone()),
                ("POST", "/proxies/link", new.clone()),
                ("POST", "/populate", json!([first, new])),
            ] {
                let answer = proxy.call(method, path, &body.to_string());
                let error = answer.1["error"].as_str().unwrap_or_default();
                assert_eq!((answer.0, &answer.1["status"]), (400, &json!(400)), "{method} {path} {body}: {answer:?}");
                assert!(error.contains(&upstream) && error.contains(&own), "{body}: {error}");
                assert_eq!(shown(&proxy), before, "{method} {path} {body}");
            }
        }
    }
    let own = json!({ "upstream": stream.peer_addr().unwrap().to_string() });
    assert_eq!(proxy.call("PATCH", "/proxies/link", &own.to_string()).0, 400, "only the upstream is named");
    echoes(&mut stream, b"the same connection");
    for (listen, upstream) in [("127.0.0.1", "127.0.0.2"), ("127.0.0.1", "[::1]"), ("0.0.0.0", "192.0.2.1")] {
        let [listen, upstream] = [listen, upstream].map(|host| format!("{host}:{port}"));
        let new = json!({ "name": "new", "listen": listen, "upstream": upstream });
        let answer = proxy.call("POST", "/proxies", &new.to_string());
        assert_eq!(answer.0, 201, "only the port is the same: {answer:?}");
        assert_eq!(proxy.call("DELETE", "/proxies/new", "").0, 204);
    }
}

#[test]
fn a_proxy_does_not_connect_to_itself_under_another_name_of_its_address() {
    let proxy = Proxy::start(&[]);
    let (taken, listen) = taken_port();
    drop(taken);
    // The resolver, not the proxy, reads this as 127.0.0.1.
    let upstream = listen.replace("127.0.0.1", "127.1");
    let request = json!({ "name": "link", "listen": listen, "upstream": upstream });
    let answer = proxy.call("POST", "/proxies", &request.to_string());
    assert_eq!(answer.0, 201, "{answer:?}");
    let mut client = connect(listen.parse().unwrap());
    let ended = client.read(&mut [0]);
    assert!(!ended.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "it stays open: {ended:?}");
    let stats = proxy.stats();
    assert_eq!((&stats["accepted"], &stats["failed"]), (&json!(1), &json!(1)), "{stats}");
}
