//! Memory that runs out.
//!
//! Rust ends the process where memory is refused. Who has an allocator that keeps some back, as the
//! Python module does, says here that it was given up: every call that is under way then ends as it
//! does when it is interrupted, with an error of its own.

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

/// How often memory ran out. Where the number changed, what ended meanwhile may have ended for that.
pub fn shortages() -> usize {
    SHORTAGES.load(Ordering::Relaxed)
}

/// The error of a call that memory did not suffice for.
pub fn error() -> Error {
    Error::new(
        ErrorCode::OutOfMemory,
        "memory ran out, and nothing of this call was kept; call again with less at once, or \
         where this process may have more memory",
    )
}
