//! The data that a handle caches in memory, in versions that never change.
//!
//! A [`Version`] is of one generation of the file. Searches share it for as long as they run. The
//! first search of a later generation derives the next version, which shares all unchanged parts,
//! and publishes it by swapping a pointer: searches of earlier generations do not wait for that. A
//! full load is the work of one background thread, for any number of waiting callers, and continues
//! when one of them is cancelled.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::background::{Background, NoticeLevel};
use super::connector::Connector;
use super::generations::{self, RowRanges};
use super::location::Location;
use crate::error::{Error, ErrorCode, Result};
use crate::interrupt;
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, lock};

/// A generation of cached data, read from connections of the type `C`.
pub trait Version<C = Connection>: Send + Sync + Sized + 'static {
    /// The source of a version in addition to the file.
    type Source: Send + Sync + 'static;

    /// The name of the data in messages.
    const NAME: &'static str;

    /// The generation it is of.
    fn generation(&self) -> i64;

    /// Read everything. Long loops call [`interrupt::check`] now and then.
    fn load(source: &Self::Source, connection: &C) -> rusqlite::Result<Self>;

    /// The version of a later generation, which `connection` sees. None if so much has changed that
    /// everything must be read.
    fn next(
        self: &Arc<Self>,
        source: &Self::Source,
        connection: &C,
        generation: i64,
    ) -> rusqlite::Result<Option<Self>>;
}

/// A [`Version`] of the chunks or vectors of an index, derived from the one before it by the rows that
/// changed. The rows come from [`generations::since`], up to one limit for all of them.
pub trait RowVersion: Send + Sync + Sized + 'static {
    /// See [`Version::Source`].
    type Source: Send + Sync + 'static;

    /// See [`Version::NAME`].
    const NAME: &'static str;

    /// See [`Version::generation`].
    fn generation(&self) -> i64;

    /// The number of rows that loading would read.
    fn rows(&self) -> usize;

    /// See [`Version::load`].
    fn load(source: &Self::Source, connection: &Connection) -> rusqlite::Result<Self>;

    /// The version of a later generation, which `connection` sees and in which `changed` rows were
    /// written or deleted. None if it cannot be derived from this one.
    fn apply_changes(
        self: &Arc<Self>,
        source: &Self::Source,
        connection: &Connection,
        generation: i64,
        changed: &RowRanges,
    ) -> rusqlite::Result<Option<Self>>;
}

impl<V: RowVersion> Version for V {
    type Source = V::Source;
    const NAME: &'static str = V::NAME;

    fn generation(&self) -> i64 {
        V::generation(self)
    }

    fn load(source: &V::Source, connection: &Connection) -> rusqlite::Result<Self> {
        V::load(source, connection)
    }

    fn next(
        self: &Arc<Self>,
        source: &V::Source,
        connection: &Connection,
        generation: i64,
    ) -> rusqlite::Result<Option<Self>> {
        let most = generations::max_incremental_rows(self.rows());
        match generations::since(connection, V::generation(self), most)? {
            Some(changed) => self.apply_changes(source, connection, generation, &changed),
            None => Ok(None),
        }
    }
}

/// The result of looking up a generation in a cache.
pub enum Lookup<V> {
    /// The version of this generation.
    Hit(Arc<V>),
    /// Newer versions only: the transaction began before another thread's.
    Newer,
    /// No version that can be brought up to date: everything must be read.
    Miss,
}

/// Cached versions: a search that began a little earlier than the last may still need its version.
/// Versions share nearly all their memory.
const RECENT: usize = 4;
/// How long a caller waits before it checks whether anybody still waits for it.
const MOMENT: Duration = Duration::from_millis(20);

/// The versions of a handle.
pub struct Cache<V, C = Location>
where
    C: Connector,
    V: Version<C::Connection>,
{
    shared: Arc<Shared<V, C::Connection>>,
    background: Background<C>,
}

struct Shared<V: Version<C>, C> {
    source: V::Source,
    /// The newest last. Locked to look or to publish, never while anything is read.
    recent: Mutex<VecDeque<Arc<V>>>,
    /// Held while the next version is derived.
    update_lock: Mutex<()>,
    loading: Mutex<Loading>,
    loaded: Condvar,
}

/// How far reading everything is.
#[derive(Default)]
struct Loading {
    running: bool,
    /// The number of finished attempts, and the result of the last.
    attempts: u64,
    failure: Option<Error>,
}

impl<V, C> Cache<V, C>
where
    C: Connector,
    V: Version<C::Connection>,
{
    /// A cache without a version yet.
    pub fn new(background: Background<C>, source: V::Source) -> Self {
        Self {
            background,
            shared: Arc::new(Shared {
                source,
                recent: Mutex::default(),
                update_lock: Mutex::default(),
                loading: Mutex::default(),
                loaded: Condvar::new(),
            }),
        }
    }

    /// Return the source of versions in addition to the file.
    pub fn source(&self) -> &V::Source {
        &self.shared.source
    }

    /// The newest version, of whatever generation.
    pub fn newest(&self) -> Option<Arc<V>> {
        self.shared.recent().back().cloned()
    }

    /// Let go of all versions.
    pub fn clear(&self) {
        self.shared.recent().clear();
    }

    /// Let go of the versions before a generation.
    pub fn drop_before(&self, generation: i64) {
        let old: Vec<Arc<V>> = {
            let mut recent = self.shared.recent();
            let count = recent.iter().take_while(|v| v.generation() < generation);
            let count = count.count();
            recent.drain(..count).collect()
        };
        // Freed here, after the lock.
        drop(old);
    }

    /// Wait until there is a version newer than `known`. Starts a load if none is running.
    ///
    /// The caller must hold no connection: the load may need it to be released.
    pub fn wait_for_newer(&self, known: Option<i64>) -> Result<()> {
        let mut loading = lock(&self.shared.loading);
        let mut attempts = loading.attempts;
        while !self.shared.is_later(known) && !self.background.is_closing() {
            if loading.attempts > attempts {
                if let Some(error) = &loading.failure {
                    return Err(error.clone());
                }
                attempts = loading.attempts;
            }
            if !loading.running {
                self.start(&mut loading)?;
            }
            let waited = self.shared.loaded.wait_timeout(loading, MOMENT);
            loading = waited.unwrap_or_else(PoisonError::into_inner).0;
            interrupt::check()?;
        }
        Ok(())
    }

    /// Read everything in the background, unless somebody does. Its failure is a notice.
    pub fn load_in_background(&self) -> Result<()> {
        let mut loading = lock(&self.shared.loading);
        if loading.running {
            return Ok(());
        }
        self.start(&mut loading)
    }

    /// Whether everything is being read.
    pub fn is_loading(&self) -> bool {
        lock(&self.shared.loading).running
    }

    /// How the last attempt to read everything failed; None where it did not, or was interrupted.
    pub fn failure(&self) -> Option<Error> {
        lock(&self.shared.loading).failure.clone()
    }

    fn start(&self, loading: &mut Loading) -> Result<()> {
        let (shared, background) = (Arc::clone(&self.shared), self.background.clone());
        loading.running = true;
        let started = self.background.spawn(V::NAME, move |connection| {
            let mut attempt = LoadAttempt::of(&shared);
            let Some(connection) = connection else {
                attempt.failure = None;
                return;
            };
            let start = Instant::now();
            let loaded = connection.and_then(|connection| {
                V::load(&shared.source, connection).map_err(|error| background.error(&error))
            });
            attempt.failure = match loaded {
                Ok(version) => {
                    shared.replace(Arc::new(version));
                    background.notices().note_reading(V::NAME, start.elapsed());
                    None
                }
                // The handle closes, or the process forks and who waits tries again.
                Err(error) if error.code() == ErrorCode::Interrupted => None,
                Err(error) => {
                    let message = format!("reading the {} failed: {error}", V::NAME);
                    background.notices().report(NoticeLevel::Warning, message);
                    Some(error)
                }
            };
        });
        loading.running = started;
        if started {
            return Ok(());
        }
        Err(Error::new(
            ErrorCode::EngineFault,
            format!(
                "no thread could be started to read the {}; raise the limit on threads or memory",
                V::NAME
            ),
        ))
    }

    /// The version of the generation that `connection` sees, derived from the newest one if need be.
    pub fn get(&self, connection: &C::Connection, generation: i64) -> rusqlite::Result<Lookup<V>> {
        if let Ok(found) = self.shared.find(generation) {
            return Ok(found);
        }
        let _update = lock(&self.shared.update_lock);
        // Another thread may have derived it meanwhile.
        let known = match self.shared.find(generation) {
            Ok(found) => return Ok(found),
            Err(Some(known)) => known,
            Err(None) => return Ok(Lookup::Miss),
        };
        // An error leaves the versions that there are.
        let Some(next) = known.next(&self.shared.source, connection, generation)? else {
            return Ok(Lookup::Miss);
        };
        let next = Arc::new(next);
        self.shared.publish(&next);
        Ok(Lookup::Hit(next))
    }

    /// The version of a generation. If there is none, it is loaded in the transaction of `connection`;
    /// a caller that can wait for [`Self::wait_for_newer`] and begin again gets None instead.
    pub fn current(
        &self,
        connection: &C::Connection,
        generation: i64,
        can_wait: bool,
    ) -> rusqlite::Result<Option<Arc<V>>> {
        match self.get(connection, generation)? {
            Lookup::Hit(version) => Ok(Some(version)),
            Lookup::Newer | Lookup::Miss if can_wait => Ok(None),
            Lookup::Newer | Lookup::Miss => self.load_here(connection).map(Some),
        }
    }

    /// Read everything in the transaction of `connection`, for a caller who cannot wait for its
    /// generation any more because others write all the time.
    pub fn load_here(&self, connection: &C::Connection) -> rusqlite::Result<Arc<V>> {
        let version = Arc::new(V::load(&self.shared.source, connection)?);
        if self.shared.is_before(version.generation()) {
            self.shared.replace(Arc::clone(&version));
        }
        Ok(version)
    }

    /// Replace the newest version by what `make` derives from it, of the same generation. None from
    /// `make` leaves it.
    pub fn replace_newest(&self, make: impl FnOnce(&Arc<V>) -> Option<V>) {
        let _update = lock(&self.shared.update_lock);
        if let Some(known) = self.newest()
            && let Some(revised) = make(&known)
        {
            self.shared.replace(Arc::new(revised));
        }
    }
}

impl<V: Version<C>, C> Shared<V, C> {
    fn recent(&self) -> MutexGuard<'_, VecDeque<Arc<V>>> {
        lock(&self.recent)
    }

    fn is_later(&self, known: Option<i64>) -> bool {
        let newest = self.recent().back().map(|newest| newest.generation());
        newest > known
    }

    fn is_before(&self, generation: i64) -> bool {
        !self.is_later(Some(generation.saturating_sub(1)))
    }

    /// Return the result for a generation. If all versions are earlier, the error is the newest, from which the
    /// version of the generation can be derived. A load may replace it at any time.
    fn find(&self, generation: i64) -> std::result::Result<Lookup<V>, Option<Arc<V>>> {
        let recent = self.recent();
        let newest = recent.back().ok_or(None)?;
        if newest.generation() < generation {
            return Err(Some(Arc::clone(newest)));
        }
        let found = recent.iter().rev().find(|v| v.generation() == generation);
        Ok(found.map_or(Lookup::Newer, |found| Lookup::Hit(Arc::clone(found))))
    }

    /// Add a version that shares memory with those before it.
    fn publish(&self, version: &Arc<V>) {
        let oldest = {
            let mut recent = self.recent();
            // A thread that read everything may have been faster.
            let newest = recent.back().map(|newest| newest.generation());
            if newest >= Some(version.generation()) {
                return;
            }
            recent.push_back(Arc::clone(version));
            (recent.len() > RECENT).then(|| recent.pop_front())
        };
        // Freed here, after the lock.
        drop(oldest);
    }

    /// Put a version that shares no memory in the place of all.
    fn replace(&self, version: Arc<V>) {
        let before = {
            let mut recent = self.recent();
            let newest = recent.back().map(|newest| newest.generation());
            if newest > Some(version.generation()) {
                return;
            }
            std::mem::replace(&mut *recent, VecDeque::from([version]))
        };
        drop(before);
    }
}

/// An attempt to read everything, which ends when it is dropped, however it ends.
struct LoadAttempt<'s, V: Version<C>, C> {
    shared: &'s Shared<V, C>,
    failure: Option<Error>,
}

impl<'s, V: Version<C>, C> LoadAttempt<'s, V, C> {
    fn of(shared: &'s Shared<V, C>) -> Self {
        // The result, unless another is recorded before the end.
        let message = format!("reading the {} panicked; please report this", V::NAME);
        Self {
            shared,
            failure: Some(Error::new(ErrorCode::EnginePanic, message)),
        }
    }
}

impl<V: Version<C>, C> Drop for LoadAttempt<'_, V, C> {
    fn drop(&mut self) {
        let mut loading = lock(&self.shared.loading);
        loading.running = false;
        loading.attempts += 1;
        loading.failure = self.failure.take();
        self.shared.loaded.notify_all();
    }
}

#[cfg(test)]
mod tests;
