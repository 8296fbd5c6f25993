//! Costs of the harness: `relay` compares a link with a direct connection, `protocol` is the traffic between hosts and
//! coordinator, `resource` the fenced resource. `cargo bench -p hustings --bench links`

mod beside;

use std::cell::OnceCell;
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use beside::PathComparison;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hustings::links::RunLinks;
use hustings::protocol::{FromHost, Receiver, Sender, ToHost, WriteAnswer, split};
use hustings_workloads::host::Token;
use hustings_workloads::resource::Resource;
use tokio::runtime::{Builder, Runtime};

const EXE: &str = env!("CARGO_BIN_EXE_hustings");
/// Approximate size of a ping or a small ZooKeeper request, and of a long list of children.
const SIZES: [usize; 2] = [64, 16_384];
const IN_TURN: usize = 2_000;
const IN_A_ROW: u64 = 1_000;
const GROUPS: u32 = 1_000;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// An echo server with one thread per connection. It runs as long as the process.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                // Otherwise Nagle's algorithm delays the answer.
                stream.set_nodelay(true)?;
                let mut buffer = [0; 4096];
                loop {
                    let bytes = stream.read(&mut buffer)?;
                    if bytes == 0 {
                        return std::io::Result::Ok(());
                    }
                    stream.write_all(&buffer[..bytes])?;
                }
            });
        }
    });
    address
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connected");
    stream.set_nodelay(true).expect("no delay");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("bounded");
    stream
}

fn round_trip(stream: &mut TcpStream, bytes: usize) -> Duration {
    let (message, mut answer) = (vec![7; bytes], vec![0; bytes]);
    let begin = Instant::now();
    stream.write_all(&message).expect("sent");
    stream.read_exact(&mut answer).expect("answered");
    begin.elapsed()
}

/// A link to a server, with the runtime that it needs.
struct BenchLinks {
    runtime: Runtime,
    links: RunLinks,
}

impl BenchLinks {
    fn to(server: SocketAddr) -> Self {
        let runtime = runtime();
        let links = runtime.block_on(RunLinks::start_embedded(Path::new(EXE), 1, false)).expect("the proxy starts");
        runtime.block_on(links.populate(&["host".to_owned()], &[server], &[server])).expect("a link");
        Self { runtime, links }
    }
}

fn relay(c: &mut Criterion) {
    let server = echo();
    let linked = OnceCell::new();
    let way = || linked.get_or_init(|| BenchLinks::to(server)).links.endpoints(0)[0];
    let mut group = c.benchmark_group("relay");
    for bytes in SIZES {
        group.throughput(Throughput::Bytes(bytes as u64));
        let mut measure = |name: &str, address: &dyn Fn() -> SocketAddr| {
            let mut stream = None;
            group.bench_function(BenchmarkId::new(name, bytes), |b| {
                let stream = stream.get_or_insert_with(|| connect(address()));
                b.iter_custom(|times| (0..times).map(|_| round_trip(stream, bytes)).sum());
            });
        };
        measure("direct", &|| server);
        measure("link", &way);
    }
    group.finish();
    let Some(BenchLinks { runtime, links }) = linked.into_inner() else { return };
    let (mut direct, mut through) = (connect(server), connect(links.endpoints(0)[0]));
    let mut beside = PathComparison::new("round trip of 64 bytes", ["direct", "through a link"]);
    for _ in 0..IN_TURN {
        beside.push(round_trip(&mut direct, SIZES[0]), round_trip(&mut through, SIZES[0]));
    }
    beside.tell();
    runtime.block_on(links.close()).expect("the proxy ends");
}

fn a_write() -> FromHost {
    FromHost::Write {
        is_stamped: true,
        came: 0,
        cand: 4_711,
        token: Token { czxid: 4_294_968_001, session: 72_057_842_215_026_694 },
        node: None,
        sent: 98_765_432_101,
    }
}

fn protocol(c: &mut Criterion) {
    let mut group = c.benchmark_group("protocol");
    let text = serde_json::to_string(&a_write()).expect("encoded");
    group.bench_function("encode-write", |b| b.iter(|| serde_json::to_string(black_box(&a_write()))));
    group.bench_function("decode-write", |b| b.iter(|| serde_json::from_str::<FromHost>(black_box(&text))));
    let runtime = runtime();
    let (mut host, mut coordinator) = runtime.block_on(pair());
    group.throughput(Throughput::Elements(IN_A_ROW));
    group.bench_function("1000-writes-answered", |b| {
        b.iter(|| runtime.block_on(async { tokio::join!(ask(&mut host), answer(&mut coordinator)) }));
    });
    group.finish();
}

type LinkEnds = (Sender, Receiver);

async fn pair() -> (LinkEnds, LinkEnds) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let to = listener.local_addr().expect("its address");
    let (one, other) = tokio::join!(tokio::net::TcpStream::connect(to), listener.accept());
    (split(one.expect("connected")).expect("a pair"), split(other.expect("accepted").0).expect("a pair"))
}

/// A host sends the writes of all its leaders at once, and waits for the answers.
async fn ask((sender, receiver): &mut LinkEnds) {
    let write = a_write();
    let send = async {
        for _ in 0..IN_A_ROW {
            sender.send(&write).await.expect("sent");
        }
    };
    let receive = async {
        for _ in 0..IN_A_ROW {
            receiver.next::<ToHost>().await.expect("readable").expect("answered");
        }
    };
    tokio::join!(send, receive);
}

async fn answer((sender, receiver): &mut LinkEnds) {
    for _ in 0..IN_A_ROW {
        let message = receiver.next::<FromHost>().await.expect("readable").expect("asked");
        if let FromHost::Write { cand, .. } = message {
            sender.send(&ToHost::Written { cand, answer: WriteAnswer { seq: 7, refused: false } }).await.expect("sent");
        }
    }
}

fn resource(c: &mut Criterion) {
    let mut resource = Resource::new(GROUPS as usize);
    let mut czxid = 0;
    let mut group = c.benchmark_group("resource");
    group.throughput(Throughput::Elements(GROUPS.into()));
    group.bench_function("write-new-term", |b| {
        b.iter(|| {
            // Every round is a new term of every group: the most expensive kind of write.
            czxid += 1;
            for cand in 0..GROUPS {
                black_box(resource.write(cand as usize, cand, Token { czxid, session: czxid }));
            }
        });
    });
    group.finish();
}

fn short() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .nresamples(20_000)
}

criterion_group!(name = all; config = short(); targets = relay, protocol, resource);
criterion_main!(all);
