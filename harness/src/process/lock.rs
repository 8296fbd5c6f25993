//! Locks of this process's own states.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, whatever happened to another holder: nothing here can be left half-done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
