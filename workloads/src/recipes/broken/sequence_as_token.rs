//! The sequence number serves as fencing token. Beyond its end the rightful leader's writes carry a lower number than
//! the previous leader's, or the same. An unfenced resource would call them stale, a fenced one rejects them.

use super::prelude::*;
use crate::host::Token;

pub(super) const CASE: Case = Case {
    wrong: "tokens made of sequence numbers go back beyond the end of the counter",
    seen_in: "fencing by the number in the znode's name",
    // The third candidate's number is the lowest possible.
    schedule: &[
        sent(0, ScheduledRequest::Create, "-n_", 1, Action::CountFrom(i32::MAX - 1)),
        at(1_000, Action::Resign(0)),
        at(3_000, Action::Resign(1)),
    ],
    caught: &[FindingKind::StaleWrite],
    ..Case::of("sequence-as-token", RecipeKind::SequenceAsToken, RecipeKind::PredecessorWatch)
};

impl<S: Session, H: Host> Steps<S, H> for SequenceAsToken {
    fn token(&self, node: &OwnNode, session: i64) -> Token {
        Token { czxid: names::sequence(node.name()).map_or(node.czxid, i64::from), session }
    }
}
