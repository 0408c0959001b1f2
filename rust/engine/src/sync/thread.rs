//! Threads of shuttle that end, start and pause as those of the standard library do.

use std::io::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub use shuttle::thread::{JoinHandle, spawn};

/// The number of threads that will not start.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// The payload of a panic that a test asked for.
struct PlannedPanic;

/// Panic, so that this thread ends and the test goes on.
pub fn panic_as_planned() {
    resume_unwind(Box::new(PlannedPanic));
}

/// Refuse the next threads, as a system without memory does.
pub fn refuse(threads: usize) {
    REFUSED.store(threads, Ordering::Relaxed);
}

/// Let other threads run. A loop that waits calls it, so the scheduler must prefer them.
pub fn sleep(_: Duration) {
    shuttle::thread::yield_now();
}

/// Starts a thread that nothing joins.
#[derive(Default)]
pub struct Builder(shuttle::thread::Builder);

impl Builder {
    /// A thread without a name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Name the thread.
    #[must_use]
    pub fn name(self, name: String) -> Self {
        Self(self.0.name(name))
    }

    /// Start the thread. A panic that was planned ends this thread alone; shuttle ends the test after any other.
    pub fn spawn(self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let refuse = |left: usize| left.checked_sub(1);
        if REFUSED
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, refuse)
            .is_ok()
        {
            return Err(Error::other("a test refused the thread"));
        }
        let contained = || {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(work))
                && !payload.is::<PlannedPanic>()
            {
                resume_unwind(payload);
            }
        };
        self.0.spawn(contained).map(drop)
    }
}
