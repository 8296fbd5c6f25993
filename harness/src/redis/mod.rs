//! Real Redis servers: their processes, and a manager's connections to them.

mod connection;
mod error;
mod group;
mod replication;
mod server;

pub use connection::RedisConnection;
pub use error::RedisGroupError;
pub use group::{RedisGroup, RedisOptions};
