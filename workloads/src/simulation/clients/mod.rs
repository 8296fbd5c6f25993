//! Clients of ZooKeeper, modelled on zookeeper-client. Each dials, keeps its session alive, drops a silent connection
//! after 2/5 of T, and gives up the session after 7/5. The files build on each other: `common`, `ends` and `dialling`,
//! then `requests`, then `receiving` and `takeover`.

mod common;
mod dialling;
mod ends;
mod receiving;
mod requests;
mod takeover;

pub(super) use self::requests::refusal;
