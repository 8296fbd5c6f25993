//! `ZkSession` on embedded servers shows what every implementation of `Session` has to show: the same as on real ones.

#[path = "real_support/arm.rs"]
mod arm;
mod real_support;
#[path = "real_support/watches.rs"]
mod watches;

use arm::{Linked, TICK_MS, check_the_stage};
use hustings::ensemble::embedded::EmbeddedEnsemble;
use hustings_workloads::conformance::check_all;
use real_support::{Stage, on_one_thread};

#[test]
fn a_session_on_embedded_servers_conforms() {
    on_one_thread(async {
        let arm = Linked::on(Stage::<EmbeddedEnsemble>::set_up(TICK_MS).await);
        let failures = check_all(&arm).await;
        println!("checked in {:.1} s", arm.started.elapsed().as_secs_f64());
        check_the_stage(&arm.stage).await;
        arm.stage.tear_down().await;
        let told: Vec<String> = failures.iter().map(|(check, why)| format!("{check}: {why}")).collect();
        assert!(told.is_empty(), "{} checks failed:\n{}", told.len(), told.join("\n"));
    });
}
