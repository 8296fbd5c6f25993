//! Look-ups by hash: many times faster than a tree where there are millions. The hash has no random part, so the order is the
//! same in every run; nothing relies on it all the same.

use rustc_hash::FxBuildHasher;

pub(crate) type Table<K, V> = hashbrown::HashMap<K, V, FxBuildHasher>;
