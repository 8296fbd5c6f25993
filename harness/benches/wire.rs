//! ZooKeeper's wire protocol, both sides: `wire/<server or client>/<operation>/<message>`.
//! `cargo bench -p hustings --bench wire`

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hustings::wire::client::{SessionEvent, read_response, read_session_event, write_request};
use hustings::wire::reply::{ReplyFormat, write_event, write_reply};
use hustings::wire::request::{WireRequest, read_request};
use hustings_workloads::model::{Acl, CreateKind, Event, EventKind, Request, Response, Stat, ZnodeLifetime};

const XID: i32 = 4_711;
const ZXID: i64 = 4_294_968_001;

fn node(number: u32) -> String {
    format!("01234567-89ab-cdef-0123-456789abcdef-n_{number:010}")
}

fn path() -> String {
    format!("/bench/election/g0/{}", node(1))
}

/// Requests of a candidate during an election, with their answers.
fn messages() -> Vec<(String, Request, Response)> {
    let stat =
        Stat { czxid: ZXID, mzxid: ZXID, pzxid: ZXID, ephemeral_owner: 72_057_842_215_026_694, ..Stat::default() };
    let data = b"1 3 4711".to_vec();
    let create = Request::Create {
        path: path(),
        data: data.clone(),
        acl: Acl::open(),
        kind: CreateKind { life: ZnodeLifetime::Ephemeral, sequential: true },
        with_stat: true,
    };
    let children = |count: u32| {
        let request = Request::GetChildren { path: "/bench/election/g0".to_owned(), watch: false, with_stat: false };
        (format!("children-{count}"), request, Response::Children { names: (0..count).map(node).collect(), stat: None })
    };
    vec![
        ("create".to_owned(), create, Response::Created { path: path(), stat: Some(stat) }),
        ("get".to_owned(), Request::GetData { path: path(), watch: true }, Response::Data { data, stat }),
        children(5),
        children(50),
        children(1_000),
    ]
}

/// Servers read requests and write answers.
fn server(c: &mut Criterion) {
    let mut group = c.benchmark_group("wire/server");
    for (name, request, response) in messages() {
        let frame = write_request(XID, &request);
        let Ok((XID, WireRequest::Request(read, shape))) = read_request(&frame[4..]) else {
            panic!("{name} is not read")
        };
        assert_eq!(read, request, "it is read as it was written");
        group.throughput(Throughput::Bytes(frame.len() as u64));
        group.bench_function(BenchmarkId::new("read-request", &name), |b| {
            b.iter(|| read_request(black_box(&frame[4..])))
        });
        let result = Ok(response);
        group.throughput(Throughput::Bytes(write_reply(XID, ZXID, &result, &shape).len() as u64));
        group.bench_function(BenchmarkId::new("write-reply", &name), |b| {
            b.iter(|| write_reply(XID, ZXID, black_box(&result), &shape));
        });
    }
    let event = Event { kind: EventKind::Deleted, path: path(), zxid: ZXID };
    group.throughput(Throughput::Bytes(write_event(&event).len() as u64));
    group.bench_function("write-event", |b| b.iter(|| write_event(black_box(&event))));
    group.finish();
}

/// Clients write requests and read answers.
fn client(c: &mut Criterion) {
    let mut group = c.benchmark_group("wire/client");
    for (name, request, response) in messages() {
        group.throughput(Throughput::Bytes(write_request(XID, &request).len() as u64));
        group.bench_function(BenchmarkId::new("write-request", &name), |b| {
            b.iter(|| write_request(XID, black_box(&request)));
        });
        let frame = write_reply(XID, ZXID, &Ok(response.clone()), &ReplyFormat::Plain);
        let read = || match read_session_event(black_box(&frame[4..])) {
            Ok(SessionEvent::Reply { body, .. }) => read_response(&request, body),
            other => panic!("{name} is no answer: {other:?}"),
        };
        assert_eq!(read(), Ok(response), "it is read as it was written");
        group.throughput(Throughput::Bytes(frame.len() as u64));
        group.bench_function(BenchmarkId::new("read-reply", &name), |b| b.iter(read));
    }
    group.finish();
}

fn short() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(600))
        .nresamples(20_000)
}

criterion_group!(name = all; config = short(); targets = server, client);
criterion_main!(all);
