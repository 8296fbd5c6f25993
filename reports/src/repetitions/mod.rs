//! Repetitions of one configuration: their figures together, and which of them count.

pub mod pool;
pub(crate) mod pooling;
pub mod sound;
