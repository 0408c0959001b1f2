//! Keeping SQLite's connections out of forked processes.
//!
//! A child inherits SQLite's notes on the file locks of its process, but not the locks. Opening
//! the file again in the child then takes no lock either, and the parent may remove the
//! write-ahead log from under it. So no connection to a file is open while the process forks:
//! handles close theirs before, and open them again when they are next used.

use std::cell::RefCell;

use super::connector::Connector;
use super::pool::Pool;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{
    Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak, lock, thread_local,
};
use crate::text::tokenizer;

/// The connections of a handle; None once it is closed.
pub(super) type HandleConnections<C> = Arc<RwLock<Option<Pool<C>>>>;

/// The connections of any handle.
trait CloseFiles: Send + Sync {
    /// Close the connections to a file once running operations are through.
    fn close_files(&self);
}

impl<C: Connector> CloseFiles for RwLock<Option<Pool<C>>> {
    fn close_files(&self) {
        let mut pool = self.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pool.as_mut() {
            pool.close_files();
        }
    }
}

/// Held shared by every operation, exclusively from just before a fork until just after it.
static GATE: RwLock<()> = RwLock::new(());
/// The number of threads that wait for the gate in order to fork.
static DUE: AtomicUsize = AtomicUsize::new(0);
/// Every handle of this process.
static HANDLES: Mutex<Vec<Weak<dyn CloseFiles>>> = Mutex::new(Vec::new());

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
pub(super) fn register<C: Connector>(handle: &HandleConnections<C>) {
    let handle: Weak<RwLock<Option<Pool<C>>>> = Arc::downgrade(handle);
    let mut handles = lock(&HANDLES);
    handles.retain(|handle| handle.strong_count() > 0);
    handles.push(handle);
}

/// Whether a fork waits for running work. Work that can be repeated later should end.
pub(super) fn is_due() -> bool {
    DUE.load(Ordering::Relaxed) > 0
}

/// To be called in the thread that forks, just before: wait for running operations, close the
/// connections to files, and hold off other operations.
pub fn before_fork() {
    tokenizer::prepare();
    DUE.fetch_add(1, Ordering::Relaxed);
    let gate = GATE.write().unwrap_or_else(PoisonError::into_inner);
    DUE.fetch_sub(1, Ordering::Relaxed);
    for handle in lock(&HANDLES).iter().filter_map(Weak::upgrade) {
        handle.close_files();
    }
    HELD.with(|held| held.replace(Some(gate)));
}

/// Whether this thread is between [`before_fork`] and [`after_fork`]: then no other thread gets to
/// use the engine, and this one must not wait for any.
pub fn is_forking() -> bool {
    HELD.with(|held| held.borrow().is_some())
}

/// To be called in the thread that forked, just after, in parent and child.
pub fn after_fork() {
    HELD.with(RefCell::take);
}
