//! Memory that runs out.
//!
//! Rust ends the process where memory is refused. An allocator that keeps some back, such as that of the
//! Python module, notes here that it had to give it up: every call under way then ends as if it were
//! interrupted, with an error of its own.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{Error, ErrorCode};

static SHORT: AtomicBool = AtomicBool::new(false);
static SHORTAGES: AtomicUsize = AtomicUsize::new(0);

/// Note that memory ran out, so that calls end. It takes no memory.
pub fn note_shortage() {
    SHORTAGES.fetch_add(1, Ordering::Relaxed);
    SHORT.store(true, Ordering::Release);
}

/// Note that there is enough again.
pub fn note_enough() {
    SHORT.store(false, Ordering::Release);
}

/// Whether memory ran out, and there is not enough yet.
pub fn is_short() -> bool {
    SHORT.load(Ordering::Relaxed)
}

/// How often memory ran out. Where the number has changed, a call that ended meanwhile may have ended
/// because of that.
pub fn shortages() -> usize {
    SHORTAGES.load(Ordering::Relaxed)
}

/// The error of a call for which there was not enough memory.
pub fn error() -> Error {
    Error::new(
        ErrorCode::OutOfMemory,
        "memory ran out, and nothing of this call was kept; call again with less at once, or \
         where this process may have more memory",
    )
}
