//! Bugs of servers that no recipe can avoid: the findings are the servers' fault.

use super::prelude::*;

pub(super) const KEEPS_EPHEMERALS: Case = Case {
    sound: None,
    wrong: "the end of a session leaves its znode, which keeps the lead for ever",
    seen_in: "ZOOKEEPER-1208, ZOOKEEPER-2355, ZOOKEEPER-3144",
    schedule: &[at(1_000, Action::Expire(0))],
    caught: &[FindingKind::Leaderless, FindingKind::Orphan],
    bugs: Bugs { keep_ephemerals: true, forget_missed_events: false },
    ..Case::of("server-keeps-ephemerals", RecipeKind::PredecessorWatch, RecipeKind::PredecessorWatch)
};
