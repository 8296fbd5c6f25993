//! The last steps of any host.

use std::time::Duration;

use crate::host::process::HostShared;
use crate::protocol::{FromHost, Receiver, ToHost};

/// Waits until the coordinator closes the connection after the last message.
pub(super) async fn hung_up(receiver: &mut Receiver) {
    let hang_up = async { while let Ok(Some(_)) = receiver.next::<ToHost>().await {} };
    let _ = tokio::time::timeout(Duration::from_secs(2), hang_up).await;
}

pub(super) async fn given_up(shared: &HostShared, what: String) -> bool {
    shared.tell(FromHost::Failed { what });
    // Gives the message time to be sent; the coordinator ends this process on verification.
    tokio::time::sleep(Duration::from_secs(1)).await;
    false
}
