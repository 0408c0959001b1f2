//! Memory that runs out.
//!
//! Rust ends the process if an allocation is refused. An allocator with a reserve, such as the allocator of
//! the Python module, records here that it used the reserve: every running call then ends as if interrupted,
//! with a separate error.

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
