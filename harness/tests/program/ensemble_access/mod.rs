//! Servers of somebody else as people have them: closed to strangers, shared with others, behind TLS. Runs on them work, show
//! no secret and leave nothing; and whoever lacks what it takes is told so.

mod digest;
mod sasl;
mod server;
mod stage;
mod tls;
