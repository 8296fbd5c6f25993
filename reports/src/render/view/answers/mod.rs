//! The questions that people come with, answered in sentences with the numbers that they would say: before any table, on the page
//! and on a terminal. Figures are those of the cells that were judged; what is in none of them is said too.

mod caveats;
mod gaps;
mod judged;
mod recipes;
mod safety;
mod timeouts;

use serde::Serialize;

use super::pools::configurations;
use crate::summary::Summary;
use judged::JudgedCells;

/// A question, and what the run says to it.
#[derive(Serialize)]
pub(crate) struct SummaryAnswer {
    pub(crate) question: &'static str,
    pub(crate) sentences: Vec<String>,
}

/// All of them; none for a run without candidates, which has nothing to say on any.
pub(crate) fn answers(summary: &Summary) -> Vec<SummaryAnswer> {
    let configurations = configurations(summary);
    let judged = JudgedCells::new(&configurations, summary);
    if judged.has_no_candidates() {
        return Vec::new();
    }
    let all = [
        ("Recipes", recipes::sentences(&judged)),
        ("Session timeout", timeouts::sentences(&judged)),
        ("Safety", safety::sentences(&judged)),
        ("Leaderless time", gaps::sentences(&judged)),
        ("Caveats", caveats::sentences(&judged, summary)),
    ];
    let answers = all.map(|(question, sentences)| SummaryAnswer { question, sentences });
    answers.into_iter().filter(|answer| !answer.sentences.is_empty()).collect()
}
