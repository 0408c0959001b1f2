//! Ending a call early: Ctrl-C, or a `Stop`.
//!
//! The engine checks for cancellation regularly. Python's handlers must not run there: one may use, or close,
//! the index of the call. Ctrl-C is therefore only recorded, the call ends, and then it is passed to Python
//! again.
//!
//! Python receives signals on its main thread alone, and only with its lock. No other thread checks, and the
//! main thread only checks where it holds nothing that others wait for: reads check on the way; long writes
//! run on a helper thread, which never takes Python's lock.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hedgerow_engine::{Error, ErrorCode, Result, interrupt, storage};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::calling;

/// How long the engine works between two looks at Python, which may have to wait for its lock.
const PAUSE: Duration = Duration::from_millis(50);

/// Set from any thread to end a call.
pub type Flag = Arc<AtomicBool>;

/// Python's number of its main thread; 0 while it is not known.
static MAIN_THREAD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The flag that ends the calls of this thread.
    static STOP: RefCell<Option<Flag>> = const { RefCell::new(None) };
}

/// Let `stop` end the calls that `work` makes on this thread.
pub fn stoppable<T>(stop: &Flag, work: impl FnOnce() -> T) -> T {
    struct Before(Option<Flag>);
    impl Drop for Before {
        fn drop(&mut self) {
            STOP.set(self.0.take());
        }
    }
    let _before = Before(STOP.replace(Some(Arc::clone(stop))));
    work()
}

/// Do `work`, which lets go of the interpreter, until it is stopped or Ctrl-C is pressed; whether
/// that was.
pub fn with_cancellation<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> (T, bool) {
    let stop = stop();
    let looks = is_main_thread(py);
    py.detach(|| {
        let pressed = Rc::new(Cell::new(false));
        let looked = Cell::new(Instant::now());
        let seen = Rc::clone(&pressed);
        let is_unwanted = move || {
            if looks && !seen.get() && looked.get().elapsed() >= PAUSE {
                seen.set(Python::attach(is_pressed));
                looked.set(Instant::now());
            }
            seen.get()
                || stop
                    .as_ref()
                    .is_some_and(|stop| stop.load(Ordering::Relaxed))
        };
        let result = interrupt::with_cancellation(is_unwanted, work);
        (result, pressed.get())
    })
}

/// Do `work`, which lets go of the interpreter, until `stop` is set or `look` sees a signal, which is
/// handed back. The thread that works never asks for Python's lock.
///
/// On Python's main thread a helper thread works, and this one looks.
pub fn apart<T: Send, S: Send>(
    py: Python<'_>,
    stop: &Flag,
    look: impl Fn(Python<'_>) -> Option<S> + Send,
    work: impl FnOnce() -> Result<T> + Send,
) -> (Result<T>, Option<S>) {
    // While this thread forks, no other may use the engine.
    if !is_main_thread(py) || storage::is_forking() {
        return (on_the_spot(py, stop, work), None);
    }
    let work = || until(stop, work);
    py.detach(move || helped(work, stop, || Python::attach(&look)))
}

/// Do `work`, which lets go of the interpreter, on this thread until `stop` is set.
pub fn on_the_spot<T: Send>(py: Python<'_>, stop: &Flag, work: impl FnOnce() -> T + Send) -> T {
    py.detach(|| until(stop, work))
}

fn until<T>(stop: &Flag, work: impl FnOnce() -> T) -> T {
    let stop = Arc::clone(stop);
    interrupt::with_cancellation(move || stop.load(Ordering::Relaxed), work)
}

/// Have a helper thread do `work`, while this one looks for a signal, which sets `stop`. Where the
/// system refuses a thread, this one works, and Ctrl-C waits.
fn helped<T: Send, S>(
    work: impl FnOnce() -> Result<T> + Send,
    stop: &AtomicBool,
    look: impl Fn() -> Option<S>,
) -> (Result<T>, Option<S>) {
    let work = Mutex::new(Some(work));
    let work = || {
        let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
        let undone = || Error::new(ErrorCode::EngineFault, "this work was done already");
        work.ok_or_else(undone)?()
    };
    thread::scope(|scope| {
        let (ended, waiting) = mpsc::channel::<()>();
        let help = move || {
            // Dropped when the work ends, however it does.
            let _ended = ended;
            work()
        };
        let Ok(helper) = thread::Builder::new().spawn_scoped(scope, help) else {
            return (work(), None);
        };
        let mut seen = None;
        while waiting.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
            if seen.is_none() {
                seen = look();
                stop.fetch_or(seen.is_some(), Ordering::Relaxed);
            }
        }
        let result = helper.join();
        (result.unwrap_or_else(|panic| resume_unwind(panic)), seen)
    })
}

/// Return the flag that ends the calls of this thread.
pub fn stop() -> Option<Flag> {
    STOP.with_borrow(Clone::clone)
}

/// Whether Ctrl-C was pressed since the last look.
pub fn is_pressed(_: Python<'_>) -> bool {
    // SAFETY: the argument says that the interpreter is attached.
    unsafe { ffi::PyOS_InterruptOccurred() != 0 }
}

/// Have Python handle Ctrl-C, which was only taken notice of: KeyboardInterrupt, as a rule.
pub fn handle(py: Python<'_>) -> PyResult<()> {
    // SAFETY: `py` says that the interpreter is attached.
    unsafe { ffi::PyErr_SetInterrupt() };
    py.check_signals()
}

/// Record the thread that receives Python's signals, when hedgerow is imported and after each fork.
/// Not in every thread: the check calls Python code.
pub fn note_main_thread(py: Python<'_>) {
    let ask = || -> PyResult<usize> {
        let main_thread = py.import("threading")?.getattr("main_thread")?;
        let main = calling::call(&main_thread, (), None)?;
        main.getattr("ident")?.extract()
    };
    // Without an answer nobody looks, and Ctrl-C waits until the call is through.
    MAIN_THREAD.store(ask().unwrap_or(0), Ordering::Relaxed);
}

/// Whether this thread receives Python's signals.
fn is_main_thread(_: Python<'_>) -> bool {
    // SAFETY: the argument says that the interpreter is attached.
    let this = unsafe { ffi::PyThread_get_thread_ident() };
    usize::try_from(this).is_ok_and(|this| this == MAIN_THREAD.load(Ordering::Relaxed))
}
