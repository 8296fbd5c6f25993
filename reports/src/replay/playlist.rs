//! The few replays of a run: of each recipe those that show most, each kind of fault once.

use std::collections::BTreeMap;

use super::choose::{LossKind, replays};
use super::model::{Replay, WalkThroughKind};
use crate::index::Index;
use hustings_record::FaultKind;

const REPLAYS_MAX: usize = 8;
const PER_RECIPE: usize = 4;

/// What a replay shows, the best first.
type ReplayRank = (LossKind, WalkThroughKind, FaultKind);

#[derive(Default)]
pub(crate) struct Playlist {
    /// Of each recipe the first replay that shows this.
    by_recipe: BTreeMap<String, BTreeMap<ReplayRank, Replay>>,
}

impl Playlist {
    /// Takes what the cell has that none before it had.
    pub(crate) fn offer(&mut self, index: &Index<'_>) {
        for (death, walk, replay) in replays(index) {
            let of_recipe = self.by_recipe.entry(index.info.recipe.clone()).or_default();
            of_recipe.entry((death, walk, index.info.fault_kind)).or_insert(replay);
            if of_recipe.len() > PER_RECIPE {
                of_recipe.pop_last();
            }
        }
    }

    /// The best of each recipe, then the second best, until there are enough; of recipes that wake one before the others.
    pub(crate) fn into_replays(self) -> Vec<Replay> {
        let mut ranked: Vec<((usize, bool, u32), Replay)> = Vec::new();
        for of_recipe in self.by_recipe.into_values() {
            let shows_gaps = of_recipe.keys().any(|(_, walk, _)| *walk == WalkThroughKind::MiddleDies);
            let replays = of_recipe.into_values().enumerate();
            ranked.extend(replays.map(|(rank, replay)| ((rank, !shows_gaps, replay.cell), replay)));
        }
        ranked.sort_by_key(|(key, _)| *key);
        ranked.into_iter().take(REPLAYS_MAX).map(|(_, replay)| replay).collect()
    }
}
