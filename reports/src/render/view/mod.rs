//! What the templates are given: words and figures ready to be laid out, nothing left to compute. Everything in here is a
//! plain string that the templates escape, apart from the drawings, which are marked safe where they are made.

mod cell;
mod ensemble;
mod facts;
mod policies;
mod receipts;
mod row;
mod run;

use minijinja::Value;
use serde::Serialize;

pub(crate) use row::Row;
pub(crate) use run::{Banner, Problem, banner, remarks};

use super::plots::{CHARTS, Draw, Figure, PlotError};
use super::{clean, format};
use crate::summary::Summary;

/// The whole page.
#[derive(Serialize)]
pub(crate) struct Page {
    title: String,
    banner: Banner,
    run: run::Run,
    rows: Vec<Row>,
    policies: Vec<policies::Policies>,
    charts: Vec<Panel>,
    cells: Vec<cell::Section>,
}

/// A chart with its words and its drawings.
#[derive(Serialize)]
pub(crate) struct Panel {
    heading: &'static str,
    about: &'static str,
    figures: Vec<Value>,
}

/// A name and what there is to say on it.
#[derive(Serialize)]
pub(crate) struct Fact {
    name: &'static str,
    value: String,
}

impl Fact {
    fn new(name: &'static str, value: impl Into<String>) -> Self {
        Self { name, value: value.into() }
    }
}

/// Gives every drawing of the page an id of its own.
#[derive(Default)]
pub(crate) struct Figures(u32);

impl Figures {
    fn place(&mut self, figures: &[Figure]) -> Vec<Value> {
        figures
            .iter()
            .map(|figure| {
                self.0 += 1;
                // Safe: text within was escaped by the back end, title and description by the figure.
                Value::from_safe_string(figure.svg(&format!("figure-{}", self.0)))
            })
            .collect()
    }
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
        let rows = row::rows(summary);
        let cells = summary
            .cells
            .iter()
            .zip(&rows)
            .map(|(cell, row)| cell::Section::new(cell, row, &mut figures))
            .collect::<Result<_, _>>()?;
        let title = format!("Hustings: {}", clean::short(&summary.manifest.scenario, 60));
        let policies = policies::policies(&summary.cells);
        Ok(Self { title, banner: banner(summary), run: run::Run::new(summary), rows, policies, charts, cells })
    }
}

/// The lines that there is room for, and a word on those that there is none for.
fn first_lines(lines: &[String], lines_max: usize, chars_max: usize) -> Vec<String> {
    let mut shown: Vec<String> = lines.iter().take(lines_max).map(|line| clean::short(line, chars_max)).collect();
    if lines.len() > lines_max {
        shown.push(format!("… and {} more in the record", format::count((lines.len() - lines_max) as u64)));
    }
    shown
}
