//! What a client of ZooKeeper does, read off its connections: of any program, in any language, without its help.

mod conversation;
mod lines;
mod relay;
mod seat;
mod seats;

pub use conversation::{Conversation, PendingRequest, Said, Shows};
pub use lines::RelayLines;
pub use relay::{Happened, Relay, Tell};
pub use seat::{EphemeralNode, SeatSeen};
pub use seats::{Seating, Seats, SessionSeen};
