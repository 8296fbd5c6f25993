//! A real server and an embedded one give the same answers to the same requests on the wire.

use std::net::SocketAddr;
use std::time::Duration;

use hustings::wire::auth::digest;
use hustings::wire::client::{SessionEvent, code, read_response, read_session_event, write_ping, write_request};
use hustings::wire::connect::{read_connected, write_connect};
use hustings::wire::op_code;
use hustings::wire::stream::read_frame;
use hustings_workloads::model::{
    Acl, Code, Connect, ConnectResponse, CreateKind, Event, Read, Request, Response, Stat, TransactionStep,
    WatcherType, Watches, ZnodeLifetime, Zxid,
};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::real_support::on_real_and_embedded;

/// A server that is silent for this long will not answer.
const WITHIN: Duration = Duration::from_secs(30);
/// The number of every ping, and of its answer.
const PING: i32 = -2;
/// The number of every malformed request.
const UNKNOWN: i32 = 77;

/// A message from a server, without the parts that differ between any two servers.
#[derive(Clone, Debug, PartialEq)]
enum ServerMessage {
    Answer { xid: i32, since: Zxid, result: Result<Response, i32> },
    Told(Event),
    Ended,
}

#[test]
fn embedded_and_real_servers_answer_alike() {
    on_real_and_embedded(async |real, embedded| {
        let mut differences = Vec::new();
        let both = futures::future::join(transcript(real), transcript(embedded));
        let (wanted, found) = both.await;
        for ((asked, wanted), (_, found)) in wanted.iter().zip(&found) {
            if wanted != found {
                differences.push(format!("{asked}\n    real:     {wanted:?}\n    embedded: {found:?}"));
            }
        }
        println!("{} requests compared", wanted.len());
        assert_eq!(wanted.len(), found.len());
        assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
    });
}

/// A server's answers to each of the requests.
async fn transcript(server: SocketAddr) -> Vec<(String, Vec<ServerMessage>)> {
    let (mut stream, granted) = open(server, &Connect { timeout_ms: 10_000, ..Connect::default() }).await;
    let ConnectResponse { session, password, timeout_ms } = granted;
    let again = Connect { session, password, timeout_ms, ..Connect::default() };
    let mut base = None;
    let mut all = Vec::new();
    let requests = requests().into_iter().chain([frame(4_711), frame(op_code::EXISTS), Request::CloseSession.into()]);
    for (xid, asked) in (1..).zip(requests) {
        let bytes = match &asked {
            SentMessage::Request(request) => write_request(xid, request),
            SentMessage::Ping => write_ping(),
            SentMessage::Bytes(bytes) => bytes.clone(),
        };
        // Times have millisecond precision: successive requests must not fall into the same millisecond.
        sleep(Duration::from_millis(3)).await;
        stream.write_all(&bytes).await.expect("sent");
        let own = match asked {
            SentMessage::Request(_) => xid,
            SentMessage::Ping => PING,
            SentMessage::Bytes(_) => UNKNOWN,
        };
        let mut heard = Vec::new();
        let mut answered = false;
        loop {
            let Ok(message) = timeout(WITHIN, read_frame(&mut stream)).await else {
                panic!("{asked:?} was not answered; heard were {heard:?}");
            };
            let Ok(message) = message else {
                heard.push(ServerMessage::Ended);
                break;
            };
            heard.push(match read_session_event(&message).expect("a message") {
                // All results of the request arrive before the answer to the ping after it.
                SessionEvent::Reply { xid: PING, .. } if answered => break,
                SessionEvent::Event(event) => ServerMessage::Told(event),
                SessionEvent::Reply { xid, zxid, error, body } => {
                    answered |= xid == own;
                    let base = *base.get_or_insert(zxid);
                    let result = match (&asked, error) {
                        (SentMessage::Request(request), 0) => {
                            Ok(normal(read_response(request, body).expect("a body"), base, session))
                        }
                        (_, 0) => Ok(Response::Done),
                        (_, error) => Err(error),
                    };
                    ServerMessage::Answer { xid, since: zxid - base, result }
                }
            });
            if answered {
                // Where the server has closed the connection, the next read returns its end.
                let _ = stream.write_all(&write_ping()).await;
            }
        }
        if heard.contains(&ServerMessage::Ended) && !matches!(asked, SentMessage::Request(Request::CloseSession)) {
            stream = open(server, &again).await.0;
        }
        all.push((format!("{asked:?}"), heard));
    }
    all
}

async fn open(server: SocketAddr, ask: &Connect) -> (TcpStream, ConnectResponse) {
    let mut stream = TcpStream::connect(server).await.expect("connected");
    stream.write_all(&write_connect(ask)).await.expect("sent");
    let answer = read_frame(&mut stream).await.expect("an answer");
    (stream, read_connected(&answer).expect("an answer"))
}

#[derive(Debug)]
enum SentMessage {
    Request(Request),
    Ping,
    Bytes(Vec<u8>),
}

impl From<Request> for SentMessage {
    fn from(request: Request) -> Self {
        Self::Request(request)
    }
}

/// A request of this operation without its parameters.
fn frame(op: i32) -> SentMessage {
    SentMessage::Bytes([&8_u32.to_be_bytes()[..], &UNKNOWN.to_be_bytes(), &op.to_be_bytes()].concat())
}

fn normal(response: Response, base: Zxid, session: i64) -> Response {
    let stat = |stat: Stat| Stat {
        czxid: since(stat.czxid, base),
        mzxid: since(stat.mzxid, base),
        pzxid: since(stat.pzxid, base),
        ctime: 0,
        mtime: i64::from(stat.mtime == stat.ctime),
        ephemeral_owner: if stat.ephemeral_owner == session { 1 } else { stat.ephemeral_owner },
        ..stat
    };
    match response {
        Response::Created { path, stat: with } => Response::Created { path, stat: with.map(stat) },
        Response::Stat(with) => Response::Stat(stat(with)),
        Response::Data { data, stat: with } => Response::Data { data, stat: stat(with) },
        Response::Acl { acl, stat: with } => Response::Acl { acl, stat: stat(with) },
        Response::Children { names, stat: with } => Response::Children { names: sorted(names), stat: with.map(stat) },
        Response::Paths(paths) => Response::Paths(sorted(paths)),
        Response::Multi(steps) => Response::Multi(steps.into_iter().map(|step| normal(step, base, session)).collect()),
        Response::MultiRead(reads) => Response::MultiRead(
            reads.into_iter().map(|read| read.map(|response| normal(response, base, session))).collect(),
        ),
        other => other,
    }
}

/// The root's zxid is independent of the test's requests.
fn since(zxid: Zxid, base: Zxid) -> Zxid {
    if zxid == 0 { Zxid::MIN } else { zxid - base }
}

/// Servers list children unordered.
fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

fn create(path: &str, life: ZnodeLifetime, sequential: bool, with_stat: bool) -> SentMessage {
    let kind = CreateKind { life, sequential };
    Request::Create { path: path.into(), data: b"data".to_vec(), acl: Acl::open(), kind, with_stat }.into()
}

fn requests() -> Vec<SentMessage> {
    let mut all = trees();
    all.extend(watches());
    all.extend(transactions());
    all.extend(access());
    all
}

fn path(path: &str) -> String {
    path.to_owned()
}

fn trees() -> Vec<SentMessage> {
    let exists = |of: &str| Request::Exists { path: path(of), watch: false }.into();
    let delete = |of: &str, version| Request::Delete { path: path(of), version }.into();
    let set = |of: &str, data: &[u8], version| Request::SetData { path: path(of), data: data.to_vec(), version }.into();
    let children = |of: &str, with_stat| Request::GetChildren { path: path(of), watch: false, with_stat }.into();
    vec![
        exists("/"),
        create("/a", ZnodeLifetime::Persistent, false, false),
        create("/a", ZnodeLifetime::Persistent, false, true),
        create("/a/b", ZnodeLifetime::Ephemeral, false, true),
        create("/a/b/c", ZnodeLifetime::Persistent, false, false),
        create("/none/c", ZnodeLifetime::Persistent, false, false),
        create("/a/s-", ZnodeLifetime::Persistent, true, true),
        create("/a/s-", ZnodeLifetime::Ephemeral, true, false),
        create("/a/", ZnodeLifetime::Persistent, true, false),
        create("/a/", ZnodeLifetime::Persistent, false, false),
        create("relative", ZnodeLifetime::Persistent, false, false),
        create("/a//b", ZnodeLifetime::Persistent, false, false),
        create("/a/../b", ZnodeLifetime::Persistent, false, false),
        create("/a/\u{0}", ZnodeLifetime::Persistent, false, false),
        create("/", ZnodeLifetime::Persistent, false, false),
        create("/container", ZnodeLifetime::Container, false, true),
        create("/container/x", ZnodeLifetime::Persistent, false, false),
        exists("/container"),
        exists("/a"),
        exists("/a/b"),
        exists("/none"),
        SentMessage::Ping,
        Request::GetData { path: path("/a"), watch: false }.into(),
        Request::GetData { path: path("/none"), watch: false }.into(),
        set("/a", b"longer data", 0),
        set("/a", b"x", 0),
        set("/a", b"", -1),
        set("/none", b"", -1),
        exists("/a"),
        children("/a", false),
        children("/a", true),
        children("/none", false),
        children("/a/b", true),
        delete("/a", -1),
        delete("/none", -1),
        delete("/a/b", 3),
        delete("/a/b", 0),
        delete("/", -1),
        exists("/a"),
        Request::CountAllChildren { path: path("/a") }.into(),
        Request::CountAllChildren { path: path("/none") }.into(),
        Request::GetEphemerals { prefix: path("/a") }.into(),
        Request::GetEphemerals { prefix: path("/none") }.into(),
        Request::Sync { path: path("/a") }.into(),
    ]
}

fn watches() -> Vec<SentMessage> {
    let set = |of: &str| SentMessage::from(Request::SetData { path: path(of), data: vec![], version: -1 });
    let delete = |of: &str| SentMessage::from(Request::Delete { path: path(of), version: -1 });
    let remove = |of_path: &str, of, only_check| {
        SentMessage::from(Request::RemoveWatches { path: path(of_path), of, only_check })
    };
    let old = Watches {
        since: 0,
        data: vec![path("/w")],
        exist: vec![path("/w/later")],
        child: vec![path("/w"), path("/gone")],
        persistent: vec![],
        persistent_recursive: vec![],
    };
    vec![
        create("/w", ZnodeLifetime::Persistent, false, false),
        Request::Exists { path: path("/w"), watch: true }.into(),
        Request::GetData { path: path("/w"), watch: true }.into(),
        Request::GetChildren { path: path("/w"), watch: true, with_stat: false }.into(),
        Request::Exists { path: path("/w/new"), watch: true }.into(),
        remove("/w", WatcherType::Data, true),
        remove("/w", WatcherType::Children, true),
        remove("/none", WatcherType::Any, true),
        create("/w/new", ZnodeLifetime::Persistent, false, false),
        set("/w"),
        set("/w"),
        Request::Exists { path: path("/w/new"), watch: true }.into(),
        Request::GetChildren { path: path("/w/new"), watch: true, with_stat: true }.into(),
        delete("/w/new"),
        Request::GetData { path: path("/w"), watch: true }.into(),
        remove("/w", WatcherType::Data, false),
        remove("/w", WatcherType::Data, false),
        set("/w"),
        Request::AddWatch { path: path("/w"), recursive: true }.into(),
        create("/w/deep", ZnodeLifetime::Persistent, false, false),
        create("/w/deep/er", ZnodeLifetime::Persistent, false, false),
        set("/w/deep/er"),
        delete("/w/deep/er"),
        delete("/w/deep"),
        remove("/w", WatcherType::Any, false),
        Request::AddWatch { path: path("/w"), recursive: false }.into(),
        create("/w/deep", ZnodeLifetime::Persistent, false, false),
        set("/w"),
        delete("/w/deep"),
        remove("/w", WatcherType::Any, false),
        Request::SetWatches(Box::new(old)).into(),
        create("/w/later", ZnodeLifetime::Persistent, false, false),
        delete("/w/later"),
        delete("/w"),
    ]
}

fn transactions() -> Vec<SentMessage> {
    let step = |path: &str, life, with_stat| TransactionStep::Create {
        path: path.to_owned(),
        data: b"t".to_vec(),
        acl: Acl::open(),
        kind: CreateKind { life, sequential: false },
        with_stat,
    };
    let check = |of: &str, version| TransactionStep::Check { path: path(of), version };
    vec![
        Request::Multi(vec![
            step("/t", ZnodeLifetime::Persistent, false),
            step("/t/u", ZnodeLifetime::Ephemeral, true),
            TransactionStep::SetData { path: path("/t"), data: vec![1, 2], version: 0 },
            check("/t", 1),
            TransactionStep::Delete { path: path("/t/u"), version: -1 },
        ])
        .into(),
        Request::Multi(vec![
            step("/t/v", ZnodeLifetime::Persistent, false),
            check("/t", 9),
            step("/t/w", ZnodeLifetime::Persistent, false),
        ])
        .into(),
        Request::Multi(vec![check("/none", -1)]).into(),
        Request::Multi(vec![]).into(),
        Request::Multi(vec![
            step("/t/container", ZnodeLifetime::Container, true),
            step("/t/plain", ZnodeLifetime::Persistent, true),
        ])
        .into(),
        Request::Multi(vec![step("/t", ZnodeLifetime::Persistent, false)]).into(),
        Request::MultiRead(vec![
            Read::Data { path: path("/t") },
            Read::Children { path: path("/a") },
            Read::Data { path: path("/none") },
        ])
        .into(),
        Request::Exists { path: path("/t"), watch: false }.into(),
    ]
}

fn access() -> Vec<SentMessage> {
    let of_ada = |perms| vec![Acl { perms, scheme: "digest".into(), id: digest("ada:secret") }];
    let create_with = |path: &str, acl| {
        let (path, data) = (path.to_owned(), vec![]);
        SentMessage::from(Request::Create { path, data, acl, kind: CreateKind::default(), with_stat: false })
    };
    let read = || SentMessage::from(Request::GetData { path: path("/private"), watch: false });
    let wrong = |scheme: &str, id: &str| vec![Acl { perms: 31, scheme: scheme.into(), id: id.into() }];
    vec![
        create_with("/nobody", vec![]),
        create_with("/nobody", wrong("nonsense", "x")),
        create_with("/nobody", wrong("auth", "")),
        create_with("/private", of_ada(Acl::ALL)),
        read(),
        Request::GetAcl { path: path("/private") }.into(),
        Request::SetAcl { path: path("/private"), acl: Acl::open(), version: -1 }.into(),
        Request::AddAuth { scheme: "digest".into(), id: "ada:secret".into() }.into(),
        read(),
        Request::GetAcl { path: path("/private") }.into(),
        Request::SetAcl { path: path("/private"), acl: of_ada(Acl::READ | Acl::ADMIN), version: 5 }.into(),
        Request::SetAcl { path: path("/private"), acl: of_ada(Acl::READ | Acl::ADMIN), version: 0 }.into(),
        Request::SetData { path: path("/private"), data: vec![], version: -1 }.into(),
        create_with("/private/x", Acl::open()),
        create_with("/mine", wrong("auth", "")),
        Request::GetAcl { path: path("/mine") }.into(),
        Request::SetAcl { path: path("/none"), acl: Acl::open(), version: -1 }.into(),
        Request::AddAuth { scheme: "nonsense".into(), id: "x".into() }.into(),
    ]
}

#[test]
fn every_error_has_its_number() {
    for number in -200..1 {
        assert!(code(number).is_none_or(|code: Code| code.number() == number));
    }
}
