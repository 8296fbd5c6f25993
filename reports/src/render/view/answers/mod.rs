//! The questions that people come with, answered in sentences with the numbers that they would say: before any table, on the page
//! and on a terminal. Figures are those of the cells that were judged; what is in none of them is said too.

mod gaps;
mod judged;
mod mind;
mod recipes;
mod safety;
mod timeouts;

use serde::Serialize;

use super::pools::configurations;
use crate::summary::Summary;
use judged::Judged;

/// A question, and what the run says to it.
#[derive(Serialize)]
pub(crate) struct Answer {
    pub(crate) question: &'static str,
    pub(crate) sentences: Vec<String>,
}

/// All of them; none for a run without candidates, which has nothing to say on any.
pub(crate) fn answers(summary: &Summary) -> Vec<Answer> {
    let configurations = configurations(summary);
    let judged = Judged::new(&configurations, summary);
    if judged.has_no_candidates() {
        return Vec::new();
    }
    let all = [
        ("Which recipe?", recipes::sentences(&judged)),
        ("Which timeout?", timeouts::sentences(&judged)),
        ("Was it safe?", safety::sentences(&judged)),
        ("How long was nobody in charge?", gaps::sentences(&judged)),
        ("What to mind", mind::sentences(&judged, summary)),
    ];
    let answers = all.map(|(question, sentences)| Answer { question, sentences });
    answers.into_iter().filter(|answer| !answer.sentences.is_empty()).collect()
}
