//! What a search reads: one state of the index, whatever is written meanwhile.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};

use super::cache::At;
use super::connections::ReadTransaction;
use super::paths::Paths;
use super::ranking::{Acquired, Snapshot};
use super::read::count_chunks;
use super::search::without_chunk;
use super::selection::GroupBy;
use super::slugs::{self, Slugs};
use super::texts::{KeptTexts, OF_ROWS, Texts};
use super::vectors::Matrix;
use super::{Failure, Index, changes};
use crate::error::{ErrorCode, Result};

/// How often a search begins anew because others write faster than it can read. After that it
/// reads what it needs in its own transaction.
const ATTEMPTS: usize = 4;

/// What a search has to have in memory.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Needs {
    /// Whether it ranks by BM25.
    pub keywords: bool,
    /// Whether it searches vectors.
    pub vectors: bool,
    /// Whether it groups what it finds.
    pub group_by: Option<GroupBy>,
    /// Whether it looks for slugs that are like words.
    pub slugs: bool,
}

/// One state of the index, on one connection. Rows are numbers to look up in it, and mean nothing
/// in another state.
///
/// While it lives, the thread must not ask the [`Index`] itself: in memory it could wait for a
/// writer that waits for it.
pub(crate) struct Session<'a> {
    pub(super) index: &'a Index,
    pub(super) connection: &'a Connection,
    /// How many transactions made it what it is: the same number means the same state.
    generation: i64,
    /// What ranks by BM25; None where FTS5 does, or where it was not asked for.
    pub(super) keywords: Option<Arc<Snapshot>>,
    /// The vectors, or why they cannot be read; None where they were not asked for.
    pub(super) matrix: Option<Result<Arc<Matrix>>>,
    /// Which chunks share a path, where they are grouped by it.
    pub(super) paths: Option<Arc<Paths>>,
    /// The slugs, where it was known beforehand that they are needed.
    slugs: Option<Arc<Slugs>>,
    lacks_slugs: Cell<bool>,
    texts: Arc<KeptTexts>,
}

/// A row that a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RankedRow {
    pub row: i64,
    /// What it has in common with all others of its group; without grouping the row itself.
    pub key: i64,
    /// What the order is by; higher is better.
    pub score: f64,
}

impl Index {
    /// Let `work` search the index as it is now, with what it needs in memory.
    pub(crate) fn session<T>(
        &self,
        needs: Needs,
        work: impl FnOnce(&Session<'_>) -> Result<T>,
    ) -> Result<T> {
        self.check_process()?;
        let mut work = Some(work);
        let mut seen = None;
        for attempt in 0.. {
            // Outside a transaction, since reading everything takes long and has one of its own.
            let loaded = self.loaded(needs, seen)?;
            let result = self.on_reader(|reader| {
                let transaction = ReadTransaction::begin(reader)?;
                let opened = self.session_at(&transaction, needs, &loaded, attempt < ATTEMPTS)?;
                let session = match opened {
                    Ok(session) => session,
                    Err(generation) => {
                        // What is needed is of another generation by now.
                        seen = Some(generation - 1);
                        return Ok(None);
                    }
                };
                let result = work.take().map(|work| work(&session));
                result.transpose().map_err(Failure::from)
            })?;
            if let Some(result) = result {
                return Ok(result);
            }
        }
        Err(self.location.damaged("its generation cannot be read"))
    }

    /// Wait until what is needed is in memory, and later than `seen`; vectors may be unreadable.
    fn loaded(&self, needs: Needs, seen: Option<i64>) -> Result<Result<()>> {
        if needs.keywords {
            self.ranker.load()?;
        }
        if needs.group_by.is_some() {
            self.paths.load_after(seen)?;
        }
        if needs.slugs {
            self.slugs.load_after(seen)?;
        }
        if !needs.vectors {
            return Ok(Ok(()));
        }
        match self.vectors.load_after(seen) {
            Err(error) if error.code() == ErrorCode::Interrupted => Err(error),
            loaded => Ok(loaded),
        }
    }

    /// The state that `connection` sees; its generation where something is not in memory for it
    /// and `waits` says that the caller rather begins anew.
    fn session_at<'a>(
        &'a self,
        connection: &'a Connection,
        needs: Needs,
        loaded: &Result<()>,
        waits: bool,
    ) -> rusqlite::Result<std::result::Result<Session<'a>, i64>> {
        let generation = changes::generation(connection)?;
        let matrix = match loaded {
            _ if !needs.vectors => Some(None),
            Err(error) => Some(Some(Err(error.clone()))),
            Ok(()) => match self.vectors.current(connection, generation, waits) {
                Ok(found) => found.map(|found| Some(Ok(found))),
                Err(error) => Some(Some(Err(self.said(error)))),
            },
        };
        let paths = match needs.group_by {
            None => Some(None),
            Some(GroupBy::Path) => self.paths.current(connection, generation, waits)?.map(Some),
        };
        let keywords = if needs.keywords {
            match self.ranker.acquire(connection, generation, waits)? {
                Acquired::Snapshot(snapshot) => Some(Some(snapshot)),
                Acquired::Fts5 => Some(None),
                Acquired::Later => None,
            }
        } else {
            Some(None)
        };
        let slugs = if needs.slugs {
            self.slugs.current(connection, generation, waits)?.map(Some)
        } else {
            Some(None)
        };
        let (Some(keywords), Some(matrix), Some(paths), Some(slugs)) =
            (keywords, matrix, paths, slugs)
        else {
            return Ok(Err(generation));
        };
        let texts = match self.texts.at(connection, generation)? {
            At::Current(texts) => texts,
            At::Later | At::Stale => self.texts.load_here(connection)?,
        };
        Ok(Ok(Session {
            index: self,
            connection,
            generation,
            keywords,
            matrix,
            paths,
            slugs,
            lacks_slugs: Cell::new(false),
            texts,
        }))
    }
}

impl Session<'_> {
    /// Run statements, and map their errors.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        work(self.connection).map_err(|error| self.index.said(error))
    }

    /// How many chunks there are.
    pub fn chunk_count(&self) -> Result<u64> {
        self.read(count_chunks)
    }

    /// What stands for the group of a row; without grouping the row itself.
    pub fn key(&self, row: i64) -> Option<i64> {
        match &self.paths {
            None => Some(row),
            Some(paths) => paths.of_row(row),
        }
    }

    /// What stands for the group that a chunk of this id and path would be in; None when there is
    /// nothing that it could be one document with.
    pub fn key_of(&self, id: &str, path: &str) -> Result<Option<i64>> {
        match &self.paths {
            None => self.row(id),
            Some(paths) => Ok(paths.number(path)),
        }
    }

    /// The slugs of all chunks; None when they must be read first, for which this transaction must
    /// end: then [`Self::lacks_slugs`], and the search is to begin anew with them as a need.
    pub fn slugs(&self) -> Result<Option<Arc<Slugs>>> {
        let slugs = match &self.slugs {
            Some(slugs) => Some(Arc::clone(slugs)),
            None => {
                match self.read(|connection| self.index.slugs.at(connection, self.generation))? {
                    At::Current(slugs) => Some(slugs),
                    At::Later | At::Stale => None,
                }
            }
        };
        self.lacks_slugs.set(slugs.is_none());
        slugs::merge_when_due(&self.index.slugs, &self.index.background);
        Ok(slugs)
    }

    /// Whether something was not found since the slugs were not there.
    pub fn lacks_slugs(&self) -> bool {
        self.lacks_slugs.get()
    }

    /// The row of an id.
    pub fn row(&self, id: &str) -> Result<Option<i64>> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT row FROM knowledge_chunks WHERE id = ?")?
                .query_row([id], |found| found.get(0))
                .optional()
        })
    }

    /// Path and id of a row that was found by `what`.
    pub(super) fn name(&self, row: i64, what: &str) -> rusqlite::Result<(String, String)> {
        self.connection
            .prepare_cached("SELECT path, id FROM knowledge_chunks WHERE row = ?")?
            .query_row([row], |found| Ok((found.get(0)?, found.get(1)?)))
            .map_err(|error| without_chunk(what, error))
    }

    /// The texts of rows, each with what it was found by, in their order.
    ///
    /// To be called late and of few rows: what is not kept in memory is read from the file, which
    /// is most of the time of a search.
    pub fn texts(&self, rows: &[(i64, &str)]) -> Result<Vec<Arc<Texts>>> {
        let mut texts = self.texts.get(rows.iter().map(|(row, _)| *row));
        let mut missing: Vec<usize> = (0..rows.len())
            .filter(|slot| texts[*slot].is_none())
            .collect();
        if !missing.is_empty() {
            // In the order of the file: neighbors are often on one page.
            missing.sort_unstable_by_key(|slot| rows[*slot].0);
            let wanted: Vec<_> = missing.iter().map(|slot| rows[*slot]).collect();
            let read = self.read(|connection| read_texts(connection, &wanted))?;
            for (slot, (_, read, _)) in missing.iter().zip(&read) {
                texts[*slot] = Some(Arc::clone(read));
            }
            self.texts.keep(read.into_iter());
        }
        Ok(texts.into_iter().flatten().collect())
    }
}

/// Rows with their texts and about how many bytes these take, in the order asked.
fn read_texts(
    connection: &Connection,
    rows: &[(i64, &str)],
) -> rusqlite::Result<Vec<(i64, Arc<Texts>, usize)>> {
    let wanted: Vec<Value> = rows.iter().map(|(row, _)| (*row).into()).collect();
    let mut of_rows = connection.prepare_cached(OF_ROWS)?;
    let mut found = of_rows.query([Rc::new(wanted)])?;
    let mut read = Vec::with_capacity(rows.len());
    for (row, what) in rows {
        // A row without a chunk is left out, and the next comes instead.
        match found.next()? {
            Some(found) if found.get(0) == Ok(*row) => {
                let (texts, bytes) = Texts::from_row(found)?;
                read.push((*row, Arc::new(texts), bytes));
            }
            _ => return Err(without_chunk(what, rusqlite::Error::QueryReturnedNoRows)),
        }
    }
    Ok(read)
}
