//! The API matches Toxiproxy's, and withstands any input.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::support::*;

fn error(answer: &(u16, Value)) -> (u16, u64, &str) {
    (answer.0, answer.1["status"].as_u64().unwrap_or(0), answer.1["error"].as_str().unwrap_or(""))
}

#[test]
fn proxies_are_created_shown_changed_and_deleted_with_toxiproxys_statuses() {
    let proxy = Proxy::start(&[]);
    let request = r#"{"name":"a","listen":"127.0.0.1:0","upstream":"127.0.0.1:1"}"#;
    let (status, made) = proxy.call("POST", "/proxies", request);
    assert_eq!(status, 201);
    assert_ne!(made["listen"], "127.0.0.1:0", "the port is resolved");
    let shown = json!({"name":"a","listen":made["listen"],"upstream":"127.0.0.1:1","enabled":true,"toxics":[]});
    assert_eq!(made, shown);
    assert_eq!(proxy.call("GET", "/proxies/a", ""), (200, shown.clone()));
    assert_eq!(proxy.call("GET", "/proxies", ""), (200, json!({ "a": shown })));
    assert_eq!(error(&proxy.call("POST", "/proxies", request)), (409, 409, "proxy already exists"));
    assert_eq!(error(&proxy.call("POST", "/proxies", r#"{"name":"b"}"#)).0, 400);
    assert_eq!(error(&proxy.call("POST", "/proxies", r#"{"upstream":"b"}"#)).2, "missing required field: name");
    assert_eq!(error(&proxy.call("GET", "/proxies/b", "")), (404, 404, "proxy not found"));
    for method in ["POST", "PATCH"] {
        let (status, changed) = proxy.call(method, "/proxies/a", r#"{"enabled":false}"#);
        assert_eq!((status, &changed["enabled"], &changed["listen"]), (200, &json!(false), &made["listen"]));
        let (status, changed) = proxy.call(method, "/proxies/a", r#"{"enabled":true,"upstream":"127.0.0.1:2"}"#);
        assert_eq!((status, &changed["enabled"], &changed["upstream"]), (200, &json!(true), &json!("127.0.0.1:2")));
    }
    assert_eq!(proxy.call("PATCH", "/proxies/b", "{}").0, 404);
    assert_eq!(proxy.call("DELETE", "/proxies/a", "").0, 204);
    assert_eq!(proxy.call("DELETE", "/proxies/a", "").0, 404);
    assert_eq!(proxy.call("GET", "/nowhere", "").0, 404);
    assert_eq!(proxy.call("DELETE", "/version", "").0, 405);
    assert!(proxy.call("GET", "/version", "").1["version"].as_str().unwrap().starts_with("2."));
}

#[test]
fn toxics_have_toxiproxys_names_defaults_and_statuses() {
    let proxy = Proxy::start(&[]);
    proxy.link("127.0.0.1:1".parse().unwrap());
    let at = "/proxies/link/toxics";
    let latency = json!({"name":"latency_downstream","type":"latency","stream":"downstream","toxicity":1.0,
        "attributes":{"latency":0,"jitter":0}});
    assert_eq!(proxy.call("POST", at, r#"{"type":"latency"}"#), (200, latency.clone()));
    assert_eq!(error(&proxy.call("POST", at, r#"{"type":"latency"}"#)), (409, 409, "toxic already exists"));
    assert_eq!(proxy.call("GET", at, ""), (200, json!([latency])));
    let change = r#"{"toxicity":0.5,"attributes":{"jitter":7}}"#;
    let (status, changed) = proxy.call("POST", &format!("{at}/latency_downstream"), change);
    assert_eq!((status, &changed["toxicity"]), (200, &json!(0.5)));
    assert_eq!(changed["attributes"], json!({"latency":0,"jitter":7}));
    assert_eq!(proxy.call("GET", &format!("{at}/latency_downstream"), ""), (200, changed));
    for (kind, attributes) in [
        ("bandwidth", json!({"rate":1})),
        ("slow_close", json!({"delay":1})),
        ("timeout", json!({"timeout":1})),
        ("reset_peer", json!({"timeout":1})),
        ("slicer", json!({"average_size":9,"size_variation":1,"delay":2})),
        ("limit_data", json!({"bytes":1})),
        ("hold", json!({})),
        ("plain_greeting", json!({})),
        ("await_upstream", json!({"timeout":1})),
    ] {
        let request = json!({"name":format!("my {kind}"),"type":kind,"stream":"upstream","attributes":attributes});
        let (status, made) = proxy.call("POST", at, &request.to_string());
        assert_eq!((status, &made["attributes"]), (200, &attributes), "{made}");
        assert_eq!(proxy.call("DELETE", &format!("{at}/my%20{kind}"), "").0, 204);
    }
    assert_eq!(error(&proxy.call("DELETE", &format!("{at}/none"), "")), (404, 404, "toxic not found"));
    assert_eq!(proxy.call("GET", &format!("{at}/none"), "").0, 404);
    assert_eq!(proxy.call("POST", "/proxies/none/toxics", "{}").0, 404);
    assert_eq!(proxy.call("POST", "/reset", "").0, 204);
    assert_eq!(proxy.call("GET", at, ""), (200, json!([])));
}

#[test]
fn what_makes_no_sense_is_refused_with_400_and_changes_nothing() {
    let proxy = Proxy::start(&[]);
    proxy.link("127.0.0.1:1".parse().unwrap());
    for request in [
        r#"{"type":"unknown"}"#,
        r#"{}"#,
        r#"{"type":"latency","stream":"sideways"}"#,
        r#"{"type":"latency","attributes":{"latency":1.5}}"#,
        r#"{"type":"latency","attributes":{"latency":"1"}}"#,
        r#"{"type":"latency","attributes":{"latency":18446744073709551615}}"#,
        r#"{"type":"latency","attributes":[]}"#,
        r#"{"type":"latency","toxicity":"all"}"#,
        r#"{"type":"latency","toxicity":1e300}"#,
        "",
        "null",
        "[]",
        "{\"type\":",
    ] {
        let answer = proxy.call("POST", "/proxies/link/toxics", request);
        assert_eq!((answer.0, error(&answer).1), (400, 400), "{request}: {answer:?}");
    }
    assert_eq!(proxy.call("GET", "/proxies/link/toxics", "").1, json!([]));
    assert_eq!(proxy.call("PATCH", "/proxies/link", r#"{"enabled":"no"}"#).0, 400);
    let long = json!({"name":"x".repeat(300),"upstream":"a"});
    assert_eq!(proxy.call("POST", "/proxies", &long.to_string()).0, 400);
    assert_eq!(proxy.call("POST", "/populate", r#"{"name":"x"}"#).0, 400);
}

#[test]
fn numbers_without_a_meaning_are_stored_as_they_are_and_do_no_harm() {
    let proxy = Proxy::start(&[]);
    let address = proxy.link(echo().0);
    let at = "/proxies/link/toxics";
    for (number, request) in [
        r#"{"type":"latency","attributes":{"latency":-1,"jitter":-9223372036854775808}}"#,
        r#"{"type":"slicer","attributes":{"average_size":0,"size_variation":-1,"delay":-1}}"#,
        r#"{"type":"slow_close","attributes":{"delay":-5},"toxicity":1.5}"#,
        r#"{"type":"bandwidth","attributes":{"rate":-1},"toxicity":-0.5}"#,
        r#"{"type":"limit_data","attributes":{"bytes":9223372036854775807}}"#,
        r#"{"type":"noop"}"#,
    ]
    .into_iter()
    .enumerate()
    {
        let wanted: Value = serde_json::from_str(request).unwrap();
        let mut named = wanted.clone();
        named["name"] = format!("t{number}").into();
        let (status, made) = proxy.call("POST", at, &named.to_string());
        assert_eq!(status, 200, "{made}");
        for (name, value) in wanted.as_object().unwrap() {
            assert_eq!(made[name], *value, "{made}");
        }
    }
    let mut stream = connect(address);
    echoes(&mut stream, b"through");
}

#[test]
fn null_is_the_default_everywhere_and_what_is_unknown_is_ignored() {
    let proxy = Proxy::start(&[]);
    let request = r#"{"name":"a","listen":null,"upstream":"127.0.0.1:1","enabled":null,"toxics":null,"extra":1}"#;
    let (status, made) = proxy.call("POST", "/proxies", request);
    assert_eq!((status, &made["enabled"]), (201, &json!(true)), "{made}");
    for (name, wrong) in [("name", r#"{"name":null,"upstream":"b"}"#), ("upstream", r#"{"name":"b","upstream":null}"#)]
    {
        assert_eq!(error(&proxy.call("POST", "/proxies", wrong)).2, format!("missing required field: {name}"));
    }
    assert_eq!(error(&proxy.call("POST", "/proxies", "null")).2, "missing required field: name");
    for change in ["null", "{}", r#"{"listen":null,"upstream":null,"enabled":null,"extra":[]}"#] {
        assert_eq!(proxy.call("POST", "/proxies/a", change), (200, made.clone()), "{change}");
    }
    let populated = proxy.call("POST", "/populate", r#"[{"name":"b","upstream":"127.0.0.1:1","enabled":null}]"#);
    assert_eq!((populated.0, &populated.1["proxies"][0]["enabled"]), (201, &json!(true)));
    assert_eq!(proxy.call("POST", "/populate", "null"), (201, json!({"proxies":null})));

    let at = "/proxies/a/toxics";
    let request = r#"{"type":"latency","name":null,"stream":null,"toxicity":null,"attributes":null,"extra":{}}"#;
    let latency = json!({"name":"latency_downstream","type":"latency","stream":"downstream","toxicity":1.0,
        "attributes":{"latency":0,"jitter":0}});
    assert_eq!(proxy.call("POST", at, request), (200, latency));
    let of = format!("{at}/latency_downstream");
    let changed = |body: &str| proxy.call("POST", &of, body).1["attributes"].clone();
    assert_eq!(changed(r#"{"attributes":{"latency":9,"jitter":null,"latenzy":"x"}}"#), json!({"latency":9,"jitter":0}));
    assert_eq!(changed(r#"{"attributes":{"latency":null}}"#), json!({"latency":9,"jitter":0}));
    for unchanged in ["null", r#"{"attributes":null,"toxicity":null}"#] {
        assert_eq!(changed(unchanged), json!({"latency":9,"jitter":0}), "{unchanged}");
    }
    assert_eq!(changed(r#"{"Attributes":{"LATENCY":8}}"#), json!({"latency":8,"jitter":0}), "names in any case");
    let none = proxy.call("POST", at, r#"{"Type":"bandwidth","attributes":{"rate":null,"burst":1}}"#);
    assert_eq!((none.0, &none.1["attributes"]), (200, &json!({"rate":0})));
}

#[test]
fn populate_creates_keeps_and_replaces_and_takes_nothing_half() {
    let proxy = Proxy::start(&[]);
    let both = r#"[{"name":"a","upstream":"127.0.0.1:1"},{"name":"b","upstream":"127.0.0.1:1","enabled":false}]"#;
    let (status, made) = proxy.call("POST", "/populate", both);
    assert_eq!(status, 201);
    let listen = made["proxies"][0]["listen"].as_str().unwrap();
    assert!(listen.starts_with("127.0.0.1:"), "nothing listens to other machines unless told to: {listen}");
    assert_eq!((&made["proxies"][0]["enabled"], &made["proxies"][1]["enabled"]), (&json!(true), &json!(false)));
    proxy.call("POST", "/proxies/a/toxics", r#"{"type":"hold"}"#);
    let same = json!([{"name":"a","listen":listen,"upstream":"127.0.0.1:1"}]);
    let (_, kept) = proxy.call("POST", "/populate", &same.to_string());
    assert_eq!(kept["proxies"][0]["toxics"].as_array().unwrap().len(), 1);
    let moved = json!([{"name":"a","listen":listen,"upstream":"127.0.0.1:2"}]);
    let (status, replaced) = proxy.call("POST", "/populate", &moved.to_string());
    assert_eq!((status, &replaced["proxies"][0]["toxics"]), (201, &json!([])));
    let bad = r#"[{"name":"c","upstream":"127.0.0.1:1"},{"name":"d"}]"#;
    assert_eq!(error(&proxy.call("POST", "/populate", bad)).2, "missing required field: upstream at proxy 2");
    assert_eq!(proxy.call("GET", "/proxies/c", "").0, 404);
}

#[test]
fn a_taken_port_is_an_error_that_names_it() {
    let proxy = Proxy::start(&[]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let request = json!({"name":"a","listen":address,"upstream":"127.0.0.1:1"});
    let answer = proxy.call("POST", "/proxies", &request.to_string());
    assert_eq!(answer.0, 500);
    assert!(error(&answer).2.contains(&address), "{answer:?}");
    assert_eq!(proxy.call("GET", "/proxies/a", "").0, 404);
    let (banner, _) = server(|mut stream| {
        let _ = stream.read(&mut [0; 512]);
        let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n");
    });
    for (address, told) in [
        (address, "another program has that address"),
        (banner.to_string(), "another program listens there, which answers \"SSH-2.0-OpenSSH_9.2\""),
        (proxy.api.to_string(), "a Toxiproxy 2."),
        ("192.0.2.1:8474".to_owned(), "this machine has no such address"),
    ] {
        let started = Command::new(EXE).args(["proxy", "--listen", &address]).output().unwrap();
        let text = String::from_utf8_lossy(&started.stderr).into_owned();
        assert_eq!(started.status.code(), Some(4));
        for told in [address.as_str(), "--listen", told] {
            assert!(text.contains(told), "{told} is not in: {text}");
        }
    }
}

#[test]
fn garbage_never_kills_the_api() {
    let proxy = Proxy::start(&[]);
    proxy.link("127.0.0.1:1".parse().unwrap());
    let deep = "[".repeat(100_000);
    let deep =
        format!("POST /populate HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n{deep}");
    let garbage: [&[u8]; 7] = [
        b"\x00\xff\xfe\x16\x03\x01 \r\n\r\n",
        b"GET",
        b"GET /proxies/%ff%00/toxics/%c3%28 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"POST /proxies HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n\r\n\xff\xfe\x00\x01",
        b"POST /proxies HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n{}",
        b"DELETE /proxies/../../etc HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        deep.as_bytes(),
    ];
    for bytes in garbage {
        let mut bytes = bytes.to_vec();
        if bytes == b"GET" {
            // An unfinished request gets no answer; its end ends the connection.
            drop(std::net::TcpStream::connect(proxy.api).unwrap());
            bytes.extend(b"\r\n\r\n");
        }
        raw(proxy.api, &bytes);
        assert_eq!(proxy.call("GET", "/version", "").0, 200, "after {:?}", String::from_utf8_lossy(&bytes).get(..40));
    }
    assert_eq!(proxy.call("GET", "/proxies/link", "").0, 200);
}

#[test]
fn a_name_that_is_no_utf8_is_answered_like_an_unknown_name() {
    let proxy = Proxy::start(&[]);
    proxy.link("127.0.0.1:1".parse().unwrap());
    for (methods, path, told) in [
        ("GET POST PATCH DELETE", "/proxies/%FF", "proxy not found"),
        ("GET", "/proxies/%FF/stats", "proxy not found"),
        ("POST", "/proxies/%FF/disconnect", "proxy not found"),
        ("GET POST", "/proxies/%FF/toxics", "proxy not found"),
        ("GET POST PATCH DELETE", "/proxies/%FF/toxics/x", "proxy not found"),
        ("GET POST PATCH DELETE", "/proxies/link/toxics/%C3%28", "toxic not found"),
    ] {
        for method in methods.split(' ') {
            let answer = proxy.call(method, path, "{}");
            assert_eq!(error(&answer), (404, 404, told), "{method} {path}: {answer:?}");
        }
    }
}

#[test]
fn a_browser_may_not_use_the_api() {
    let proxy = Proxy::start(&[]);
    let request = "POST /reset HTTP/1.1\r\nHost: x\r\nUser-Agent: Mozilla/5.0\r\nConnection: close\r\n\r\n";
    assert!(raw(proxy.api, request.as_bytes()).contains("403"));
}

#[test]
fn disabling_closes_connections_and_port_and_enabling_opens_the_same_port() {
    let proxy = Proxy::start(&[]);
    let address = proxy.link(echo().0);
    let mut stream = connect(address);
    echoes(&mut stream, b"a");
    assert_eq!(proxy.call("POST", "/proxies/link", r#"{"enabled":false}"#).0, 200);
    assert!(matches!(std::io::Read::read(&mut stream, &mut [0]), Ok(0) | Err(_)));
    assert!(std::net::TcpStream::connect(address).is_err());
    let (status, shown) = proxy.call("POST", "/proxies/link", r#"{"enabled":true}"#);
    assert_eq!((status, shown["listen"].as_str().unwrap()), (200, address.to_string().as_str()));
    connect(address);
}

#[test]
fn the_help_shows_examples() {
    let help = Command::new(EXE).args(["proxy", "--help"]).output().unwrap();
    let text = String::from_utf8(help.stdout).unwrap();
    assert!(text.contains("Examples:") && text.contains("hold") && !text.contains("--lie"), "{text}");
}

#[test]
fn a_populate_beyond_the_limit_changes_nothing() {
    let proxy = Proxy::start(&[]);
    proxy.link("127.0.0.1:1".parse().unwrap());
    let before = proxy.call("GET", "/proxies", "");
    let many: Vec<Value> = (0..10_000)
        .map(|n| json!({"name": format!("p{n}"), "listen": "127.0.0.1:0", "upstream": "127.0.0.1:1", "enabled": false}))
        .collect();
    let answer = proxy.call("POST", "/populate", &Value::from(many.clone()).to_string());
    assert!(error(&answer).0 >= 400 && error(&answer).2.contains("10000"), "{answer:?}");
    assert_eq!(proxy.call("GET", "/proxies", ""), before);
    assert_eq!(proxy.call("POST", "/populate", &Value::from(many[1..].to_vec()).to_string()).0, 201, "as many as fit");
}

#[test]
fn a_body_that_is_too_large_is_told_so_and_the_proxy_lives_on() {
    let proxy = Proxy::start(&[]);
    let large = format!("[{}]", " ".repeat(20 << 20));
    let answer = proxy.call("POST", "/populate", &large);
    assert_eq!((error(&answer).0, error(&answer).1), (413, 413), "{answer:?}");
    assert_eq!(proxy.call("GET", "/version", "").0, 200);
}

#[test]
fn requests_that_are_sent_by_halves_end_and_who_speaks_meanwhile_is_heard() {
    let proxy = Proxy::start(&[]);
    let halves = ["", "POST /prox", "POST /populate HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n[{"];
    let mut open: Vec<TcpStream> = halves.map(|half| half_sent(proxy.api, half)).into();
    assert_eq!(proxy.call("GET", "/version", "").0, 200);
    // Each gets an answer, or its connection is closed.
    for stream in &mut open {
        stream.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
        let mut said = String::new();
        let ended = stream.read_to_string(&mut said);
        assert!(ended.is_ok() || ended.is_err_and(|e| e.kind() != ErrorKind::WouldBlock), "it is still open: {said}");
    }
    assert_eq!(proxy.call("GET", "/version", "").0, 200);
}

#[test]
fn many_connections_to_the_api_leave_links_their_descriptors() {
    let proxy = Proxy::start(&[]);
    let link = proxy.link(echo().0);
    let idle: Vec<TcpStream> = (0..2_000).filter_map(|_| TcpStream::connect(proxy.api).ok()).collect();
    assert!(idle.len() > 1_000, "{}", idle.len());
    let open = std::fs::read_dir(format!("/proc/{}/fd", proxy.pid())).unwrap().count();
    assert!(open < 600, "{open} descriptors are open");
    let mut client = connect(link);
    echoes(&mut client, b"still there?");
    drop(idle);
    until("the API answers again", || proxy.call("GET", "/version", "").0 == 200);
}

#[test]
fn idle_connections_keep_no_new_request_waiting() {
    let proxy = Proxy::start(&[]);
    // Never used, half sent, and answered.
    let begun = [
        "",
        "POST /prox",
        "POST /populate HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n[{",
        "GET /version HTTP/1.1\r\nhost: x\r\n\r\n",
    ];
    let idle: Vec<TcpStream> = begun.iter().cycle().take(400).map(|begun| half_sent(proxy.api, begun)).collect();
    let started = Instant::now();
    for _ in 0..10 {
        assert_eq!(proxy.call("GET", "/version", "").0, 200);
    }
    // Less than it takes until a half-sent request ends by itself.
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    drop(idle);
}

fn half_sent(api: SocketAddr, half: &str) -> TcpStream {
    let mut stream = TcpStream::connect(api).unwrap();
    stream.write_all(half.as_bytes()).unwrap();
    stream
}
