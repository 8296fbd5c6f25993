//! What a client of ZooKeeper does, read off its connections: of any program, in any language, without its help.

mod conversation;
mod lines;
mod relay;
mod slot;
mod slots;

pub use conversation::{Conversation, DecodedMessage, PendingRequest, ReplyContent};
pub use lines::RelayLines;
pub use relay::{Relay, RelayCallback, RelayEvent};
pub use slot::{EphemeralNode, ObservedSlot};
pub use slots::{HostSlots, ObservedSession, Slots};
