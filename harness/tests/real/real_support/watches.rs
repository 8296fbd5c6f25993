//! Counts the watches that servers hold.

use std::time::Duration;

use hustings::ensemble::four_letter::{ask, parse_mntr};

use crate::real_support::{ServerStage, TestEnsemble};

/// Watches of all sessions at all servers.
pub(crate) async fn watch_count(stage: &ServerStage<impl TestEnsemble>) -> u64 {
    let servers = stage.ensemble.servers();
    let mut sum = 0.0;
    for server in servers {
        let text = ask(server, "mntr", Duration::from_secs(10)).await.expect("answered");
        sum += parse_mntr(&text)["watch_count"];
    }
    sum as u64
}
