//! The harness: all input and output. It makes happen what the workloads say, and writes down what did.

pub mod child;
pub mod clock;
