//! What the harness itself costs: a link beside a direct connection, the protocol between hosts and coordinator, and the
//! fenced resource. `cargo bench -p hustings --bench links`

mod beside;

use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use beside::Beside;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hustings::links::Links;
use hustings::protocol::{FromHost, Receiver, Sender, ToHost, split};
use hustings_workloads::host::Token;
use hustings_workloads::resource::Resource;
use tokio::runtime::{Builder, Runtime};

const EXE: &str = env!("CARGO_BIN_EXE_hustings");
/// About what a ping or a small request of ZooKeeper has.
const MESSAGE: [u8; 64] = [7; 64];
const IN_A_ROW: u64 = 1_000;
const GROUPS: u32 = 1_000;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Sends back whatever comes, each connection on a thread of its own; lives as long as the process.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                // Without it the answer waits for more.
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

fn round_trip(stream: &mut TcpStream) -> Duration {
    let begin = Instant::now();
    let mut answer = MESSAGE;
    stream.write_all(&MESSAGE).expect("sent");
    stream.read_exact(&mut answer).expect("answered");
    begin.elapsed()
}

fn link(c: &mut Criterion) {
    let server = echo();
    let runtime = runtime();
    let links = runtime.block_on(Links::start_embedded(Path::new(EXE), 1, false)).expect("the proxy starts");
    runtime.block_on(links.populate(&["host".to_owned()], &[server], &[server])).expect("a link");
    let (mut direct, mut linked) = (connect(server), connect(links.endpoints(0)[0]));
    let mut group = c.benchmark_group("round trip of 64 bytes");
    group.bench_function("direct", |b| b.iter(|| round_trip(&mut direct)));
    group.bench_function("through a link", |b| b.iter(|| round_trip(&mut linked)));
    group.finish();
    let mut beside = Beside::new("round trip of 64 bytes");
    for _ in 0..2_000 {
        beside.push(round_trip(&mut direct), round_trip(&mut linked));
    }
    beside.tell();
    runtime.block_on(links.close()).expect("the proxy ends");
}

fn a_write() -> FromHost {
    FromHost::Write {
        cand: 4_711,
        token: Token { czxid: 4_294_968_001, session: 72_057_842_215_026_694 },
        sent: 98_765_432_101,
    }
}

fn protocol(c: &mut Criterion) {
    let mut group = c.benchmark_group("protocol");
    let text = serde_json::to_string(&a_write()).expect("encoded");
    group.bench_function("encode a write", |b| b.iter(|| serde_json::to_string(black_box(&a_write()))));
    group.bench_function("decode a write", |b| b.iter(|| serde_json::from_str::<FromHost>(black_box(&text))));
    let runtime = runtime();
    let (mut host, mut coordinator) = runtime.block_on(pair());
    group.throughput(Throughput::Elements(IN_A_ROW));
    group.bench_function("1000 writes, each answered", |b| {
        b.iter(|| runtime.block_on(async { tokio::join!(ask(&mut host), answer(&mut coordinator)) }));
    });
    group.finish();
}

type End = (Sender, Receiver);

async fn pair() -> (End, End) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let to = listener.local_addr().expect("its address");
    let (one, other) = tokio::join!(tokio::net::TcpStream::connect(to), listener.accept());
    (split(one.expect("connected")).expect("a pair"), split(other.expect("accepted").0).expect("a pair"))
}

/// A host writes, all its leaders at once, and waits for the answers.
async fn ask((sender, receiver): &mut End) {
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

async fn answer((sender, receiver): &mut End) {
    for _ in 0..IN_A_ROW {
        let message = receiver.next::<FromHost>().await.expect("readable").expect("asked");
        if let FromHost::Write { cand, .. } = message {
            sender.send(&ToHost::Written { cand }).await.expect("sent");
        }
    }
}

fn resource(c: &mut Criterion) {
    let mut resource = Resource::new(GROUPS as usize);
    let mut czxid = 0;
    let mut group = c.benchmark_group("fenced resource");
    group.throughput(Throughput::Elements(GROUPS.into()));
    group.bench_function("a write to each of 1000 groups", |b| {
        b.iter(|| {
            // Every round is a new term of every group: the dearest kind of write.
            czxid += 1;
            for cand in 0..GROUPS {
                black_box(resource.write(cand as usize, cand, Token { czxid, session: czxid }));
            }
        });
    });
    group.finish();
}

fn short() -> Criterion {
    Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3))
}

criterion_group!(name = all; config = short(); targets = link, protocol, resource);
criterion_main!(all);
