//! The primitives of threads: those of the standard library, or with the feature `shuttle` those of the crate
//! shuttle, with which tests run a part of the engine in many interleavings of its threads.
//!
//! Code takes its primitives from here if its threads wait for each other or if its result depends on their
//! order. The standard library serves threads that only divide one computation, values that are computed once,
//! and counters of the process.

use std::num::NonZeroUsize;

#[cfg(feature = "shuttle")]
pub mod explore;
#[cfg(feature = "shuttle")]
pub mod thread;

#[cfg(feature = "shuttle")]
pub use shuttle::{
    sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic},
    thread_local,
};
#[cfg(not(feature = "shuttle"))]
pub use std::{
    sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic},
    thread, thread_local,
};

pub use std::sync::{Arc, PoisonError, TryLockError, Weak};

/// Return the number of threads that can divide a computation: 1 with shuttle, which does not know threads of the
/// standard library.
pub fn parallelism() -> usize {
    if cfg!(feature = "shuttle") {
        return 1;
    }
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Lock a mutex whose data is valid even if a thread panicked while it held the lock.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
