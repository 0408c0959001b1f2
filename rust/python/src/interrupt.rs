//! Ctrl-C while the engine works.
//!
//! The engine asks now and then whether to go on. Python's handlers must not run there: one may
//! use, or close, the very index that the call has in its hands. So Ctrl-C is taken notice of, the
//! call ends, and only then Python is told of it again.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use pyo3::ffi;
use pyo3::prelude::*;

/// How long the engine works between two looks at Python, which may have to wait for its lock.
const PAUSE: Duration = Duration::from_millis(50);

/// Do `work`, which lets go of the interpreter, until Ctrl-C is pressed; whether it was.
pub fn watched<T>(work: impl FnOnce() -> T) -> (T, bool) {
    let pressed = Rc::new(Cell::new(false));
    let looked = Cell::new(Instant::now());
    let seen = Rc::clone(&pressed);
    let is_pressed = move || {
        if !seen.get() && looked.get().elapsed() >= PAUSE {
            seen.set(take_notice());
            looked.set(Instant::now());
        }
        seen.get()
    };
    let result = hedgerow_engine::interrupt::watched(is_pressed, work);
    (result, pressed.get())
}

/// Whether Ctrl-C was pressed since the last look. Only Python's main thread hears of it.
fn take_notice() -> bool {
    // SAFETY: called with the interpreter attached.
    Python::attach(|_| unsafe { ffi::PyOS_InterruptOccurred() != 0 })
}

/// Have Python handle Ctrl-C, which was only taken notice of: KeyboardInterrupt, as a rule.
pub fn handle(py: Python<'_>) -> PyResult<()> {
    // SAFETY: `py` says that the interpreter is attached.
    unsafe { ffi::PyErr_SetInterrupt() };
    py.check_signals()
}
