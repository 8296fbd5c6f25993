//! Elections on servers, with host processes as in runs: duration of a failover, an enrolment, a notification.
//! `cargo bench -p hustings --bench elections`
//!
//! The servers are embedded by default, which require nothing but say nothing about ZooKeeper's latencies.
//! `HUSTINGS_BENCH_ENSEMBLE=local` or `docker` uses real ones.

#[path = "../beside/mod.rs"]
mod beside;
mod enrolment;
mod failover;
mod group;
mod hosts;
mod notified;
mod stage;
mod tail;

use std::time::Duration;

use criterion::Criterion;
use stage::LazyStage;

fn main() {
    let criterion = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(300)).nresamples(20_000);
    let mut criterion = criterion.measurement_time(Duration::from_secs(2)).configure_from_args();
    let stage = LazyStage::default();
    notified::bench(&mut criterion, &stage);
    enrolment::bench(&mut criterion, &stage);
    failover::bench(&mut criterion, &stage);
    criterion.final_summary();
    stage.stop();
}
