//! Redis servers in virtual time: each is a role and a set of the ids that clients wrote.

mod connection;
mod group;

pub(crate) use self::connection::SimRedisConnection;
pub(crate) use self::group::{RedisState, SimRedis};
