//! What several parts of the page are made of.

use minijinja::Value;
use serde::Serialize;

use crate::render::plots::Figure;
use crate::render::{clean, format};

/// Figures of fewer injections or failovers than these are marked.
pub(super) const FEW: u64 = 5;

/// A chart with its words and its drawings.
#[derive(Serialize)]
pub(crate) struct Panel {
    pub(super) heading: &'static str,
    pub(super) about: String,
    pub(super) figures: Vec<Value>,
}

/// A name and what there is to say on it.
#[derive(Serialize)]
pub(crate) struct Fact {
    pub(crate) name: &'static str,
    pub(crate) value: String,
}

impl Fact {
    pub(super) fn new(name: &'static str, value: impl Into<String>) -> Self {
        Self { name, value: value.into() }
    }
}

/// Gives every drawing of the page an id of its own.
#[derive(Default)]
pub(crate) struct Figures(u32);

impl Figures {
    pub(super) fn place(&mut self, figures: &[Figure]) -> Vec<Value> {
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

/// The lines that there is room for, and a word on those that there is none for.
pub(super) fn first_lines(lines: &[String], lines_max: usize, chars_max: usize) -> Vec<String> {
    let mut shown: Vec<String> = lines.iter().take(lines_max).map(|line| clean::short(line, chars_max)).collect();
    if lines.len() > lines_max {
        shown.push(format!("… and {} more in the record", format::count((lines.len() - lines_max) as u64)));
    }
    shown
}
