//! `ZkSession` on embedded servers passes the conformance suite of `Session`, as on real ones.

use crate::arm::{LinkedTarget, TICK_MS, check_the_stage};
use crate::real_support::{ServerStage, on_one_thread};
use hustings::ensemble::embedded::EmbeddedEnsemble;
use hustings_workloads::conformance::check_all;

#[test]
fn a_session_on_embedded_servers_conforms() {
    on_one_thread(async {
        let arm = LinkedTarget::on(ServerStage::<EmbeddedEnsemble>::set_up(TICK_MS).await);
        let done = check_all(&arm).await;
        check_the_stage(&arm.stage).await;
        arm.stage.tear_down().await;
        done.assert_whole("sessions on embedded servers");
    });
}
