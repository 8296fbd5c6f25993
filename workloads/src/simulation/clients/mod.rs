//! Clients of ZooKeeper, as zookeeper-client is one: each dials, keeps its session alive, gives a silent connection up after
//! 2/5 of T, and the session after 7/5. From `common`, `ends` and `dialling`, over `requests`, to
//! `hearing` and `takeover`, each file stands on those before it.

mod common;
mod dialling;
mod ends;
mod hearing;
mod requests;
mod takeover;

pub(super) use self::requests::refusal;
