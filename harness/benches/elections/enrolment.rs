//! `enrolment/<recipe>/<candidates>`: time from the order to enrol until all candidates, in groups of five on five
//! hosts, are enrolled and every group has a leader. Includes connecting, but not starting processes.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use hustings_workloads::recipes::RecipeKind;

use crate::group::Groups;
use crate::hosts::Electorate;
use crate::stage::{LazyStage, Stage};

const PER_GROUP: u32 = 5;
/// Number of groups. A debug build only checks that the benchmark runs.
const SIZES: &[u32] = if cfg!(debug_assertions) { &[10] } else { &[10, 100] };

pub(crate) fn bench(criterion: &mut Criterion, stage: &LazyStage) {
    let recipe = RecipeKind::PredecessorWatch;
    let mut group = criterion.benchmark_group("enrolment");
    group.sampling_mode(SamplingMode::Flat);
    for &groups in SIZES {
        let electorate = Electorate { recipe, groups, per_group: PER_GROUP };
        group.throughput(Throughput::Elements(electorate.candidates().into()));
        group.bench_function(BenchmarkId::new(recipe.name(), electorate.candidates()), |bencher| {
            let stage = stage.get();
            bencher.iter_custom(|times| (0..times).map(|_| stage.measure(once(stage, electorate))).sum());
        });
    }
    group.finish();
}

async fn once(stage: &Stage, electorate: Electorate) -> anyhow::Result<Duration> {
    let mut groups = Groups::start(stage, electorate).await?;
    let took = groups.enrol().await?;
    groups.stop().await?;
    Ok(took)
}
