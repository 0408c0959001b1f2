//! The snapshots of a handle: when they are made, and who asks FTS5 instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

use super::Ranking;
use super::failure::{Failure, is_interrupt};
use super::snapshot::{Snapshot, Source};
use super::stored;
use crate::error::{ErrorCode, Result};
use crate::index::background::Background;
use crate::index::cache::{At, Cache};
use crate::text::tokenizer::TokenizerKind;

/// The most memory that ranking takes by itself, by estimate.
const AUTO_BYTES: u64 = 1 << 30;
/// About what a token and a chunk take.
const TOKEN_BYTES: u64 = 7;
const CHUNK_BYTES: u64 = 64;

/// The snapshots of a handle, and how they come about.
pub(in crate::index) struct Ranker {
    ranking: Ranking,
    snapshots: Cache<Snapshot>,
    /// Whether a search asked before.
    asked: AtomicBool,
    /// Whether there was a snapshot once: no search waits for the next one.
    served: AtomicBool,
}

impl Ranker {
    pub fn new(ranking: Ranking, tokenizer: TokenizerKind, background: Background) -> Self {
        Self {
            ranking,
            snapshots: Cache::new(background, Source::new(tokenizer)),
            asked: AtomicBool::new(false),
            served: AtomicBool::new(false),
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

    /// How many bytes of memory ranking takes now.
    pub fn bytes(&self) -> usize {
        self.snapshots.newest().map_or(0, |newest| newest.bytes())
    }

    /// Wait for the first snapshot where the caller asked for memory, unless another search does.
    ///
    /// To be called without a connection. What cannot be read FTS5 cannot read either, and says so
    /// when it is asked.
    pub fn load(&self) -> Result<()> {
        let waits = self.ranking == Ranking::Memory && !self.served.load(Ordering::Relaxed);
        if !waits || self.snapshots.newest().is_some() || self.snapshots.is_loading() {
            return Ok(());
        }
        match self.snapshots.load_after(None) {
            Err(error) if error.code() == ErrorCode::Interrupted => Err(error),
            _ => Ok(()),
        }
    }

    /// The snapshot of the generation that `connection` sees, or none where FTS5 must rank; None
    /// when the caller, who `waits` for what is newer, had better begin anew.
    pub fn acquire(
        &self,
        connection: &Connection,
        generation: i64,
        waits: bool,
    ) -> rusqlite::Result<Option<Option<Arc<Snapshot>>>> {
        if self.ranking == Ranking::Fts5 {
            return Ok(Some(None));
        }
        let asked = self.asked.swap(true, Ordering::Relaxed);
        match self.snapshots.at(connection, generation) {
            Ok(At::Current(snapshot)) => {
                self.served.store(true, Ordering::Relaxed);
                Ok(Some(Some(snapshot).filter(|snapshot| snapshot.is_fit())))
            }
            Ok(At::Later) if waits => Ok(None),
            Ok(At::Later) => Ok(Some(None)),
            Ok(At::Stale) => {
                if asked && !self.snapshots.is_loading() && self.is_due(connection)? {
                    // What nobody can use any more makes room for what is read.
                    self.snapshots.drop_before(generation);
                    // Its failure is a notice; FTS5 answers.
                    let _ = self.snapshots.load_in_background();
                }
                Ok(Some(None))
            }
            Err(error) if is_interrupt(&error) => Err(error),
            // If the file cannot be read, FTS5 says so.
            Err(_) => Ok(Some(None)),
        }
    }

    /// Whether a snapshot is to be made: `auto` makes none that would be too large.
    fn is_due(&self, connection: &Connection) -> rusqlite::Result<bool> {
        if self.ranking == Ranking::Memory {
            return Ok(true);
        }
        let totals = match stored::totals(connection) {
            Ok(totals) => totals,
            Err(Failure::Sqlite(error)) => return Err(error),
            Err(Failure::Unfit) => return Ok(false),
        };
        let chunks = totals.rows.saturating_mul(CHUNK_BYTES);
        let tokens = totals.tokens.saturating_mul(TOKEN_BYTES);
        Ok(chunks.saturating_add(tokens) <= AUTO_BYTES)
    }
}

#[cfg(test)]
impl Ranker {
    /// Have every load call this when it begins.
    pub fn on_load(&self, note: impl Fn() + Send + Sync + 'static) {
        *self.snapshots.source().on_load.lock().unwrap() = Some(Arc::new(note));
    }

    /// Wait for a snapshot, whoever loads it.
    pub fn wait_for_load(&self) -> Result<()> {
        self.snapshots.load_after(None)
    }
}
