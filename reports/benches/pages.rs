//! Making reports of a summary: `report/<form>/<which summary>`. `cargo bench -p hustings-reports --bench pages`

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use hustings_reports::render;

#[path = "../tests/render_sample/mod.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod render_sample;

/// Cells of the larger one.
const CELLS: u32 = 100;
const COLUMNS: usize = 120;

fn pages(c: &mut Criterion) {
    let mut group = c.benchmark_group("report");
    let many = format!("{CELLS}-cells");
    for (name, summary) in [("one-of-each", render_sample::sample()), (many.as_str(), render_sample::large(CELLS))] {
        group.bench_function(BenchmarkId::new("html", name), |b| {
            b.iter(|| render::html(black_box(&summary)).expect("a page"));
        });
        group.bench_function(BenchmarkId::new("json", name), |b| b.iter(|| render::json(black_box(&summary))));
        group.bench_function(BenchmarkId::new("terminal", name), |b| {
            b.iter(|| render::terminal(black_box(&summary), COLUMNS, true));
        });
    }
    group.finish();
}

fn short() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .nresamples(20_000)
}

criterion_group!(name = all; config = short(); targets = pages);
criterion_main!(all);
