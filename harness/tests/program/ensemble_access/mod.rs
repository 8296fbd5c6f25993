//! Other people's servers in realistic forms: closed to strangers, shared with others, behind TLS. Runs on them work,
//! reveal no secret and leave nothing behind. Missing credentials are reported.

mod digest;
mod sasl;
mod server;
mod stage;
mod tls;
