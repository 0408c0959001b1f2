//! Ranking by BM25 in memory (spec/index.md, "Ranking in memory").
//!
//! FTS5 is the store and the truth. A [`Snapshot`] holds its postings of one generation of the
//! index: first read from FTS5's own tables ([`stored`]), then kept up to date by reading the
//! texts of the few chunks that changed ([`build`]). An expression becomes a [`Plan`], its phrases
//! are looked up in each part of the snapshot ([`phrase`]), and their worths are added up by
//! FTS5's formula ([`counts`]) in FTS5's order ([`score`]): ids, order and scores are the
//! same to the bit. Whenever there is no snapshot of the generation, FTS5 answers,
//! with the same formula ([`function`]).

mod allowed;
mod best;
mod build;
mod counts;
#[cfg(test)]
mod differential;
mod failure;
mod function;
mod phrase;
mod plan;
mod postings;
mod score;
mod segment;
mod snapshot;
mod stored;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::filters::Filters;
use super::location::Location;
use super::phrase_counts::PhraseCounts;
use super::search::Ranked;
use super::{changes, fork};
use crate::error::{Error, ErrorCode, Result};
use crate::interrupt;
use crate::text::tokenizer::TokenizerKind;

use best::Best;
use failure::Failure;
use snapshot::Snapshot;

pub(super) use function::register;
pub(super) use plan::Plan;

/// The most memory that ranking takes by itself, by estimate.
const AUTO_BYTES: u64 = 1 << 30;
/// About what a token and a chunk take.
const TOKEN_BYTES: u64 = 7;
const CHUNK_BYTES: u64 = 64;
/// A search reads so many changed chunks again; when more changed, all is read anew.
const REFRESHED_ROWS: usize = 1024;

/// Who ranks by BM25.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ranking {
    /// Memory, from the second search on, where it takes no more than 1 GiB; FTS5 answers until
    /// a thread beside has read the index.
    #[default]
    Auto,
    /// Memory: the first search reads the index, and FTS5 answers those that come meanwhile.
    Memory,
    /// FTS5 alone.
    Fts5,
}

impl Ranking {
    /// All of them, the default first.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Memory, Self::Fts5];

    /// The word users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Memory => "memory",
            Self::Fts5 => "fts5",
        }
    }

    /// The ranking of that name.
    pub fn from_name(name: &str) -> Result<Self> {
        let found = Self::ALL
            .into_iter()
            .find(|ranking| ranking.as_str() == name);
        found.ok_or_else(|| {
            Error::new(
                ErrorCode::InvalidOption,
                format!("ranking must be \"auto\", \"memory\" or \"fts5\", not {name:?}"),
            )
        })
    }
}

/// The snapshot of a handle, and how it comes about.
pub(super) struct Ranker {
    ranking: Ranking,
    tokenizer: TokenizerKind,
    location: Location,
    pool: fork::Shared,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Whether the handle is closing, so that nothing needs to be built any more.
    closing: AtomicBool,
}

#[derive(Default)]
struct State {
    snapshot: Option<Arc<Snapshot>>,
    /// Whether somebody reads the index now.
    building: bool,
    /// Whether a search asked before.
    asked: bool,
    /// A generation that no snapshot can be made of.
    unfit: Option<i64>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Read the index, unless the handle is closed or the process is about to fork.
    fn build(&self, connection: &Connection) -> rusqlite::Result<()> {
        let generation = changes::generation(connection)?;
        let stop = || self.closing.load(Ordering::Relaxed) || fork::is_due() || interrupt::is_due();
        let built = build::from_stored(connection, &stop);
        let mut state = self.state();
        match built {
            Ok(segment) => {
                let known = state.snapshot.as_ref().map(|snapshot| snapshot.generation);
                if known.is_none_or(|known| known < generation) {
                    state.snapshot = Some(Arc::new(Snapshot::new(generation, segment)));
                }
                Ok(())
            }
            Err(Failure::Stopped) => Ok(()),
            Err(Failure::Unfit) => {
                state.unfit = Some(generation);
                Ok(())
            }
            Err(Failure::Sqlite(error)) => {
                state.unfit = Some(generation);
                Err(error)
            }
        }
    }
}

/// Who builds; nobody else does until it is dropped.
struct Building<'s>(&'s Shared);

impl Drop for Building<'_> {
    fn drop(&mut self) {
        self.0.state().building = false;
    }
}

impl Ranker {
    pub fn new(
        ranking: Ranking,
        tokenizer: TokenizerKind,
        location: Location,
        pool: fork::Shared,
    ) -> Self {
        Self {
            ranking,
            tokenizer,
            location,
            pool,
            shared: Arc::default(),
        }
    }

    /// Who ranks.
    pub fn ranking(&self) -> Ranking {
        self.ranking
    }

    /// Have whoever builds stop soon: it holds the connections that closing waits for.
    pub fn stop(&self) {
        self.shared.closing.store(true, Ordering::Relaxed);
    }

    /// Let go of the snapshot.
    pub fn clear(&self) {
        self.shared.state().snapshot = None;
    }

    /// How many bytes of memory ranking takes now.
    pub fn bytes(&self) -> usize {
        let state = self.shared.state();
        state
            .snapshot
            .as_ref()
            .map_or(0, |snapshot| snapshot.bytes())
    }

    /// The rows that match and pass the filters, best first, and how common the phrases are; None
    /// when FTS5 must be asked. `generation` is the one that `connection` sees.
    ///
    /// Best called first in a transaction: one that began before another thread's may be of an older
    /// generation than the snapshot, and FTS5 answers.
    pub fn rank(
        &self,
        connection: &Connection,
        generation: i64,
        plan: &Plan,
        limit: Option<usize>,
        filters: &Filters,
    ) -> rusqlite::Result<Option<(Vec<Ranked>, PhraseCounts)>> {
        if plan.only_fts5 {
            return Ok(None);
        }
        let Some(snapshot) = self.snapshot(connection, generation)? else {
            return Ok(None);
        };
        let found = snapshot.find(plan);
        let limit = limit.unwrap_or(usize::MAX);
        let ranked = if filters.is_empty() {
            found.rank(found.counts(), Best::new(limit))?.finish()
        } else {
            let all = found.rank(found.counts(), Best::new(usize::MAX))?.all();
            allowed::best(connection, filters, all, limit)?
        };
        // FTS5's scores are negative.
        let ranked = ranked.into_iter().map(|found| (found.row, -found.score));
        Ok(Some((ranked.collect(), found.phrase_counts())))
    }

    /// The snapshot of the generation that the connection sees; None when there is none yet.
    fn snapshot(
        &self,
        connection: &Connection,
        generation: i64,
    ) -> rusqlite::Result<Option<Arc<Snapshot>>> {
        if self.ranking == Ranking::Fts5 {
            return Ok(None);
        }
        let mut state = self.shared.state();
        if let Some(snapshot) = state.snapshot.take() {
            // A transaction that began before another thread's has no use for what that one made.
            let older = generation < snapshot.generation;
            let refreshed = self.refresh(connection, snapshot, generation)?;
            state.snapshot.clone_from(&refreshed);
            if refreshed.is_some() {
                return Ok(refreshed.filter(|_| !older));
            }
        }
        if state.building
            || state.unfit == Some(generation)
            || !self.is_due(connection, &mut state)?
        {
            return Ok(None);
        }
        state.building = true;
        drop(state);
        if self.ranking == Ranking::Auto {
            self.build_beside();
            return Ok(None);
        }
        let building = Building(&self.shared);
        self.shared.build(connection)?;
        drop(building);
        let state = self.shared.state();
        let built = state.snapshot.clone();
        Ok(built.filter(|snapshot| snapshot.generation == generation))
    }

    /// The snapshot of a generation from an earlier one; None when too much changed.
    fn refresh(
        &self,
        connection: &Connection,
        snapshot: Arc<Snapshot>,
        generation: i64,
    ) -> rusqlite::Result<Option<Arc<Snapshot>>> {
        if generation <= snapshot.generation {
            return Ok(Some(snapshot));
        }
        let Some(rows) = changes::since(connection, snapshot.generation)? else {
            return Ok(None);
        };
        if rows.len() > REFRESHED_ROWS {
            return Ok(None);
        }
        let refreshed = build::from_texts(connection, self.tokenizer, &rows)
            .and_then(|segment| Ok(snapshot.after(generation, &rows, segment)?));
        match refreshed {
            Ok(refreshed) => Ok(Some(Arc::new(refreshed))),
            Err(Failure::Sqlite(error)) => Err(error),
            Err(Failure::Unfit | Failure::Stopped) => Ok(None),
        }
    }

    /// Whether a snapshot is to be made. One search alone is not worth it: `auto` waits for the
    /// second, and makes none that would be too large.
    fn is_due(&self, connection: &Connection, state: &mut State) -> rusqlite::Result<bool> {
        if self.ranking == Ranking::Memory {
            return Ok(true);
        }
        if !std::mem::replace(&mut state.asked, true) {
            return Ok(false);
        }
        let totals = match stored::totals(connection) {
            Ok(totals) => totals,
            Err(Failure::Sqlite(error)) => return Err(error),
            Err(Failure::Unfit | Failure::Stopped) => return Ok(false),
        };
        let chunks = totals.rows.saturating_mul(CHUNK_BYTES);
        let tokens = totals.tokens.saturating_mul(TOKEN_BYTES);
        Ok(chunks.saturating_add(tokens) <= AUTO_BYTES)
    }

    /// Read the index in a thread of its own, on a connection of its own.
    fn build_beside(&self) {
        let (shared, pool) = (Arc::clone(&self.shared), Arc::clone(&self.pool));
        let location = self.location.clone();
        let read = move || {
            let _gate = fork::enter();
            let _building = Building(&shared);
            let pool = pool.read().unwrap_or_else(PoisonError::into_inner);
            let _turn = pool.as_ref()?.share();
            let connection = location.connection(true).ok()?;
            let behavior = TransactionBehavior::Deferred;
            let transaction = Transaction::new_unchecked(&connection, behavior).ok()?;
            // What cannot be read FTS5 cannot read either, and says so when it is asked.
            shared.build(&transaction).ok()
        };
        let thread = thread::Builder::new().name("hedgerow-ranking".to_owned());
        if thread.spawn(read).is_err() {
            self.shared.state().building = false;
        }
    }
}
