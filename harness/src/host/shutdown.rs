//! The last that a host of either kind does.

use std::time::Duration;

use crate::host::process::HostShared;
use crate::protocol::{FromHost, Receiver, ToHost};

/// The coordinator hangs up when it has read the last message.
pub(super) async fn hung_up(receiver: &mut Receiver) {
    let hang_up = async { while let Ok(Some(_)) = receiver.next::<ToHost>().await {} };
    let _ = tokio::time::timeout(Duration::from_secs(2), hang_up).await;
}

pub(super) async fn given_up(shared: &HostShared, what: String) -> bool {
    shared.tell(FromHost::Failed { what });
    // Long enough for the message to leave; the coordinator ends this process when it has it.
    tokio::time::sleep(Duration::from_secs(1)).await;
    false
}
