//! Managers that fail a Redis master over, elected by ZooKeeper: each watches every server of its group and publishes
//! what it saw; the elected one decides whom to promote, and publishes the master that clients follow. Written once,
//! generic over [`Session`](crate::coordination::Session), [`Host`](crate::host::Host) and [`RedisNode`].

mod acting;
mod decision;
mod manager;
mod node;
mod parameters;
mod published;
mod snapshot;
mod step;

pub use self::decision::{Decision, decide};
pub use self::manager::Manager;
pub use self::node::{RedisError, RedisInfo, RedisNode, RedisRole};
pub use self::parameters::{ManagerFlaw, ManagerParameters, NodeStrategy};
pub use self::published::PublishedNodes;
pub use self::snapshot::{ManagerSnapshot, NodeSight};
pub use self::step::{ManagerSlot, ManagerStep};
