//! Sessions, links and recipes on servers, real and embedded, in this process.

#[path = "real_support/arm.rs"]
mod arm;
mod embedded_session;
mod observer;
mod real_expire;
mod real_links;
mod real_opcodes;
mod real_recipes;
mod real_redis;
mod real_session;
mod real_support;
mod real_wire;
mod real_witness;
#[path = "real_support/watches.rs"]
mod watches;
