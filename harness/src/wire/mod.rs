//! ZooKeeper's wire protocol, both sides: for the embedded ensemble, and for operations missing in client libraries.

pub mod auth;
pub mod client;
pub mod connect;
pub mod end;
pub mod frame_headers;
pub mod jute;
pub mod op_code;
pub mod records;
pub mod reply;
pub mod request;
pub mod serve;
pub mod stream;
