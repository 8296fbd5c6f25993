//! What a record costs: writing a segment, reading a large record, judging it, and rendering a report.
//! `cargo bench -p hustings-reports`

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use hustings_record::{Event, Record, SegmentWriter};
use hustings_reports::analysis::summarise;
use hustings_reports::render;
use hustings_reports::verdict::Verdict;

mod synthetic;

#[path = "../tests/render_sample/mod.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod render_sample;

/// Events between two flushes: what a busy host pushes in a flush interval.
const EVENTS_PER_FLUSH: u64 = 1_000;
const GRANTS: u64 = 100;

fn large() -> (tempfile::TempDir, u64) {
    let size = synthetic::Size { groups: 1_000, hosts: 5, rounds: 22, writes: 8 };
    let folder = tempfile::tempdir().expect("a folder");
    let events = synthetic::write(folder.path(), &size).expect("a record");
    println!("record: 1000 groups of 5 candidates, {events} events, {} KiB sealed", kib(folder.path()));
    (folder, events)
}

fn kib(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder.join("events/cell")).expect("a folder");
    files.map(|file| file.and_then(|file| file.metadata()).map_or(0, |meta| meta.len())).sum::<u64>() / 1024
}

fn record(c: &mut Criterion) {
    let (folder, events) = large();
    let mut group = c.benchmark_group("record");
    group.sample_size(10).throughput(Throughput::Elements(events));
    group.bench_function("read", |b| b.iter(|| Record::read(black_box(folder.path())).expect("it can be read")));
    let record = Record::read(folder.path()).expect("it can be read");
    let summary = summarise(&record);
    let handovers = summary.cells[0].handovers;
    assert_eq!((handovers.completed, handovers.unplanned), (22_000, 0), "the record is what it is meant to be");
    let wrong: Vec<_> = summary.cells[0].checks.iter().filter(|check| check.verdict > Verdict::Pass).collect();
    assert!(wrong.is_empty(), "nothing goes wrong in it: {wrong:?}");
    group.bench_function("summarise", |b| b.iter(|| summarise(black_box(&record))));
    group.finish();
}

fn render(c: &mut Criterion) {
    let summary = render_sample::sample();
    assert_eq!(summary.cells.len(), 12);
    let mut group = c.benchmark_group("render");
    group.sample_size(20);
    group.bench_function("html of 12 cells", |b| b.iter(|| render::html(black_box(&summary)).expect("a page")));
    group.bench_function("json of 12 cells", |b| b.iter(|| render::json(black_box(&summary))));
    group.finish();
}

fn segment(c: &mut Criterion) {
    let event = Event::Grant {
        t: 4_157_589_512_267,
        cand: 4_711,
        session: 72_057_842_215_026_694,
        term: 3,
        czxid: 4_294_968_001,
        node: "01234567-89ab-cdef-0123-456789abcdef-n_0000004711".to_owned(),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("segment");
    // Always the same file: a bench must not fill the disk.
    let open = || {
        // There is none at first.
        let _ = std::fs::remove_file(&path);
        SegmentWriter::create(&path).expect("a segment")
    };
    let push = |writer: &mut SegmentWriter| writer.push(black_box(&event)).expect("pushed");
    let mut group = c.benchmark_group("segment");
    group.throughput(Throughput::Elements(EVENTS_PER_FLUSH));
    group.bench_function("1000 events, one flush", |b| {
        let routine = |mut writer: SegmentWriter| {
            (0..EVENTS_PER_FLUSH).for_each(|_| push(&mut writer));
            writer.flush().expect("flushed");
            writer
        };
        b.iter_batched(open, routine, BatchSize::PerIteration);
    });
    group.throughput(Throughput::Elements(GRANTS));
    group.bench_function("100 grants, each flushed", |b| {
        let routine = |mut writer: SegmentWriter| {
            (0..GRANTS).for_each(|_| {
                push(&mut writer);
                writer.flush().expect("flushed");
            });
            writer
        };
        b.iter_batched(open, routine, BatchSize::PerIteration);
    });
    group.finish();
}

fn short() -> Criterion {
    Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3))
}

criterion_group!(name = all; config = short(); targets = segment, render, record);
criterion_main!(all);
