//! Writing and reading what a run leaves behind: `segment` is what a host pays while it runs, `record` the whole on
//! disk, by its number of events. `cargo bench -p hustings-reports --bench records`

mod synthetic;

use std::cell::LazyCell;
use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use hustings_record::{Event, Record, SegmentWriter};
use synthetic::{Size, sizes};
use tempfile::TempDir;

/// Events between two flushes: what a busy host pushes in a flush interval.
const EVENTS_PER_FLUSH: u64 = 1_000;
const GRANTS: u64 = 100;
/// Writing larger ones costs as much an event, and much disk.
const WRITTEN_MAX: u64 = 100_000;

fn grant() -> Event {
    Event::Grant {
        t: 4_157_589_512_267,
        cand: 4_711,
        session: 72_057_842_215_026_694,
        term: 3,
        czxid: 4_294_968_001,
        node: "01234567-89ab-cdef-0123-456789abcdef-n_0000004711".to_owned(),
    }
}

fn segment(c: &mut Criterion) {
    let event = grant();
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
    group.bench_function("1000-events-one-flush", |b| {
        let routine = |mut writer: SegmentWriter| {
            (0..EVENTS_PER_FLUSH).for_each(|_| push(&mut writer));
            writer.flush().expect("flushed");
            writer
        };
        b.iter_batched(open, routine, BatchSize::PerIteration);
    });
    group.throughput(Throughput::Elements(GRANTS));
    group.bench_function("100-grants-each-flushed", |b| {
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

fn record(c: &mut Criterion) {
    let mut group = c.benchmark_group("record");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for events in sizes() {
        let size = Size::of_events(events);
        let fresh = || tempfile::tempdir().expect("a folder");
        let write = |folder: TempDir| {
            synthetic::write(folder.path(), &size).expect("a record");
            folder
        };
        let written = LazyCell::new(|| write(fresh()));
        group.throughput(Throughput::Elements(size.events()));
        if events <= WRITTEN_MAX {
            group.bench_function(BenchmarkId::new("write-and-seal", events), |b| {
                b.iter_batched(fresh, write, BatchSize::PerIteration);
            });
        }
        group.bench_function(BenchmarkId::new("read", events), |b| {
            let folder = &*written;
            b.iter_with_large_drop(|| Record::read(black_box(folder.path())).expect("it can be read"));
        });
    }
    group.finish();
}

fn short() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .nresamples(20_000)
}

criterion_group!(name = all; config = short(); targets = segment, record);
criterion_main!(all);
