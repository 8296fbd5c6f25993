//! `parent-delete` hits a group once, and is dated by the deletion that may have hit it first.

use futures::executor::block_on;
use hustings_record::Nanos;
use hustings_workloads::driver::{Verification, delete_parent};
use hustings_workloads::plan::ResolvedTarget;

use crate::fake::FakeBackend;
use crate::group_session::GroupZnode;
use crate::group_session::TransactionFate::{self, AnswerLost, Answered, RequestLost};
use crate::one_cell;

/// The verification, when the transactions were sent that were not refused, and how many of them were carried out. Each
/// session ends the transaction like this; `true`: its server lags.
fn deleted(sessions: &[(TransactionFate, bool)]) -> (Verification, Vec<Nanos>, u32) {
    let znode = GroupZnode::new();
    let sessions = sessions.iter().map(|&(fate, lags)| znode.session(fate, lags)).collect();
    let backend = FakeBackend::of_servers(&one_cell("kind = \"parent-delete\""), znode.clock.clone(), sessions);
    let hit = ResolvedTarget { cands: vec![0], ..ResolvedTarget::default() };
    let proof = block_on(delete_parent(&backend, &hit)).proof;
    let (sent, replaced) = znode.transactions();
    (proof, sent, replaced)
}

#[test]
fn a_deletion_whose_answer_is_lost_is_seen_on_the_next_server_and_not_repeated() {
    let (proof, sent, replaced) = deleted(&[(AnswerLost, false), (Answered, false)]);
    assert!(proof.verified, "{}", proof.evidence);
    assert_eq!((proof.from, sent.len(), replaced), (sent[0], 1, 1));
}

#[test]
fn the_second_deletion_of_a_group_is_not_dated_in_place_of_the_first() {
    // The second server does not show yet that the first deletion was carried out.
    let (proof, sent, replaced) = deleted(&[(AnswerLost, false), (Answered, true)]);
    assert!(proof.verified, "{}", proof.evidence);
    assert_eq!((proof.from, sent.len(), replaced), (sent[0], 1, 1));
    // Which of two without an answer was carried out is not known.
    let (proof, sent, replaced) = deleted(&[(RequestLost, false), (AnswerLost, false), (Answered, false)]);
    assert!(proof.verified, "{}", proof.evidence);
    assert_eq!((proof.from, sent.len(), replaced), (sent[0], 2, 1));
}

#[test]
fn a_deletion_that_was_lost_on_its_way_dates_nothing() {
    let (proof, sent, replaced) = deleted(&[(RequestLost, false), (Answered, false)]);
    assert!(proof.verified, "{}", proof.evidence);
    assert_eq!((proof.from, sent.len(), replaced), (sent[1], 2, 1));
}
