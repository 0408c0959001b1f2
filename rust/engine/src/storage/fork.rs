//! Keeping SQLite's connections out of forked processes.
//!
//! A child inherits SQLite's notes on the file locks of its process, but not the locks. Opening
//! the file again in the child then takes no lock either, and the parent may remove the
//! write-ahead log from under it. So no connection to a file is open while the process forks:
//! handles close theirs before, and open them again when they are next used.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use super::pool::Pool;
use crate::text::tokenizer;

/// The connections of a handle; None once it is closed.
pub(super) type HandleConnections = Arc<RwLock<Option<Pool>>>;

/// Held shared by every operation, exclusively from just before a fork until just after it.
static GATE: RwLock<()> = RwLock::new(());
/// Whether a thread waits for the gate in order to fork.
static DUE: AtomicBool = AtomicBool::new(false);
/// Every handle of this process.
static HANDLES: Mutex<Vec<Weak<RwLock<Option<Pool>>>>> = Mutex::new(Vec::new());

thread_local! {
    /// The gate, while this thread forks.
    static HELD: RefCell<Option<RwLockWriteGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// Wait until no fork is under way, and hold off the next one while the guard lives.
pub(super) fn enter() -> Option<RwLockReadGuard<'static, ()>> {
    // The thread that forks may come here too, and must not wait for itself.
    (!is_forking()).then(|| GATE.read().unwrap_or_else(PoisonError::into_inner))
}

/// Have the handle's connections closed before forks.
pub(super) fn register(handle: &HandleConnections) {
    let mut handles = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
    handles.retain(|handle| handle.strong_count() > 0);
    handles.push(Arc::downgrade(handle));
}

/// Whether a fork waits for running work. Work that can be repeated later should end.
pub(super) fn is_due() -> bool {
    DUE.load(Ordering::Relaxed)
}

/// To be called in the thread that forks, just before: wait for running operations, close the
/// connections to files, and hold off other operations.
pub fn before_fork() {
    tokenizer::prepare();
    DUE.store(true, Ordering::Relaxed);
    let gate = GATE.write().unwrap_or_else(PoisonError::into_inner);
    DUE.store(false, Ordering::Relaxed);
    let handles = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
    for handle in handles.iter().filter_map(Weak::upgrade) {
        let mut pool = handle.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pool.as_mut() {
            pool.close_files();
        }
    }
    HELD.set(Some(gate));
}

/// Whether this thread is between [`before_fork`] and [`after_fork`]: then no other thread gets to
/// use the engine, and this one must not wait for any.
pub fn is_forking() -> bool {
    HELD.with_borrow(Option::is_some)
}

/// To be called in the thread that forked, just after, in parent and child.
pub fn after_fork() {
    HELD.set(None);
}
