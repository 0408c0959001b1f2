//! What a handle keeps in memory of its file, in versions that never change.
//!
//! A [`Version`] is of one generation of the file. Searches share it for as long as they run. The
//! first search of a later generation derives the next version, which shares everything that did
//! not change, and publishes it by swapping a pointer: nobody who searches an earlier generation
//! waits for that. Reading everything is the work of one background thread, however many callers
//! wait for it, and goes on when one of them gives up.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::background::{Background, Level};
use crate::error::{Error, ErrorCode, Result};
use crate::interrupt;

/// One generation of something that is kept in memory.
pub trait Version: Send + Sync + Sized + 'static {
    /// What it is made from in addition to the file.
    type Source: Send + Sync + 'static;

    /// What it is called in messages.
    const NAME: &'static str;

    /// The generation it is of.
    fn generation(&self) -> i64;

    /// Read everything. Long loops ask [`interrupt::check`] now and then.
    fn load(source: &Self::Source, connection: &Connection) -> rusqlite::Result<Self>;

    /// The version of a later generation, which `connection` sees; None when so much has changed
    /// that everything must be read.
    fn follow(
        self: &Arc<Self>,
        source: &Self::Source,
        connection: &Connection,
        generation: i64,
    ) -> rusqlite::Result<Option<Self>>;
}

/// What a cache has for a generation.
pub enum At<V> {
    /// The version of this generation.
    Current(Arc<V>),
    /// Later versions only: the transaction began before another thread's.
    Later,
    /// None that could be brought up to date: everything must be read.
    Stale,
}

/// How many versions are kept: a search that began a little earlier than the last may still ask
/// for its own. They share nearly all their memory.
const RECENT: usize = 4;
/// How long a caller waits before it checks whether anybody still waits for it.
const MOMENT: Duration = Duration::from_millis(20);

/// The versions of a handle.
pub struct Cache<V: Version> {
    shared: Arc<Shared<V>>,
    background: Background,
}

struct Shared<V: Version> {
    source: V::Source,
    /// The newest last. Locked to look or to publish, never while anything is read.
    recent: Mutex<VecDeque<Arc<V>>>,
    /// Held by whoever derives the next version.
    turn: Mutex<()>,
    loading: Mutex<Loading>,
    loaded: Condvar,
}

/// How far reading everything is.
#[derive(Default)]
struct Loading {
    running: bool,
    /// How many attempts have ended, and what came of the last.
    attempts: u64,
    failure: Option<Error>,
}

impl<V: Version> Cache<V> {
    /// A cache without a version yet.
    pub fn new(background: Background, source: V::Source) -> Self {
        Self {
            background,
            shared: Arc::new(Shared {
                source,
                recent: Mutex::default(),
                turn: Mutex::default(),
                loading: Mutex::default(),
                loaded: Condvar::new(),
            }),
        }
    }

    /// What versions are made from in addition to the file.
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

    /// Wait until there is a version that is later than `known`, reading everything if nobody does.
    ///
    /// To be called without a connection: whoever reads may need the caller's to be released.
    pub fn load_after(&self, known: Option<i64>) -> Result<()> {
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
            let mut attempt = Attempt::of(&shared);
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
                    background.notices().report(Level::Warning, message);
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

    /// The version of the generation that `connection` sees.
    pub fn at(&self, connection: &Connection, generation: i64) -> rusqlite::Result<At<V>> {
        if let Some(found) = self.shared.find(generation) {
            return Ok(found);
        }
        let _turn = lock(&self.shared.turn);
        // Whoever had the turn before may have made it.
        if let Some(found) = self.shared.find(generation) {
            return Ok(found);
        }
        let Some(known) = self.newest() else {
            return Ok(At::Stale);
        };
        // What fails leaves the versions that there are.
        let Some(next) = known.follow(&self.shared.source, connection, generation)? else {
            return Ok(At::Stale);
        };
        let next = Arc::new(next);
        self.shared.publish(&next);
        Ok(At::Current(next))
    }

    /// The version of a generation; None where there is none and the caller `waits`: it begins anew,
    /// rather than read everything itself.
    pub fn current(
        &self,
        connection: &Connection,
        generation: i64,
        waits: bool,
    ) -> rusqlite::Result<Option<Arc<V>>> {
        match self.at(connection, generation)? {
            At::Current(version) => Ok(Some(version)),
            At::Later | At::Stale if waits => Ok(None),
            At::Later | At::Stale => self.load_here(connection).map(Some),
        }
    }

    /// Read everything in the transaction of `connection`, for a caller who cannot wait for its
    /// generation any more because others write all the time.
    pub fn load_here(&self, connection: &Connection) -> rusqlite::Result<Arc<V>> {
        let version = Arc::new(V::load(&self.shared.source, connection)?);
        if self.shared.is_before(version.generation()) {
            self.shared.replace(Arc::clone(&version));
        }
        Ok(version)
    }

    /// Put another version of the same generation in the place of the newest, which `make` is given; it
    /// answers None to leave it.
    pub fn revise(&self, make: impl FnOnce(&Arc<V>) -> Option<V>) {
        let _turn = lock(&self.shared.turn);
        if let Some(known) = self.newest()
            && let Some(revised) = make(&known)
        {
            self.shared.replace(Arc::new(revised));
        }
    }
}

impl<V: Version> Shared<V> {
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

    /// What there is for a generation; None when the newest version must be brought up to date.
    fn find(&self, generation: i64) -> Option<At<V>> {
        let recent = self.recent();
        let newest = recent.back()?;
        if newest.generation() < generation {
            return None;
        }
        let found = recent.iter().rev().find(|v| v.generation() == generation);
        Some(found.map_or(At::Later, |found| At::Current(Arc::clone(found))))
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
struct Attempt<'s, V: Version> {
    shared: &'s Shared<V>,
    failure: Option<Error>,
}

impl<'s, V: Version> Attempt<'s, V> {
    fn of(shared: &'s Shared<V>) -> Self {
        // What remains unless something else is noted before the end.
        let message = format!("reading the {} panicked; please report this", V::NAME);
        Self {
            shared,
            failure: Some(Error::new(ErrorCode::EnginePanic, message)),
        }
    }
}

impl<V: Version> Drop for Attempt<'_, V> {
    fn drop(&mut self) {
        let mut loading = lock(&self.shared.loading);
        loading.running = false;
        loading.attempts += 1;
        loading.failure = self.failure.take();
        self.shared.loaded.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
