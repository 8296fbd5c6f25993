//! A leader's work: a write to the resource on every intended time, for as long as it believes.

use std::rc::Rc;

use hustings_workloads::booth::Token;

use crate::clock;
use crate::host::seat::Seat;
use crate::protocol::FromHost;

/// Writes at once and then every interval, until the belief numbered `change` is over. A write waits for the answer to the
/// one before; intended times that pass meanwhile are skipped, as a busy leader would.
pub(super) async fn lead(seat: Rc<Seat>, token: Token, change: u64) {
    let interval = seat.shared.set_up.work_interval_ms.max(1) * 1_000_000;
    let mut next = clock::now();
    loop {
        clock::sleep_until(next).await;
        if seat.belief.get().1 != change {
            return;
        }
        if !seat.write_under_way.replace(true) {
            seat.shared.tell(FromHost::Write { cand: seat.cand, token });
        }
        let behind = clock::now().saturating_sub(next) / interval;
        next += interval * (behind + 1);
    }
}
