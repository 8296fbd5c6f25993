//! What the templates are given: words and figures ready to be laid out, nothing left to compute. Everything in here is a
//! plain string that the templates escape, apart from the drawings, the script and its data, which are marked safe where they are
//! made.

mod answers;
mod availability;
mod beliefs;
mod cell;
mod contest;
mod ensemble;
mod exceptions;
mod facts;
mod page;
mod parts;
mod policies;
mod pools;
mod problems;
mod replay;
mod replay_events;
mod row;
mod run;
mod times;
mod verifications;

pub(crate) use answers::{SummaryAnswer, answers};
pub(crate) use page::Page;
pub(crate) use pools::{PoolRow, not_shown, pooled, shown};
pub(crate) use problems::Problem;
pub(crate) use row::{CellRow, Rows, rows};
pub(crate) use run::{Banner, banner, facts, remarks, why_unfinished};
