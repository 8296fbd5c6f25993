//! Look-ups by hash: with millions of entries many times faster than a tree. The hash has no random part, so the order
//! is the same in every run. Even so, nothing relies on it.

use rustc_hash::FxBuildHasher;

pub(crate) type Table<K, V> = hashbrown::HashMap<K, V, FxBuildHasher>;
