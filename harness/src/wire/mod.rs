//! ZooKeeper's wire protocol, both ways: for the embedded ensemble, and for what no client library does.

pub mod auth;
pub mod client;
pub mod connect;
pub mod end;
pub mod heads;
pub mod jute;
pub mod op_code;
pub mod records;
pub mod reply;
pub mod request;
pub mod serve;
pub mod stream;
