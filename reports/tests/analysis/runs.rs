//! Several cells in one run.

use crate::*;

/// The summary of a run of these cells, in this order, of which `planned` were planned.
pub(crate) fn run_of(cells: impl IntoIterator<Item = Cell>, planned: u32) -> Summary {
    let mut records = cells.into_iter().zip(0_u32..).map(|(mut cell, index)| {
        cell.info.index = index;
        let (name, mut record) = (cell.info.name.clone(), cell.record());
        (record.manifest.cells[0].index, record.manifest.cells[0].name) = (index, name);
        record
    });
    let mut all = records.next().expect("a cell");
    for record in records {
        all.manifest.cells.extend(record.manifest.cells);
        all.cells.extend(record.cells);
    }
    all.manifest.cells_planned = planned;
    summarise(&all)
}
