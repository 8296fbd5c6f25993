//! The harness: all input and output. It makes happen what the workloads say, and writes down what did.

pub mod archive;
pub mod capacity;
pub mod child;
pub mod clock;
pub mod cmd;
pub mod coordinator;
pub mod doctor;
pub mod ensemble;
pub mod exit;
pub mod faults;
pub mod host;
pub mod interrupt;
pub mod journal;
pub mod leftovers;
pub mod limits;
pub mod links;
pub mod machine;
pub mod procfs;
pub mod progress;
pub mod protocol;
pub mod proxy;
pub mod session;
pub mod stall;
pub mod utc;
pub mod workdir;
