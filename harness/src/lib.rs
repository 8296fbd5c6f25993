//! The harness: all input and output. It makes happen what the workloads say, and writes down what did.

pub mod access;
pub mod calibrate;
pub mod cleanup;
pub mod client;
pub mod cmd;
pub mod console;
pub mod coordinator;
pub mod doctor;
pub mod ensemble;
pub mod faults;
pub mod files;
pub mod foreign;
pub mod host;
pub mod links;
pub mod process;
pub mod protocol;
pub mod proxy;
pub mod recording;
pub mod simulate;
pub mod wire;
pub mod witness;
