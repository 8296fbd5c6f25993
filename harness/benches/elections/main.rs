//! Elections on servers, by host processes as runs have them: how long a failover takes, an enrolment, a notification.
//! `cargo bench -p hustings --bench elections`
//!
//! The servers are embedded ones, which need nothing and say nothing about ZooKeeper's latencies;
//! `HUSTINGS_BENCH_ENSEMBLE=local` or `docker` has real ones.

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
use stage::Lazy;

fn main() {
    let criterion = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(300)).nresamples(20_000);
    let mut criterion = criterion.measurement_time(Duration::from_secs(2)).configure_from_args();
    let stage = Lazy::default();
    notified::bench(&mut criterion, &stage);
    enrolment::bench(&mut criterion, &stage);
    failover::bench(&mut criterion, &stage);
    criterion.final_summary();
    stage.stop();
}
