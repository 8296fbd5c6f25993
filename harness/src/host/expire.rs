//! Ending a candidate's session by the server, from the host that knows its password.

use std::rc::Rc;
use std::time::Duration;

use crate::client::take_over::take_over_and_close;
use crate::host::seat::HostSeat;
use crate::protocol::FromHost;
use crate::wire::end::holders_last;

const AT_MOST: Duration = Duration::from_secs(5);

/// Takes the session over, closes it, and tells when that was sent and answered.
pub(super) async fn expire(seat: Rc<HostSeat>, fault: u32) {
    let (info, set_up) = (seat.session.borrow().clone(), &seat.shared.set_up);
    let outcome = match info {
        Some(info) => {
            // Where the session is connected is only known on the paths of programs.
            let held = seat.shared.paths.as_ref().map(|paths| paths.lines.holders(info.id().0)).unwrap_or_default();
            take_over_and_close(&set_up.access, &holders_last(&set_up.cluster, &held), info, AT_MOST).await
        }
        None => Err("it has no session to expire".into()),
    };
    seat.shared.tell(FromHost::Done { fault, cand: seat.cand, outcome });
}
