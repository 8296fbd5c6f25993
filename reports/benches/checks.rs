//! Judging a record, by its number of events: `checks` is all of it, putting it in order, and each checker alone; `groups` is all
//! of it by the number of groups, 10² to 10⁵, as far as so many events are asked for (`HUSTINGS_BENCH_EVENTS_MAX`); `statistics`
//! what they are made of, by the number of samples. What grows faster than they do shows in elements a second. `cargo bench -p
//! hustings-reports --bench checks`

mod synthetic;

use std::cell::LazyCell;
use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use hustings_record::{Nanos, Record};
use hustings_reports::analysis::summarise;
use hustings_reports::check::{CHECKERS, CellSummary};
use hustings_reports::index::{Index, plausible};
use hustings_reports::stats::{BeliefSpan, DurationCounter, Samples, Tally, sweep};
use hustings_reports::verdict::Verdict;
use synthetic::{Size, events_max, sizes};

/// Each checker alone is measured on no more events.
const ALONE_MAX: u64 = 100_000;

/// A record in which nothing goes wrong.
fn record(size: &Size) -> Record {
    let folder = tempfile::tempdir().expect("a folder");
    synthetic::write(folder.path(), size).expect("a record");
    let record = Record::read(folder.path()).expect("it can be read");
    let summary = summarise(&record);
    let handovers = summary.cells[0].handovers;
    let meant = u64::from(size.groups) * u64::from(size.rounds);
    assert_eq!((handovers.completed, handovers.unplanned), (meant, 0), "the record is what it is meant to be");
    let wrong: Vec<_> = summary.cells[0].checks.iter().filter(|check| check.verdict > Verdict::Pass).collect();
    assert!(wrong.is_empty(), "nothing goes wrong in it: {wrong:#?}");
    record
}

fn checks(c: &mut Criterion) {
    let mut group = c.benchmark_group("checks");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for events in sizes() {
        let size = Size::of_events(events);
        let record = LazyCell::new(|| record(&size));
        group.throughput(Throughput::Elements(size.events()));
        group.bench_function(BenchmarkId::new("summarise", events), |b| {
            let record = &*record;
            b.iter_with_large_drop(|| summarise(black_box(record)));
        });
        group.bench_function(BenchmarkId::new("index", events), |b| {
            let cell = &record.cells[0];
            b.iter_with_large_drop(|| Index::new(black_box(cell), 0));
        });
        if events == ALONE_MAX {
            // The same index for all of them.
            let cell = LazyCell::new(|| plausible(&record.cells[0]));
            let index = LazyCell::new(|| Index::new(&cell.0, cell.1));
            for checker in CHECKERS {
                group.bench_function(BenchmarkId::new(format!("alone/{}", checker.name), events), |b| {
                    let index = &*index;
                    let blank = || CellSummary::blank(index);
                    let judge = |mut summary: CellSummary| {
                        checker.run(black_box(index), &mut summary);
                        summary
                    };
                    b.iter_batched(blank, judge, BatchSize::LargeInput);
                });
            }
        }
    }
    group.finish();
}

/// Many groups that hand over once each: what looks through all of them for each of them shows here.
fn groups(c: &mut Criterion) {
    let mut group = c.benchmark_group("groups");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    let size = |power| Size { groups: 10_u32.pow(power), rounds: 1, ..Size::of_events(0) };
    let sizes = (2..=5).map(size);
    for size in sizes.filter(|size| size.events() <= events_max()) {
        let record = LazyCell::new(|| record(&size));
        group.throughput(Throughput::Elements(u64::from(size.groups)));
        group.bench_function(BenchmarkId::new("summarise", size.groups), |b| {
            let record = &*record;
            b.iter_with_large_drop(|| summarise(black_box(record)));
        });
    }
    group.finish();
}

/// Numbers that are spread and repeatable: of a multiplicative congruential generator.
fn spread(count: u64) -> impl Iterator<Item = Nanos> {
    let next = |last: &u64| Some(last.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    std::iter::successors(Some(1), next).map(|number| number >> 32).take(count as usize)
}

fn statistics(c: &mut Criterion) {
    let mut group = c.benchmark_group("statistics");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for count in sizes() {
        group.throughput(Throughput::Elements(count));
        group.bench_function(BenchmarkId::new("distribution", count), |b| {
            let samples = || {
                let mut samples = Samples::default();
                for (at, value) in spread(count).enumerate() {
                    // One in a hundred had not ended.
                    if at % 100 == 0 { samples.censor(value) } else { samples.push(value) }
                }
                samples
            };
            b.iter_batched(samples, Samples::distribution, BatchSize::PerIteration);
        });
        group.bench_function(BenchmarkId::new("tallying", count), |b| {
            b.iter(|| {
                let mut tallying = DurationCounter::default();
                spread(count).for_each(|value| tallying.push(black_box(value)));
                tallying.tallied()
            });
        });
        group.bench_function(BenchmarkId::new("tally-of-injections", count), |b| {
            b.iter(|| {
                let mut tally = Tally::default();
                // Ten opportunities an injection, on average.
                spread(count).for_each(|value| tally.opportunity(value % (count / 10)));
                tally.rate()
            });
        });
        group.bench_function(BenchmarkId::new("overlaps", count), |b| {
            let long = u64::from(u32::MAX) / count;
            let piece =
                |(term, from): (usize, Nanos)| BeliefSpan { from, to: from + long, who: (term as u32 % 5, 0), term };
            let pieces: Vec<BeliefSpan> = spread(count).enumerate().map(piece).collect();
            b.iter_batched(|| pieces.clone(), |mut pieces| sweep(&mut pieces, 0), BatchSize::PerIteration);
        });
    }
    group.finish();
}

fn short() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(600))
        .nresamples(20_000)
}

criterion_group!(name = all; config = short(); targets = checks, groups, statistics);
criterion_main!(all);
