//! What a client of ZooKeeper does, read off its connections: of any program, in any language, without its help.

mod conversation;
mod lines;
mod relay;
mod slot;
mod slots;

pub use conversation::{Conversation, PendingRequest, Said, Shows};
pub use lines::RelayLines;
pub use relay::{Happened, Relay, Tell};
pub use slot::{EphemeralNode, SlotSeen};
pub use slots::{HostSlots, SessionSeen, Slots};
