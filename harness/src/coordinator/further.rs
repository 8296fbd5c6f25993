//! Further rounds beyond the planned ones, for cells whose results are not sufficient yet.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use hustings_record::words::plural;
use hustings_workloads::scenario::Cell;

use crate::console::progress::Progress;
use crate::coordinator::interruption::CellInterruption;

/// Selects the cells to repeat from the record in a folder: their names in the scenario, and the total number of rounds
/// for each.
type CellSelector = Arc<dyn Fn(&Path) -> anyhow::Result<BTreeMap<String, u32>> + Send + Sync>;

/// Selects cells to repeat.
#[derive(Clone)]
pub struct RetrySelectors {
    /// Cells with repetitions spoilt by stalls of the harness: evaluated after each round.
    pub spoilt: CellSelector,
    /// Cells whose two sides are indistinguishable so far: evaluated once, since every look may find a difference by
    /// chance.
    pub undecided: CellSelector,
}

/// Inputs of the further rounds.
pub(super) struct FurtherRounds<'a> {
    pub(super) again: RetrySelectors,
    pub(super) cells: &'a [Cell],
    pub(super) folder: PathBuf,
    /// Two sides are compared with each other.
    pub(super) two_sides: bool,
    pub(super) progress: &'a Progress,
}

impl FurtherRounds<'_> {
    /// Repeats cells with repetitions spoilt by stalls until the planned number of unspoilt ones exists. Then repeats
    /// cells whose sides are indistinguishable, for the rounds that the selection gives them. `run` runs some cells in the
    /// rounds of these numbers, on one ensemble, because servers that have just started are slow.
    pub(super) async fn run(
        self,
        mut left: RangeInclusive<u32>,
        mut run: impl AsyncFnMut(Vec<Cell>, RangeInclusive<u32>) -> Result<(), CellInterruption>,
    ) -> Result<(), CellInterruption> {
        let planned = left.start().saturating_sub(1);
        while !left.is_empty() {
            let cells = self.choose(&self.again.spoilt, "looking for repetitions that stalls spoilt").await;
            if cells.is_empty() {
                break;
            }
            let Some(number) = left.next() else { break };
            let cells: Vec<Cell> = cells.into_iter().map(|(cell, _)| cell).collect();
            let numbers = number..=number;
            let limits = format!("{planned} planned, {} at most", left.end());
            self.tell(&cells, &numbers, &limits, "stalls of the harness spoilt repetitions");
            run(cells, numbers).await?;
        }
        if !self.two_sides || left.is_empty() {
            return Ok(());
        }
        let open = self.choose(&self.again.undecided, "comparing the two sides").await;
        let mut from = *left.start();
        let ends: BTreeSet<u32> = open.iter().map(|(_, rounds)| *rounds).collect();
        for end in ends.range(from..).copied() {
            let wanted = open.iter().filter(|(_, rounds)| *rounds >= end);
            let cells: Vec<Cell> = wanted.map(|(cell, _)| cell.clone()).collect();
            let limits = format!("{planned} planned");
            self.tell(&cells, &(from..=end), &limits, "the planned rounds do not tell how the two sides differ");
            run(cells, from..=end).await?;
            from = end + 1;
        }
        Ok(())
    }

    fn tell(&self, cells: &[Cell], numbers: &RangeInclusive<u32>, limits: &str, why: &str) {
        let (many, rounds) = (cells.len() as u64, numbers.clone().count() as u64);
        let which = match rounds {
            1 => format!("further round {}", numbers.start()),
            _ => format!("further rounds {} to {}", numbers.start(), numbers.end()),
        };
        let again = plural(many, "cell is", "cells are");
        self.progress.line(&format!("{which} ({limits}): {again} run again, because {why}"));
        self.progress.more(many * rounds);
    }

    /// Empty if the selection fails, which is reported: the results so far remain valid.
    async fn choose(&self, choose: &CellSelector, doing: &str) -> Vec<(Cell, u32)> {
        self.progress.now(doing);
        let (folder, choose) = (self.folder.clone(), choose.clone());
        let names = tokio::task::spawn_blocking(move || choose(&folder)).await.context("the thread broke off");
        match names.and_then(|names| names) {
            Ok(names) => self.cells.iter().filter_map(|cell| Some((cell.clone(), *names.get(&cell.name)?))).collect(),
            Err(error) => {
                self.progress.line(&format!("warning: whether cells have to be run again cannot be told: {error:#}"));
                Vec::new()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::Mutex;

    use hustings_workloads::scenario::ShippedScenario;

    use super::*;

    /// Which of these cells are run, and in which rounds.
    async fn ran(
        spoilt: Vec<&'static str>,
        undecided: &'static [(&str, u32)],
        two_sides: bool,
    ) -> Vec<(String, u32, u32)> {
        let all = ShippedScenario::find("quick").expect("it ships").parse(&[]).expect("it is one").cells();
        let cells: Vec<Cell> = all
            .into_iter()
            .take(3)
            .zip(["a", "b", "c"])
            .map(|(cell, name)| Cell { name: name.into(), ..cell })
            .collect();
        // Each name once.
        let spoilt = Mutex::new(spoilt.into_iter());
        let again = RetrySelectors {
            spoilt: Arc::new(move |_| {
                Ok(spoilt
                    .lock()
                    .expect("one at a time")
                    .next()
                    .map(|name| (name.to_owned(), u32::MAX))
                    .into_iter()
                    .collect())
            }),
            undecided: Arc::new(|_| Ok(undecided.iter().map(|(name, rounds)| ((*name).to_owned(), *rounds)).collect())),
        };
        let progress = Progress::new(0, "cells", false, true);
        let further = FurtherRounds { again, cells: &cells, folder: PathBuf::new(), two_sides, progress: &progress };
        let told = RefCell::new(Vec::new());
        let run = async |cells: Vec<Cell>, numbers: RangeInclusive<u32>| {
            let names = cells.iter().map(|cell| cell.name.as_str()).collect::<String>();
            told.borrow_mut().push((names, *numbers.start(), *numbers.end()));
            Ok(())
        };
        assert!(further.run(6..=10, run).await.is_ok());
        told.into_inner()
    }

    #[tokio::test]
    async fn spoilt_cells_go_round_by_round_and_undecided_ones_as_often_as_they_want_on_one_ensemble() {
        let is = |told: &[(&str, u32, u32)]| -> Vec<(String, u32, u32)> {
            told.iter().map(|(names, from, to)| ((*names).to_owned(), *from, *to)).collect()
        };
        assert_eq!(ran(vec![], &[], true).await, is(&[]));
        assert_eq!(ran(vec!["b", "a"], &[], true).await, is(&[("b", 6, 6), ("a", 7, 7)]));
        assert_eq!(ran(vec![], &[("a", 8), ("c", 99)], true).await, is(&[("ac", 6, 8), ("c", 9, 99)]));
        assert_eq!(ran(vec!["b"], &[("a", 6), ("c", 7)], true).await, is(&[("b", 6, 6), ("c", 7, 7)]), "six there are");
        assert_eq!(ran(vec!["b"; 9], &[("a", 9)], true).await.len(), 5, "there is no room for more");
        assert_eq!(ran(vec![], &[("a", 9)], false).await, is(&[]), "one side alone is compared with nothing");
    }
}
