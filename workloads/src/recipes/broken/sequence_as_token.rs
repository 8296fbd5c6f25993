//! The sequence number serves as fencing token. It wraps, and then the rightful leader's writes bear a lower one than those of
//! the leader before it: an unfenced resource would call them stale, a fenced one refuses them.

use super::case::{Case, at, sent};
use crate::booth::Token;
use crate::recipes::candidate::Node;
use crate::recipes::recipe::Recipe;
use crate::recipes::{RecipeKind, names};
use crate::simulation::script::{Caught, Request, What};

pub(super) const CASE: Case = Case {
    wrong: "tokens made of sequence numbers go back when the counter wraps",
    seen_in: "fencing by the number in the znode's name",
    // The third candidate's is the lowest there is.
    schedule: &[
        sent(0, Request::Create, "-n_", 1, What::CountFrom(i32::MAX - 1)),
        at(1_000, What::Resign(0)),
        at(3_000, What::Resign(1)),
    ],
    caught: &[Caught::StaleWrite],
    ..Case::of("sequence-as-token", RecipeKind::SequenceAsToken, RecipeKind::PredecessorWatch)
};

pub(in crate::recipes) struct SequenceAsToken;

impl Recipe for SequenceAsToken {
    fn token(node: &Node, session: i64) -> Token {
        Token { czxid: names::sequence(node.name()).map_or(node.czxid, i64::from), session }
    }
}
