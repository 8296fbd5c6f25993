//! Repetitions of one configuration: their pooled figures, and which of them count.

pub mod pool;
pub(crate) mod pooling;
