//! Further rounds beyond the planned ones, for cells whose results are not sufficient yet.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use hustings_record::REPETITIONS_MAX;
use hustings_record::words::plural;
use hustings_workloads::scenario::Cell;

use crate::console::progress::Progress;
use crate::coordinator::interruption::CellInterruption;

/// The cells to repeat.
pub enum RetrySelection {
    /// Their names in the scenario, and the number of further rounds for each.
    Cells(BTreeMap<String, u32>),
    /// None, since the run fails whatever further rounds show, for this reason.
    CertainFailure(String),
}

/// Selects the cells to repeat from the record in a folder.
type CellSelector = Arc<dyn Fn(&Path) -> anyhow::Result<RetrySelection> + Send + Sync>;

/// Selects cells to repeat.
#[derive(Clone)]
pub struct RetrySelectors {
    /// Cells with repetitions spoilt by stalls of the harness: evaluated after each round, for the next one.
    pub spoilt: CellSelector,
    /// Cells whose two sides are indistinguishable so far: evaluated once, since every look may find a difference by
    /// chance.
    pub undecided: CellSelector,
    /// What cells need by the variance of their rounds, whatever the difference of their sides: evaluated after every
    /// batch of rounds, for fewer of them. A few rounds estimate their variance poorly.
    pub missing: CellSelector,
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
    /// cells whose sides are indistinguishable, for as many rounds as the selection gives them. `run` runs some cells
    /// in the rounds of these numbers, on one ensemble, because servers that have just started are slow. A number is of
    /// the run: cells that do not run in a round have no repetition of its number.
    pub(super) async fn run(
        self,
        mut left: RangeInclusive<u32>,
        mut run: impl AsyncFnMut(Vec<Cell>, RangeInclusive<u32>) -> Result<(), CellInterruption>,
    ) -> Result<(), CellInterruption> {
        let planned = left.start().saturating_sub(1);
        while !left.is_empty() {
            let chosen = self.choose(&self.again.spoilt, "looking for repetitions that stalls spoilt").await;
            let Some(cells) = chosen else { return Ok(()) };
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
        let Some(open) = self.choose(&self.again.undecided, "comparing the two sides").await else { return Ok(()) };
        let mut open: Vec<(Cell, u32)> = open.into_iter().filter(|(_, rounds)| *rounds > 0).collect();
        let mut from = *left.start();
        // As many rounds as before, so that an estimate is worth looking at again.
        let mut batch = planned.max(1);
        while let Some(least) = open.iter().map(|(_, rounds)| *rounds).min() {
            let rounds = least.min(batch).min((REPETITIONS_MAX + 1).saturating_sub(from));
            if rounds == 0 {
                break;
            }
            let (numbers, cells) = (from..=from + rounds - 1, open.iter().map(|(cell, _)| cell.clone()));
            let most = open.iter().map(|(_, rounds)| from.saturating_add(rounds - 1)).max().unwrap_or(from);
            let limits = format!("{planned} planned, {} at most", most.min(REPETITIONS_MAX));
            let cells: Vec<Cell> = cells.collect();
            self.tell(&cells, &numbers, &limits, "the planned rounds do not tell how the two sides differ");
            run(cells, numbers).await?;
            from += rounds;
            batch = batch.saturating_mul(2);
            open.iter_mut().for_each(|(_, left)| *left -= rounds);
            open.retain(|(_, left)| *left > 0);
            if open.is_empty() {
                break;
            }
            let doing = "looking how many further rounds are needed";
            let Some(missing) = self.choose(&self.again.missing, doing).await else { return Ok(()) };
            for (cell, left) in &mut open {
                let needs = missing.iter().find(|(other, _)| other.name == cell.name).map(|(_, rounds)| *rounds);
                *left = needs.map_or(*left, |needs| needs.min(*left));
            }
            open.retain(|(_, left)| *left > 0);
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

    /// None if the run fails for certain, which is reported. Empty if the selection fails, which is reported too: the
    /// results so far remain valid.
    async fn choose(&self, choose: &CellSelector, doing: &str) -> Option<Vec<(Cell, u32)>> {
        self.progress.now(doing);
        let (folder, choose) = (self.folder.clone(), choose.clone());
        let chosen = tokio::task::spawn_blocking(move || choose(&folder)).await.context("the thread broke off");
        match chosen.and_then(|chosen| chosen) {
            Ok(RetrySelection::Cells(names)) => {
                let cells = self.cells.iter();
                Some(cells.filter_map(|cell| Some((cell.clone(), *names.get(&cell.name)?))).collect())
            }
            Ok(RetrySelection::CertainFailure(why)) => {
                self.progress.line(&format!("no further rounds, since none can make the run pass: {why}"));
                None
            }
            Err(error) => {
                self.progress.line(&format!("warning: whether cells have to be run again cannot be told: {error:#}"));
                Some(Vec::new())
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

    /// Stands for a run that fails for certain.
    const FAILS: &str = "fails";

    /// Which of these cells are run, and in which rounds.
    async fn ran(
        spoilt: Vec<&'static str>,
        undecided: &'static [(&str, u32)],
        two_sides: bool,
    ) -> Vec<(String, u32, u32)> {
        ran_again(spoilt, undecided, &[], two_sides).await
    }

    /// The same; by the variance of the rounds so far, cells need this many, look by look.
    async fn ran_again(
        spoilt: Vec<&'static str>,
        undecided: &'static [(&str, u32)],
        missing: &'static [&[(&str, u32)]],
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
        let named = |cells: &[(&str, u32)]| {
            RetrySelection::Cells(cells.iter().map(|(name, rounds)| ((*name).to_owned(), *rounds)).collect())
        };
        let looks = Mutex::new(missing.iter());
        let again = RetrySelectors {
            spoilt: Arc::new(move |_| {
                Ok(match spoilt.lock().expect("one at a time").next() {
                    Some(FAILS) => RetrySelection::CertainFailure("cell a failed".to_owned()),
                    name => RetrySelection::Cells(name.map(|name| (name.to_owned(), 1)).into_iter().collect()),
                })
            }),
            undecided: Arc::new(move |_| Ok(named(undecided))),
            missing: Arc::new(move |_| {
                Ok(named(looks.lock().expect("one at a time").next().copied().unwrap_or_default()))
            }),
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
        assert_eq!(ran(vec![], &[("a", 3), ("c", 14)], true).await, is(&[("ac", 6, 8), ("c", 9, 18), ("c", 19, 19)]));
        assert_eq!(ran(vec!["b"], &[("a", 1), ("c", 2)], true).await, is(&[("b", 6, 6), ("ac", 7, 7), ("c", 8, 8)]));
        assert_eq!(ran(vec!["b"; 4], &[("a", 5), ("b", 0)], true).await[4..], is(&[("a", 10, 14)]), "a ran five times");
        assert_eq!(ran(vec!["b"; 9], &[("a", 9)], true).await.len(), 5, "there is no room for more");
        assert_eq!(ran(vec![], &[("a", 9)], false).await, is(&[]), "one side alone is compared with nothing");
    }

    #[tokio::test]
    async fn rounds_that_vary_less_than_the_planned_ones_made_believe_end_the_further_ones_early() {
        let is = |found: Vec<(String, u32, u32)>| -> Vec<(u32, u32)> {
            found.into_iter().map(|(_, from, to)| (from, to)).collect()
        };
        let missing: &[&[(&str, u32)]] = &[&[("a", 20), ("b", 90)], &[("a", 4)]];
        assert_eq!(is(ran_again(vec![], &[("a", 212)], missing, true).await), [(6, 10), (11, 20), (21, 24)]);
        assert_eq!(is(ran_again(vec![], &[("a", 212)], &[&[("a", 0)]], true).await), [(6, 10)]);
        let more: &[&[(&str, u32)]] = &[&[("a", 900)], &[("a", 900)]];
        assert_eq!(is(ran_again(vec![], &[("a", 14)], more, true).await), [(6, 10), (11, 19)], "never more");
    }

    #[tokio::test]
    async fn numbers_of_rounds_end_where_those_of_repetitions_do() {
        let rounds = ran(vec![], &[("a", REPETITIONS_MAX), ("b", 2), ("c", u32::MAX)], true).await;
        assert_eq!(rounds[0], ("abc".to_owned(), 6, 7));
        assert!(rounds[1..].iter().all(|(names, ..)| names == "ac"), "{rounds:?}");
        assert!(rounds.windows(2).all(|pair| pair[0].2 + 1 == pair[1].1), "{rounds:?}");
        assert_eq!(rounds.last().map(|(.., end)| *end), Some(REPETITIONS_MAX));
    }

    #[tokio::test]
    async fn a_run_that_fails_for_certain_has_no_further_rounds() {
        assert!(ran(vec![FAILS, "b"], &[("a", 3)], true).await.is_empty());
        assert_eq!(ran(vec!["b", FAILS, "b"], &[("a", 3)], true).await, [("b".to_owned(), 6, 6)]);
    }
}
