//! `naive`: queue up, and everyone watches the lowest znode: the herd.

use super::recipe::Recipe;

pub(super) struct Naive;

impl Recipe for Naive {
    fn watched(_place: usize) -> usize {
        0
    }
}
