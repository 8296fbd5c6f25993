//! Every operation, well formed and not, and every four-letter word. An embedded server and a real one of the same
//! release give the same answers, and both keep or close the connection. Differences are listed with reasons.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use hustings::wire::connect::{read_connected, write_connect};
use hustings::wire::stream::read_frame;
use hustings_workloads::model::Connect;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::real_support::on_real_and_embedded;

const WITHIN: Duration = Duration::from_secs(20);
const PING: i32 = -2;
const OWN: i32 = 1;

/// Operations with deviating answers, and the reasons.
const OTHERWISE: &[(&str, &str)] = &[
    ("operation 9 of no path", "a path that is not there is told back as one of no length"),
    ("operation 106 of no path", "a watch on a path that is not there is refused"),
    ("a transaction that makes a ttl", "it is refused as a whole, with the code of its step"),
    ("a transaction that makes no kind of znode", "it is refused as a whole, with the code of its step"),
    ("a transaction that checks a path that is not there", "its refusal has no list of steps behind it"),
];

/// Words with deviating answers, and the reasons.
const WORDS_OTHERWISE: &[(&str, &str)] = &[
    ("conf", "there are no folders for data"),
    ("dirs", "there are no folders for data"),
    ("dump", "sessions are listed as servers of an ensemble list them, without the times at which they would expire"),
    ("envi", "there is no Java"),
    ("gtmk", "there are no trace masks"),
    ("mntr", "figures of Java and of threads are left out; how many connections and paths have watches is told here"),
];

/// The result of a request: the error's number and the rest of the answer, or the end of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reply {
    Answer { xid: i32, error: i32, body: Vec<u8> },
    Closed,
}

async fn open(server: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(server).await.expect("connected");
    stream.write_all(&write_connect(&Connect { timeout_ms: 10_000, ..Connect::default() })).await.expect("sent");
    read_connected(&read_frame(&mut stream).await.expect("an answer")).expect("an answer");
    stream
}

fn framed(xid: i32, op: i32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(8 + body.len()).expect("short");
    [&length.to_be_bytes()[..], &xid.to_be_bytes(), &op.to_be_bytes(), body].concat()
}

/// All results before the answer to a later ping, on a separate session.
async fn ask(server: SocketAddr, xid: i32, op: i32, body: &[u8]) -> Vec<Reply> {
    let mut stream = open(server).await;
    let mut heard = Vec::new();
    let _ = stream.write_all(&framed(xid, op, body)).await;
    let _ = stream.write_all(&framed(PING, 11, &[])).await;
    loop {
        let Ok(message) = timeout(WITHIN, read_frame(&mut stream)).await.expect("an answer or an end in time") else {
            heard.push(Reply::Closed);
            return heard;
        };
        let number = |at: usize| i32::from_be_bytes(message[at..at + 4].try_into().expect("four bytes"));
        if number(0) == PING && (op != 11 || !heard.is_empty()) {
            if refused(&heard) && closes(&mut stream).await {
                heard.push(Reply::Closed);
            }
            return heard;
        }
        heard.push(Reply::Answer { xid: number(0), error: number(12), body: message[16..].to_vec() });
    }
}

/// The rejection of an unknown operation ends the connection after its answer; a ping may be answered before that.
fn refused(heard: &[Reply]) -> bool {
    matches!(heard, [Reply::Answer { error: -6, .. }])
}

async fn closes(stream: &mut TcpStream) -> bool {
    timeout(Duration::from_millis(300), read_frame(stream)).await.is_ok_and(|read| read.is_err())
}

fn text(text: &str) -> Vec<u8> {
    [&u32::try_from(text.len()).expect("short").to_be_bytes()[..], text.as_bytes()].concat()
}

fn open_acl() -> Vec<u8> {
    [&1_i32.to_be_bytes()[..], &31_i32.to_be_bytes(), &text("world"), &text("anyone")].concat()
}

/// Requests by name. Each is sent on its own session, in this order.
fn requests() -> Vec<(String, i32, i32, Vec<u8>)> {
    let mut all: Vec<(String, i32, i32, Vec<u8>)> = Vec::new();
    let mut add = |name: &str, op: i32, parts: &[&[u8]]| all.push((name.to_owned(), OWN, op, parts.concat()));
    for op in -15..=115 {
        add(&format!("operation {op} without anything"), op, &[]);
    }
    let (int, long) = (|number: i32| number.to_be_bytes(), |number: i64| number.to_be_bytes());
    let nothing = text("");
    let acl = open_acl();
    add("whoAmI", 107, &[]);
    for (name, joining, leaving, members) in [
        ("reconfig of nothing", "", "", ""),
        ("reconfig that adds", "server.9=127.0.0.1:1:2;3", "", ""),
        ("reconfig that removes", "", "1", ""),
        ("reconfig of all", "", "", "server.1=127.0.0.1:1:2;3"),
    ] {
        add(name, 16, &[&text(joining), &text(leaving), &text(members), &long(-1)]);
    }
    for (flags, ttl) in [(5, 1_000), (6, 1_000), (5, 0), (5, -1), (5, i64::MAX), (0, 1_000), (4, 1_000), (7, 1_000)] {
        add(
            &format!("create with ttl, flags {flags}, ttl {ttl}"),
            21,
            &[&text("/ttl"), &nothing, &acl, &int(flags), &long(ttl)],
        );
    }
    for flags in -1..=9 {
        let name = format!("/flags{flags}");
        add(&format!("create with flags {flags}"), 1, &[&text(&name), &nothing, &acl, &int(flags)]);
        add(&format!("create2 with flags {flags}"), 15, &[&text(&format!("{name}-2")), &nothing, &acl, &int(flags)]);
        add(
            &format!("create container with flags {flags}"),
            19,
            &[&text(&format!("{name}-c")), &nothing, &acl, &int(flags)],
        );
    }
    for at in ["/zookeeper", "/zookeeper/config", "/zookeeper/quota", "/zookeeper/new"] {
        add(&format!("exists {at}"), 3, &[&text(at), &[0]]);
        add(&format!("children of {at}"), 8, &[&text(at), &[0]]);
        add(&format!("set {at}"), 5, &[&text(at), &text("x"), &int(-1)]);
        add(&format!("create {at}"), 1, &[&text(at), &text("x"), &acl, &int(0)]);
        add(&format!("delete {at}"), 2, &[&text(at), &int(-1)]);
        add(&format!("set the list of rights of {at}"), 7, &[&text(at), &acl, &int(-1)]);
    }
    add("create below quota", 1, &[&text("/zookeeper/quota/a"), &nothing, &acl, &int(0)]);
    add("delete below quota", 2, &[&text("/zookeeper/quota/a"), &int(-1)]);
    for mode in [-1, 0, 1, 2] {
        add(&format!("watch added in mode {mode}"), 106, &[&text("/"), &int(mode)]);
        add(&format!("watch added in mode {mode} where nothing is"), 106, &[&text("/none"), &int(mode)]);
    }
    for kind in 0..=6 {
        add(&format!("watches of type {kind} checked"), 17, &[&text("/"), &int(kind)]);
        add(&format!("watches of type {kind} removed"), 18, &[&text("/"), &int(kind)]);
    }
    add("sasl", 102, &[&text("token")]);
    add("check alone", 13, &[&text("/"), &int(-1)]);
    add("a transaction that never ends", 14, &[&int(13), &[0], &int(-1), &text("/"), &int(-1)]);
    let end = [&int(-1)[..], &[1], &int(-1)].concat();
    for (name, op, flags, ttl) in
        [("a ttl", 21, 5, Some(1_000)), ("no kind of znode", 1, 9, None), ("a container", 19, 4, None)]
    {
        let ttl = ttl.map_or(Vec::new(), |ttl| long(ttl).to_vec());
        let made = [&text("/in-a-transaction")[..], &nothing, &acl, &int(flags), &ttl].concat();
        add(&format!("a transaction that makes {name}"), 14, &[&int(op), &[0], &int(-1), &made, &end]);
    }
    add(
        "a transaction that checks a path that is not there",
        14,
        &[&int(13), &[0], &int(-1), &int(-1), &int(-1), &end],
    );
    add("a transaction of an unknown step", 14, &[&int(77), &[0], &int(-1)]);
    add("exists with a path that is longer than the message", 3, &[&int(1_000), b"/"]);
    add("exists with a path of negative length", 3, &[&int(-1), &[0]]);
    let none = int(-1);
    for op in [3, 4, 8, 12] {
        add(&format!("operation {op} of no path"), op, &[&none, &[0]]);
    }
    for op in [6, 9, 103, 104] {
        add(&format!("operation {op} of no path"), op, &[&none]);
    }
    for op in [1, 15, 19] {
        add(&format!("operation {op} of no path"), op, &[&none, &nothing, &acl, &int(0)]);
    }
    for op in [2, 13, 17, 18, 106] {
        add(&format!("operation {op} of no path"), op, &[&none, &int(1)]);
    }
    add("operation 5 of no path", 5, &[&none, &nothing, &int(-1)]);
    add("operation 7 of no path", 7, &[&none, &acl, &int(-1)]);
    add("exists with bytes behind it", 3, &[&text("/"), &[0], b"behind"]);
    add("set without data", 5, &[&text("/none"), &int(-1), &int(-1)]);
    for xid in [0, -1, -2, -4, -8, i32::MIN] {
        all.push((format!("exists under number {xid}"), xid, 3, [&text("/")[..], &[0]].concat()));
    }
    all
}

/// Answers whose bytes differ between any two servers are compared only by kind.
fn plain(name: &str, heard: Vec<Reply>) -> Vec<Reply> {
    let timed = ["exists", "create2", "create with ttl", "set ", "children", "get"]
        .iter()
        .any(|begins| name.starts_with(begins));
    let plain = |one| match one {
        Reply::Answer { xid, error, body } if timed || body.len() > 60 => {
            Reply::Answer { xid, error, body: vec![0; usize::from(!body.is_empty())] }
        }
        other => other,
    };
    heard.into_iter().map(plain).collect()
}

#[test]
fn every_operation_is_answered_alike_and_keeps_or_closes_the_connection_alike() {
    on_real_and_embedded(async |real, embedded| {
        let mut differ = BTreeMap::new();
        let requests = requests();
        for (name, xid, op, body) in &requests {
            let (wanted, found) = (ask(real, *xid, *op, body).await, ask(embedded, *xid, *op, body).await);
            let (wanted, found) = (plain(name, wanted), plain(name, found));
            if wanted != found {
                differ.insert(name.clone(), format!("real: {wanted:?}\n    embedded: {found:?}"));
            }
        }
        println!("{} requests compared", requests.len());
        listed(differ, OTHERWISE);
    });
}

/// Only listed answers differ, and all listed ones do differ.
fn listed(differ: BTreeMap<String, String>, listed: &[(&str, &str)]) {
    let known: BTreeSet<&str> = listed.iter().map(|one| one.0).collect();
    let unknown = differ.iter().filter(|(name, _)| !known.contains(name.as_str()));
    let unknown: Vec<String> = unknown.map(|(name, how)| format!("{name}\n    {how}")).collect();
    assert!(unknown.is_empty(), "{} differ:\n{}", unknown.len(), unknown.join("\n"));
    let gone: Vec<&&str> = known.iter().filter(|name| !differ.contains_key(**name)).collect();
    assert!(gone.is_empty(), "listed, and the same: {gone:?}");
}

#[test]
fn passwords_that_are_not_the_session_s_are_refused_alike() {
    on_real_and_embedded(async |real, embedded| {
        let mut differ = BTreeMap::new();
        for length in [0_usize, 1, 8, 15, 16, 17, 32] {
            for known in [false, true] {
                let (wanted, found) = (resumed(real, length, known).await, resumed(embedded, length, known).await);
                if wanted != found {
                    differ.insert(
                        format!("{length} bytes, known: {known}"),
                        format!("real: {wanted}, embedded: {found}"),
                    );
                }
            }
        }
        listed(differ, &[]);
    });
}

/// Whether a session is resumed with a wrong password of this many bytes.
async fn resumed(server: SocketAddr, length: usize, known: bool) -> String {
    let mut stream = TcpStream::connect(server).await.expect("connected");
    stream.write_all(&write_connect(&Connect { timeout_ms: 10_000, ..Connect::default() })).await.expect("sent");
    let own = read_connected(&read_frame(&mut stream).await.expect("an answer")).expect("an answer");
    let session = if known { own.session } else { 0x7777 };
    let mut again = TcpStream::connect(server).await.expect("connected");
    let body =
        [&0_i32.to_be_bytes()[..], &0_i64.to_be_bytes(), &10_000_i32.to_be_bytes(), &session.to_be_bytes()].concat();
    let password = [&u32::try_from(length).expect("short").to_be_bytes()[..], &vec![7; length], &[0]].concat();
    let frame = [body, password].concat();
    let length = u32::try_from(frame.len()).expect("short").to_be_bytes();
    again.write_all(&[&length[..], &frame].concat()).await.expect("sent");
    match timeout(WITHIN, read_frame(&mut again)).await.expect("in time") {
        Ok(answer) => read_connected(&answer).map_or("nonsense".to_owned(), |granted| {
            let ended = if granted.timeout_ms > 0 { "granted" } else { "ended" };
            format!("{ended}, password of {} bytes", granted.password.len())
        }),
        Err(_) => "closed".to_owned(),
    }
}

async fn word(server: SocketAddr, word: &str) -> String {
    let mut stream = TcpStream::connect(server).await.expect("connected");
    stream.write_all(word.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    let _ = timeout(WITHIN, stream.read_to_end(&mut answer)).await.expect("an end in time");
    String::from_utf8_lossy(&answer).into_owned()
}

/// The subject of each line: the text before its first digit, or before the separator between name and value.
fn shape(answer: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let end = line.find(|c: char| c.is_ascii_digit() || "=\t:".contains(c)).unwrap_or(line.len());
        line[..end].trim().to_owned()
    };
    answer.lines().map(name).collect()
}

#[test]
fn every_four_letter_word_is_answered_alike() {
    on_real_and_embedded(async |real, embedded| {
        let mut differ = BTreeMap::new();
        for asked in [
            "conf", "cons", "crst", "dirs", "dump", "envi", "gtmk", "hash", "isro", "mntr", "reqs", "ruok", "srst",
            "srvr", "stat", "stmk", "wchc", "wchp", "wchs", "lsnp", "icfg", "orst", "obsr", "sysp", "xxxx", "RUOK",
        ] {
            let (wanted, found) = (shape(&word(real, asked).await), shape(&word(embedded, asked).await));
            if wanted != found {
                let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
                    one.difference(other).cloned().collect::<Vec<_>>().join(", ")
                };
                let (real, embedded) = (only(&wanted, &found), only(&found, &wanted));
                differ.insert(asked.to_owned(), format!("real alone: {real}\n    embedded alone: {embedded}"));
            }
        }
        listed(differ, WORDS_OTHERWISE);
    });
}
