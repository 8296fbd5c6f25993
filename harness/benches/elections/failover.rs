//! `failover/<recipe>/<injection>/<candidates>`: time from the leader loss to the next grant, in a group of this many
//! candidates on five hosts. Excludes an injection's other steps (restart, settling).

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode};
use hustings_workloads::recipes::RecipeKind;

use crate::group::{Groups, LeaderFault};
use crate::hosts::Electorate;
use crate::stage::{LazyStage, Stage};

/// A debug build only checks that the benchmark runs.
const SIZES: &[u32] = if cfg!(debug_assertions) { &[5] } else { &[5, 50] };

/// A crash takes more than T, so ten samples of at least one crash take this long.
const CRASHES: Duration = Duration::from_secs(8);

pub(crate) fn bench(criterion: &mut Criterion, stage: &LazyStage) {
    for recipe in RecipeKind::sound() {
        for &candidates in SIZES {
            of_size(criterion, stage, Electorate { recipe, groups: 1, per_group: candidates });
        }
    }
}

fn of_size(criterion: &mut Criterion, stage: &LazyStage, electorate: Electorate) {
    let mut group = criterion.benchmark_group(format!("failover/{}", electorate.recipe));
    group.sampling_mode(SamplingMode::Flat);
    let mut groups: Option<Groups<'_>> = None;
    for injection in LeaderFault::ALL {
        if injection == LeaderFault::Crash {
            group.measurement_time(CRASHES);
        }
        group.bench_function(BenchmarkId::new(injection.name(), electorate.per_group), |bencher| {
            let stage = stage.get();
            let groups = groups.get_or_insert_with(|| stage.measure(standing(stage, electorate)));
            bencher.iter_custom(|times| stage.measure(injections(groups, injection, times)));
        });
    }
    group.finish();
    if let Some(groups) = groups {
        stage.get().measure(groups.stop());
    }
}

async fn standing(stage: &Stage, electorate: Electorate) -> anyhow::Result<Groups<'_>> {
    let mut groups = Groups::start(stage, electorate).await?;
    groups.enrol_in_turn().await?;
    Ok(groups)
}

async fn injections(groups: &mut Groups<'_>, injection: LeaderFault, times: u64) -> anyhow::Result<Duration> {
    let mut sum = Duration::ZERO;
    for _ in 0..times {
        sum += groups.injection(injection).await?;
    }
    Ok(sum)
}
