//! The page as a whole.

use minijinja::Value;
use serde::Serialize;

use super::availability::{GapLine, gaps};
use super::beliefs::{BeliefsView, beliefs};
use super::contest::{ComparisonView, contest};
use super::parts::{Figures, Panel};
use super::policies::{Policies, policies};
use super::pools::{PoolRow, configurations, not_shown, pooled, shown};
use super::replay;
use super::row::{CellRow, Rows, rows};
use super::run::{Banner, RunView, banner};
use super::times::{FailoverTimes, times};
use super::{SummaryAnswer, answers, cell};
use crate::compare::compared_sides;
use crate::definitions::{self, Definition};
use crate::render::markup::html;
use crate::render::plots::{CHARTS, ChartScope, PlotError};
use crate::render::{clean, script};
use crate::summary::Summary;

/// Said of charts of configurations.
const TOGETHER: &str = " All repetitions of a configuration are drawn together.";

/// The whole page.
#[derive(Serialize)]
pub(crate) struct Page {
    title: String,
    /// The only script that the page's policy lets run.
    script_source: Value,
    banner: Banner,
    times: FailoverTimes,
    answers: Vec<SummaryAnswer>,
    contest: Option<ComparisonView>,
    run: RunView,
    pools: Vec<PoolRow>,
    pool_tail: &'static str,
    pools_share: String,
    rows: Vec<CellRow>,
    tail_name: &'static str,
    cells_share: String,
    not_shown: Option<String>,
    policies: Vec<Policies>,
    gaps: Vec<GapLine>,
    beliefs: Vec<BeliefsView>,
    charts: Vec<Panel>,
    cells: Vec<cell::CellSection>,
    replay: replay::ReplaySection,
    definitions: Vec<PagePart>,
    /// HTML.
    biases: Vec<Value>,
}

/// Definitions under one heading.
#[derive(Serialize)]
struct PagePart {
    title: &'static str,
    definitions: Vec<PageDefinition>,
}

/// A definition as the page has it.
#[derive(Serialize)]
struct PageDefinition {
    title: &'static str,
    /// HTML.
    text: Value,
}

impl PagePart {
    fn all() -> Vec<Self> {
        let mut all = definitions::all();
        all.retain(|one| definitions::PARTS.contains(&one.part));
        let parts = all.chunk_by(|one, next| one.part == next.part).filter_map(|part| Some((part.first()?.part, part)));
        let shown =
            |one: &Definition| PageDefinition { title: one.title, text: Value::from_safe_string(html(one.short)) };
        parts.map(|(title, part)| Self { title, definitions: part.iter().map(shown).collect() }).collect()
    }
}

impl Page {
    pub(crate) fn new(summary: &Summary) -> Result<Self, PlotError> {
        let mut figures = Figures::default();
        let mut charts = Vec::new();
        let configurations = configurations(summary);
        for chart in CHARTS {
            let mut about = chart.about.to_owned();
            let drawn = match chart.draw {
                ChartScope::Configurations(draw) => {
                    about.push_str(if summary.pools.is_empty() { "" } else { TOGETHER });
                    draw(&configurations)?
                }
                ChartScope::Run(draw) => draw(summary)?,
                ChartScope::Cell(_) => continue,
            };
            charts.push(Panel { heading: chart.heading, about, figures: figures.place(&drawn) });
        }
        let shown = shown(summary);
        let Rows { rows, tail_name, shared: cells_share } = rows(summary, &shown);
        let cells = shown
            .iter()
            .zip(&rows)
            .map(|(&place, row)| cell::CellSection::new(&summary.cells[place], row, &mut figures))
            .collect::<Result<_, _>>()?;
        let (pools, pool_tail, pools_share) = pooled(summary);
        let title = format!("Hustings: {}", clean::short(&summary.manifest.scenario, 60));
        let policies = policies(&summary.cells, &shown);
        let comparing = compared_sides(summary);
        let banner = banner(summary, comparing.as_ref());
        let (times, answers, run) = (times(&pools, &rows), answers(summary), RunView::new(summary));
        let (script_source, replay) = (script::source(), replay::ReplaySection::new(summary));
        Ok(Self {
            title,
            script_source,
            banner,
            times,
            answers,
            contest: comparing.as_ref().map(contest),
            run,
            pools,
            pool_tail,
            pools_share,
            rows,
            tail_name,
            cells_share,
            not_shown: not_shown(summary),
            policies,
            gaps: gaps(&summary.cells, &shown),
            beliefs: beliefs(&summary.cells, &shown),
            charts,
            cells,
            replay,
            definitions: PagePart::all(),
            biases: definitions::biases().into_iter().map(|bias| Value::from_safe_string(html(bias))).collect(),
        })
    }
}
