//! The page as a whole.

use serde::Serialize;

use super::parts::{Figures, Panel};
use super::policies::{Policies, policies};
use super::row::Row;
use super::run::{Banner, Run, banner};
use super::{cell, row};
use crate::render::clean;
use crate::render::plots::{CHARTS, Draw, PlotError};
use crate::summary::Summary;

/// The whole page.
#[derive(Serialize)]
pub(crate) struct Page {
    title: String,
    banner: Banner,
    run: Run,
    rows: Vec<Row>,
    tail_name: &'static str,
    policies: Vec<Policies>,
    charts: Vec<Panel>,
    cells: Vec<cell::Section>,
}

impl Page {
    pub(crate) fn new(summary: &Summary) -> Result<Self, PlotError> {
        let mut figures = Figures::default();
        let mut charts = Vec::new();
        for chart in CHARTS {
            if let Draw::Run(draw) = chart.draw {
                let figures = figures.place(&draw(summary)?);
                charts.push(Panel { heading: chart.heading, about: chart.about, figures });
            }
        }
        let (rows, tail_name) = row::rows(summary);
        let cells = summary
            .cells
            .iter()
            .zip(&rows)
            .map(|(cell, row)| cell::Section::new(cell, row, &mut figures))
            .collect::<Result<_, _>>()?;
        let title = format!("Hustings: {}", clean::short(&summary.manifest.scenario, 60));
        let policies = policies(&summary.cells);
        Ok(Self { title, banner: banner(summary), run: Run::new(summary), rows, tail_name, policies, charts, cells })
    }
}
