//! Cost of decoding a client's traffic. `witness/relay`: a request and its answer through a relay with and without
//! decoding. `witness/conversation`: the decoding alone. `cargo bench -p hustings --bench witness`

mod beside;

use std::cell::RefCell;
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use beside::PathComparison;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hustings::wire::connect::{write_connect, write_connected};
use hustings::wire::jute::{Reader, Writer};
use hustings::wire::op_code;
use hustings::witness::{Conversation, Relay, RelayCallback};
use hustings_workloads::model::{Connect, ConnectResponse};
use tokio::runtime::Builder;
use tokio::task::LocalSet;

const IN_TURN: usize = 2_000;
const MESSAGES: usize = 1_000;
const NODE: &str = "/election/g0001/0123456789abcdef-0000000001";

fn hello() -> Vec<u8> {
    write_connect(&Connect { session: 0, password: [0; 16], timeout_ms: 4_000, last_zxid_seen: 0, read_only: false })
}

fn welcome() -> Vec<u8> {
    write_connected(&ConnectResponse { session: 7, password: [7; 16], timeout_ms: 4_000 }, true)
}

fn create(xid: i32) -> Vec<u8> {
    let mut to = Writer::default();
    to.int(xid).int(op_code::CREATE).string(NODE).buffer(b"7/42").int(0);
    to.frame()
}

fn created(xid: i32) -> Vec<u8> {
    let mut to = Writer::default();
    to.int(xid).long(i64::from(xid)).int(0).string(NODE);
    to.frame()
}

fn frame(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut frame)?;
    Ok(frame)
}

/// Grants sessions, and answers every request with a created znode. It runs as long as the process.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || -> std::io::Result<()> {
                stream.set_nodelay(true)?;
                frame(&mut stream)?;
                stream.write_all(&welcome())?;
                loop {
                    let xid = Reader::new(&frame(&mut stream)?).int().expect("a request");
                    stream.write_all(&created(xid))?;
                }
            });
        }
    });
    address
}

/// A relay on its own thread, with or without decoding.
fn relay(upstream: SocketAddr, reads: bool) -> SocketAddr {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        LocalSet::new().block_on(&runtime, async move {
            if reads {
                let heard = Rc::new(RefCell::new(0_u64));
                let counts: RelayCallback = Rc::new(move |_, what| {
                    black_box(&what);
                    *heard.borrow_mut() += 1;
                });
                let relay = Relay::open(upstream, Arc::default(), counts).await.expect("a port");
                tell.send(relay.address()).expect("told");
                std::future::pending::<()>().await;
            }
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            tell.send(listener.local_addr().expect("its address")).expect("told");
            while let Ok((mut client, _)) = listener.accept().await {
                let mut server = tokio::net::TcpStream::connect(upstream).await.expect("connected");
                client.set_nodelay(true).and_then(|()| server.set_nodelay(true)).expect("no delay");
                tokio::task::spawn_local(async move {
                    // It ends when either side ends.
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
    });
    told.recv().expect("an address")
}

struct RawClient {
    stream: TcpStream,
    xid: i32,
}

impl RawClient {
    fn of(address: SocketAddr) -> Self {
        let mut stream = TcpStream::connect(address).expect("connected");
        stream.set_nodelay(true).expect("no delay");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("bounded");
        stream.write_all(&hello()).expect("sent");
        frame(&mut stream).expect("welcome");
        Self { stream, xid: 0 }
    }

    fn round_trip(&mut self) -> Duration {
        self.xid += 1;
        let request = create(self.xid);
        let begin = Instant::now();
        self.stream.write_all(&request).expect("sent");
        frame(&mut self.stream).expect("answered");
        begin.elapsed()
    }
}

fn witness(c: &mut Criterion) {
    let server = server();
    let mut group = c.benchmark_group("witness");
    for (name, reads) in [("relay-plain", false), ("relay-reading", true)] {
        let mut client = None;
        group.bench_function(name, |b| {
            let client = client.get_or_insert_with(|| RawClient::of(relay(server, reads)));
            b.iter_custom(|times| (0..times).map(|_| client.round_trip()).sum());
        });
    }
    let (up, down): (Vec<u8>, Vec<u8>) = (1..=MESSAGES as i32).fold((hello(), welcome()), |(mut up, mut down), xid| {
        up.extend(create(xid));
        down.extend(created(xid));
        (up, down)
    });
    group.throughput(Throughput::Elements(2 * MESSAGES as u64));
    group.bench_function("conversation", |b| {
        b.iter(|| {
            let (mut conversation, mut said) = (Conversation::default(), 0_u64);
            conversation.up(black_box(&up), |_| said += 1);
            conversation.down(black_box(&down), |_| said += 1);
            said
        });
    });
    group.finish();
    let (mut plain, mut reading) = (RawClient::of(relay(server, false)), RawClient::of(relay(server, true)));
    let mut beside = PathComparison::new("request and answer", ["plain", "reading along"]);
    for _ in 0..IN_TURN {
        beside.push(plain.round_trip(), reading.round_trip());
    }
    beside.tell();
}

fn short() -> Criterion {
    Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2))
}

criterion_group!(name = benches; config = short(); targets = witness);
criterion_main!(benches);
