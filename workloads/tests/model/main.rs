//! The model of an ensemble, by itself.

mod elections;
mod lag;
mod replicas;
mod sessions;
mod support;
mod tree;
mod watches;
