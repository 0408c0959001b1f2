//! What a search reads: one state of the index, whatever is written meanwhile.

use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};

use super::connections::ReadTransaction;
use super::matrix::{self, Matrix};
use super::paths::{self, Paths};
use super::search::without_chunk;
use super::selection::GroupBy;
use super::texts::{OF_ROWS, Texts};
use super::{Failure, Index, changes};
use crate::error::Result;

/// One state of the index, on one connection. Rows are numbers to look up in it, and mean nothing
/// in another state.
///
/// While it lives, the thread must not ask the [`Index`] itself: in memory it could wait for a
/// writer that waits for it.
pub(crate) struct Session<'a> {
    pub(super) index: &'a Index,
    pub(super) connection: &'a Connection,
    /// How many transactions made it what it is: the same number means the same state.
    pub(super) generation: i64,
    /// The vectors, or why they cannot be read; None where they were not asked for.
    pub(super) matrix: Option<Result<Arc<Matrix>>>,
    /// Which chunks share a path, where they are grouped by it.
    pub(super) paths: Option<Arc<Paths>>,
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
    /// Let `work` search the index as it is now, its vectors too if `vectors` says so.
    pub(crate) fn session<T>(
        &self,
        vectors: bool,
        group_by: Option<GroupBy>,
        work: impl FnOnce(&Session<'_>) -> Result<T>,
    ) -> Result<T> {
        self.on_reader(|reader| {
            // Locked before the transaction begins, the vectors first: see `matrix::current`.
            let mut cached = vectors.then(|| lock(&self.matrix));
            let mut cached_paths = group_by.map(|GroupBy::Path| lock(&self.paths));
            let transaction = ReadTransaction::begin(reader)?;
            let generation = changes::generation(&transaction)?;
            let current = |cached: &mut MutexGuard<'_, _>| {
                matrix::current(&transaction, generation, cached).map_err(|error| self.said(error))
            };
            let matrix = cached.as_mut().map(current);
            drop(cached);
            let paths = cached_paths
                .as_mut()
                .map(|cached| paths::current(&transaction, generation, cached))
                .transpose()?;
            drop(cached_paths);
            self.texts.follow(&transaction, generation)?;
            let session = Session {
                index: self,
                connection: &transaction,
                generation,
                matrix,
                paths,
            };
            work(&session).map_err(Failure::from)
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session<'_> {
    /// Run statements, and put their errors into our words.
    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        work(self.connection).map_err(|error| self.index.said(error))
    }

    /// What stands for the group of a row; without grouping the row itself.
    pub fn key(&self, row: i64) -> Option<i64> {
        match &self.paths {
            None => Some(row),
            Some(paths) => paths.of_row(row).map(number),
        }
    }

    /// What stands for the group that a chunk of this id and path would be in; None when there is
    /// nothing that it could be one document with.
    pub fn key_of(&self, id: &str, path: &str) -> Result<Option<i64>> {
        match &self.paths {
            None => self.row(id),
            Some(paths) => Ok(paths.number(path).map(number)),
        }
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
        let kept = &self.index.texts;
        let mut texts = kept.get(self.generation, rows.iter().map(|(row, _)| *row));
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
            kept.keep(self.generation, read.into_iter());
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

/// The number of a path, as a key.
fn number(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}
