//! The snapshots of a handle: when they are made, and when FTS5 ranks instead.

use rusqlite::Connection;

use super::Ranking;
use super::backend_status::{BackendStatus, LoadOutcome};
use super::estimate::Estimate;
use super::load_error::{LoadError, is_interrupt};
use super::merging;
use super::snapshot::{LoadHooks, Snapshot};
use crate::error::{ErrorCode, Result};
use crate::storage::Background;
use crate::storage::cache::{Cache, Lookup};
use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// No generation.
const NEVER: i64 = -1;

/// Who ranks for a search.
pub(crate) enum Backend {
    Snapshot(Arc<Snapshot>),
    Fts5,
    /// There are later generations only.
    Later,
}

/// The snapshots of a handle, and how they come about.
pub(crate) struct SnapshotManager {
    ranking: Ranking,
    snapshots: Arc<Cache<Snapshot>>,
    background: Background,
    reason: BackendStatus,
    /// Whether a thread merges.
    merging: Arc<AtomicBool>,
    /// Whether a search asked before.
    asked: AtomicBool,
    /// Whether there was a snapshot once: no search waits for the next one.
    served: AtomicBool,
    /// The generation at which reading failed; [`NEVER`] while it did not.
    failed_at: AtomicI64,
}

impl SnapshotManager {
    pub fn new(ranking: Ranking, background: Background) -> Self {
        Self {
            ranking,
            snapshots: Arc::new(Cache::new(background.clone(), LoadHooks::default())),
            background,
            reason: BackendStatus::new(ranking),
            merging: Arc::default(),
            asked: AtomicBool::new(false),
            served: AtomicBool::new(false),
            failed_at: AtomicI64::new(NEVER),
        }
    }

    /// Who ranks.
    pub fn ranking(&self) -> Ranking {
        self.ranking
    }

    /// Let go of the snapshots.
    pub fn clear(&self) {
        self.snapshots.clear();
    }

    /// Who ranks now, and why.
    pub fn reason(&self) -> String {
        self.reason.text(self.bytes())
    }

    /// Return the bytes of memory that ranking uses now.
    pub fn bytes(&self) -> usize {
        self.snapshots.newest().map_or(0, |newest| newest.bytes())
    }

    /// Wait for the first snapshot where the caller asked for memory, unless another search does.
    ///
    /// To be called without a connection. What cannot be read FTS5 cannot read either, and says so
    /// when it is asked.
    pub fn load(&self) -> Result<()> {
        let waits = self.ranking == Ranking::Memory && !self.served.load(Ordering::Relaxed);
        let snapshots = &self.snapshots;
        if !waits
            || snapshots.newest().is_some()
            || snapshots.is_loading()
            || snapshots.failure().is_some()
        {
            return Ok(());
        }
        self.note(LoadOutcome::Loading);
        match snapshots.wait_for_newer(None) {
            Err(error) if error.code() == ErrorCode::Interrupted => Err(error),
            _ => Ok(()),
        }
    }

    /// Return the snapshot of the generation that `connection` sees, if it exists. If only later
    /// ones exist, a caller who `waits` should start again.
    pub fn acquire(
        &self,
        connection: &Connection,
        generation: i64,
        waits: bool,
    ) -> rusqlite::Result<Backend> {
        if self.ranking == Ranking::Fts5 {
            return Ok(Backend::Fts5);
        }
        let asked = was_set(&self.asked);
        match self.snapshots.get(connection, generation) {
            Ok(Lookup::Hit(snapshot)) => {
                was_set(&self.served);
                if let Some(why) = snapshot.why_unfit() {
                    self.note(LoadOutcome::NotLoadable(why.to_owned()));
                    return Ok(Backend::Fts5);
                }
                self.note(LoadOutcome::Loaded);
                if snapshot.is_merge_due() {
                    merging::start(&self.snapshots, &self.merging, &self.background);
                }
                return Ok(Backend::Snapshot(snapshot));
            }
            Ok(Lookup::Newer) if waits => return Ok(Backend::Later),
            Ok(Lookup::Miss) if asked || self.ranking == Ranking::Memory => {
                self.load_in_background(connection, generation)?;
            }
            Ok(Lookup::Miss) => self.note(LoadOutcome::OneSearch),
            Err(error) if is_interrupt(&error) => return Err(error),
            // If the file cannot be read, FTS5 says so.
            Ok(Lookup::Newer) | Err(_) => {}
        }
        Ok(Backend::Fts5)
    }

    /// Begin to read the index in the background, unless it would be too large for `auto`.
    fn load_in_background(&self, connection: &Connection, generation: i64) -> rusqlite::Result<()> {
        if self.snapshots.is_loading() {
            return Ok(());
        }
        if let Some(error) = self.snapshots.failure() {
            let failed_at = self.failed_at.load(Ordering::Relaxed);
            if failed_at == NEVER || failed_at == generation {
                // Once for each generation is enough.
                self.failed_at.store(generation, Ordering::Relaxed);
                self.note(LoadOutcome::NotLoadable(error.message().to_owned()));
                return Ok(());
            }
        }
        self.failed_at.store(NEVER, Ordering::Relaxed);
        // Free snapshots that no open transaction can use.
        self.snapshots.drop_before(generation);
        match self.is_small_enough(connection) {
            Ok(true) => {
                self.note(LoadOutcome::Loading);
                // If that fails there is a notice, and FTS5 answers.
                let _ = self.snapshots.load_in_background();
            }
            Ok(false) => self.note(LoadOutcome::TooLarge),
            Err(LoadError::NotLoadable(unfit)) => {
                self.note(LoadOutcome::NotLoadable(unfit.reason().to_owned()));
            }
            Err(LoadError::Sqlite(error)) if is_interrupt(&error) => return Err(error),
            Err(LoadError::Sqlite(error)) => self.note(LoadOutcome::unreadable(&error)),
        }
        Ok(())
    }

    fn is_small_enough(&self, connection: &Connection) -> std::result::Result<bool, LoadError> {
        if self.ranking == Ranking::Memory {
            return Ok(true);
        }
        let estimate = Estimate::read(connection)?;
        self.reason.estimated(estimate);
        Ok(estimate.is_small_enough())
    }

    fn note(&self, outcome: LoadOutcome) {
        let notices = self.background.notices();
        self.reason.note(outcome, || self.bytes(), notices);
    }
}

/// Set a flag, and say whether it was set before. Nearly always it was, and nothing is written then.
fn was_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed) || flag.swap(true, Ordering::Relaxed)
}

#[cfg(test)]
impl SnapshotManager {
    /// Have every load call this when it begins.
    pub fn on_load(&self, note: impl Fn() + Send + Sync + 'static) {
        *self.snapshots.source().on_load.lock().unwrap() = Some(Arc::new(note));
    }

    /// Leave merges to the test.
    pub fn hold_merges(&self) {
        self.merging.store(true, Ordering::Relaxed);
    }

    /// The snapshot of a generation, without waiting.
    pub fn current(
        &self,
        connection: &Connection,
        generation: i64,
    ) -> rusqlite::Result<Option<Arc<Snapshot>>> {
        Ok(match self.acquire(connection, generation, false)? {
            Backend::Snapshot(snapshot) => Some(snapshot),
            Backend::Fts5 | Backend::Later => None,
        })
    }

    pub fn snapshots(&self) -> &Cache<Snapshot> {
        &self.snapshots
    }

    /// Wait for a snapshot, loaded by any thread.
    pub fn wait_for_load(&self) -> Result<()> {
        self.snapshots.wait_for_newer(None)
    }
}
