//! Makes the servers end a candidate's session, from the host, which knows the session's password.

use std::rc::Rc;
use std::time::Duration;

use crate::client::take_over::take_over_and_close;
use crate::host::slot::HostSlot;
use crate::protocol::FromHost;
use crate::wire::end::holders_last;

const AT_MOST: Duration = Duration::from_secs(5);

/// Takes the session over, closes it, and reports when that was sent and acknowledged.
pub(super) async fn expire(slot: Rc<HostSlot>, fault: u32) {
    let (info, set_up) = (slot.session.borrow().clone(), &slot.shared.set_up);
    let outcome = match info {
        Some(info) => {
            // Only the paths of programs show where the session is connected.
            let held = slot.shared.paths.as_ref().map(|paths| paths.lines.holders(info.id().0)).unwrap_or_default();
            take_over_and_close(&set_up.access, &holders_last(&set_up.cluster, &held), info, AT_MOST).await
        }
        None => Err("it has no session to expire".into()),
    };
    slot.shared.tell(FromHost::Done { fault, cand: slot.cand, outcome });
}
