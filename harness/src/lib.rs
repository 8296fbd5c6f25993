//! The harness: all input and output. It executes the workloads and records the results.

#![cfg_attr(not(test), warn(clippy::cast_possible_truncation, clippy::cast_sign_loss))]

pub mod access;
pub mod calibrate;
pub mod cleanup;
pub mod client;
pub mod cmd;
pub mod console;
pub mod coordinator;
pub mod doctor;
pub mod ensemble;
pub mod files;
pub mod foreign;
pub mod host;
pub mod links;
pub mod process;
pub mod protocol;
pub mod proxy;
pub mod recording;
pub mod redis;
pub(crate) mod sidecar;
pub mod simulate;
pub mod wire;
pub mod witness;
