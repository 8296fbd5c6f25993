//! Finds what a run left behind after a `kill -9`, and removes it.

pub mod leftovers;
