//! What a client of ZooKeeper does, read off its connections: of any program, in any language, without its help.

mod conversation;
mod relay;
mod seats;

pub use conversation::{Asked, Conversation, Said};
pub use relay::{Happened, Relay, Tell};
pub use seats::{Node, SeatSeen, Seats, SessionSeen};
