//! The costs of the recipes and the model themselves, as real time for events in virtual time.
//! `cargo bench -p hustings-workloads`
//!
//! `model/write` is a write on three servers that keep up. `steps/<recipe>/<step>/<candidates>` is one candidate that
//! joins, or the handover of a resigned lead, with all consequences. `simulate` is a whole cell, per event in it.

use std::hint::black_box;
use std::rc::Rc;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use hustings_workloads::coordination::CreateMode;
use hustings_workloads::host::Order;
use hustings_workloads::model::{
    ANY_VERSION, Acl, Bugs, Connect, Ensemble, Micros, Options, Output, Request, Response, settle,
};
use hustings_workloads::recipes::{Election, RecipeKind, StepDown};
use hustings_workloads::scenario::{Cell, ShippedScenario};
use hustings_workloads::simulation::bench::{Bench, election};
use hustings_workloads::simulation::{Simulation, Timing, simulate};

const SIZES: [usize; 2] = [5, 50];
const SERVERS: usize = 3;
/// Long enough for the servers to have elected a leader.
const BEGIN: Micros = 2_000_000;
/// One create and one delete each.
const PAIRS: u64 = 1_000;
const CELLS: [&str; 3] = ["predecessor-watch-resign", "naive-crash", "lock-race-partition"];

/// Servers with one session.
struct Model {
    ensemble: Ensemble,
    xid: i32,
}

impl Model {
    fn new() -> Self {
        let mut ensemble = Ensemble::new(Options { servers: SERVERS, ..Options::default() });
        (0..SERVERS).for_each(|server| ensemble.start(0, server));
        ensemble.advance(BEGIN);
        settle(&mut ensemble, BEGIN, drop);
        ensemble.connect(BEGIN, 0, 1, Connect { timeout_ms: 10_000, ..Connect::default() });
        settle(&mut ensemble, BEGIN, drop);
        Self { ensemble, xid: 0 }
    }

    fn ask(&mut self, request: Request) -> Response {
        self.xid += 1;
        self.ensemble.request(BEGIN, 0, 1, self.xid, request);
        let mut answer = None;
        settle(&mut self.ensemble, BEGIN, |output| {
            if let Output::Reply { result, .. } = output {
                answer = Some(result);
            }
        });
        answer.expect("it is answered at once").expect("it is not refused")
    }

    fn come_and_go(&mut self) {
        let created = self.ask(Request::Create {
            path: "/n_".to_owned(),
            data: b"1 3 4711".to_vec(),
            acl: Acl::open(),
            kind: CreateMode::EphemeralSequential.into(),
            with_stat: true,
        });
        let Response::Created { path, .. } = created else { panic!("{created:?}") };
        self.ask(Request::Delete { path, version: ANY_VERSION });
    }
}

fn model(c: &mut Criterion) {
    let mut group = c.benchmark_group("model");
    group.throughput(Throughput::Elements(2 * PAIRS));
    group.bench_function("write", |b| {
        let writes = |model: &mut Model| (0..PAIRS).for_each(|_| model.come_and_go());
        b.iter_batched_ref(Model::new, writes, BatchSize::LargeInput);
    });
    group.finish();
}

/// The leader resigns, another one leads, and the resigned one enrols again.
fn hand_over(bench: &mut Bench, election: &Election) {
    let [leader] = bench.believers()[..] else { panic!("one leads, and not {:?}", bench.believers()) };
    bench.order(leader, Order::Resign);
    while bench.departure(leader).is_none() || bench.believers().is_empty() {
        bench.run();
    }
    bench.reenter(leader, election);
    bench.run();
    bench.clear_journal();
}

fn steps(c: &mut Criterion) {
    for recipe in RecipeKind::sound() {
        let mut group = c.benchmark_group(format!("steps/{recipe}"));
        let election = election(recipe, StepDown::OnDisconnect);
        for candidates in SIZES {
            group.bench_function(BenchmarkId::new("join", candidates), |b| {
                // Joins as the last of `candidates`.
                let others = || Bench::with(candidates - 1, &election);
                b.iter_batched_ref(others, |bench| bench.enter_all(1, &election), BatchSize::LargeInput);
            });
            let mut bench = None;
            group.bench_function(BenchmarkId::new("hand-over", candidates), |b| {
                let bench = bench.get_or_insert_with(|| Bench::with(candidates, &election));
                b.iter(|| hand_over(bench, &election));
            });
        }
        group.finish();
    }
}

fn cells(c: &mut Criterion) {
    let quick = ShippedScenario::find("quick").expect("it ships").parse(&[]).expect("it is sound");
    let mut group = c.benchmark_group("simulate/quick");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for name in CELLS {
        let cell: Cell = quick.cells().into_iter().find(|cell| cell.name == name).expect("quick has such a cell");
        let simulation = Simulation { cell, seed: 1, timing: Timing::default(), bugs: Bugs::default(), schedule: None };
        let ran = simulate(&simulation, Rc::new(()));
        assert!(ran.in_order, "{name} comes to its end");
        group.throughput(Throughput::Elements(ran.events));
        group.bench_function(name, |b| b.iter(|| simulate(black_box(&simulation), Rc::new(()))));
    }
    group.finish();
}

fn short() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .nresamples(20_000)
}

criterion_group!(name = all; config = short(); targets = model, steps, cells);
criterion_main!(all);
