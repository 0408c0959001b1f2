//! The chunks of an index as the rows of a table: read many, count, iterate, and write by filter.

use std::collections::VecDeque;
use std::sync::Arc;

use rusqlite::Connection;
use serde_json::{Map, Value};

use super::handle::Index;
use super::write::{Removal, Writer};
use crate::chunks::{Chunk, Filters, Page, RowSet, chunk_of, chunks_of_rows, row_of};
use crate::error::{Error, ErrorCode, Result};
use crate::interrupt::CancelTicker;
use crate::storage::ReadSnapshot;
use crate::storage::generations::generation;

/// Rows per read or write. A smaller number would cost more statements, a larger one more memory.
const BATCH: u32 = 256;

/// The values that [`Index::update_where`] gives to chunks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Update {
    /// Keys of the metadata and their new values. Null removes a key.
    pub metadata: Map<String, Value>,
    /// The new tags, in place of all earlier ones. None leaves tags as they are.
    pub tags: Option<Vec<String>>,
}

/// An iteration over the chunks of one state of an index. See [`Index::chunks`].
pub struct ChunkReader {
    state: State,
    /// The rows that pass the filters. None if all do.
    rows: Option<Arc<RowSet>>,
    after: i64,
}

enum State {
    /// A file is read page by page.
    File(ReadSnapshot),
    /// All chunks of an index in memory that pass, copied when the iteration began.
    Copied(VecDeque<Chunk>),
}

impl Index {
    /// The chunks of these ids, in their order. None for an id without a chunk.
    pub fn get_many<T: AsRef<str>>(&self, ids: &[T]) -> Result<Vec<Option<Chunk>>> {
        self.database.read(|connection| {
            let mut pace = CancelTicker::default();
            let get = |id: &T| {
                pace.read(1)?;
                chunk_of(connection, id.as_ref())
            };
            ids.iter().map(get).collect()
        })
    }

    /// Whether there is a chunk of this id.
    pub fn contains(&self, id: &str) -> Result<bool> {
        let row = self.database.read(|connection| row_of(connection, id))?;
        Ok(row.is_some())
    }

    /// The number of chunks that pass the filters.
    pub fn count(&self, filters: &Filters) -> Result<u64> {
        self.database
            .read(|connection| match self.rows_passing(connection, filters)? {
                Some(rows) => Ok(rows.len() as u64),
                None => self.chunk_count(connection),
            })
    }

    /// Begin an iteration over the chunks that pass the filters, in row order.
    ///
    /// It shows the state in which it began, whatever is written meanwhile. Of a file it holds one page
    /// of chunks; an index in memory is copied.
    pub fn chunks(&self, filters: &Filters) -> Result<ChunkReader> {
        let Some(snapshot) = self.database.snapshot()? else {
            return self.copied(filters);
        };
        let rows = self.database.in_snapshot(&snapshot, |connection| {
            self.rows_passing(connection, filters)
        })?;
        Ok(ChunkReader {
            state: State::File(snapshot),
            rows,
            after: 0,
        })
    }

    /// The next chunks of an iteration; none at its end.
    pub fn next_chunks(&self, reader: &mut ChunkReader) -> Result<Vec<Chunk>> {
        let page = match &mut reader.state {
            State::Copied(chunks) => {
                self.database.read(|_| Ok(()))?; // an error if it is closed
                return Ok(chunks.drain(..chunks.len().min(BATCH as usize)).collect());
            }
            State::File(snapshot) => self.database.in_snapshot(snapshot, |connection| {
                page(connection, reader.rows.as_deref(), reader.after)
            })?,
        };
        reader.after = page.after;
        Ok(page.chunks)
    }

    /// Remove the chunks that pass the filters, in one transaction; returns their number.
    ///
    /// Fails for filters that every chunk passes for lack of a condition.
    pub fn delete_where(&self, filters: &Filters) -> Result<usize> {
        check_has_condition(filters, "delete")?;
        self.database.write(|connection| {
            let mut removal = Removal::prepare(connection)?;
            let rows = self.rows_passing(connection, filters)?.unwrap_or_default();
            each_batch(connection, &rows, |row, chunk| removal.remove(row, chunk))?;
            removal.finish()
        })
    }

    /// Change metadata and tags of the chunks that pass the filters, in one transaction; returns the
    /// number of chunks that passed, also of those that were so already. Vectors stay.
    ///
    /// Fails for filters that every chunk passes for lack of a condition, and for an update of nothing.
    pub fn update_where(&self, filters: &Filters, update: &Update) -> Result<usize> {
        check_has_condition(filters, "update")?;
        if *update == Update::default() {
            return Err(Error::new(
                ErrorCode::InvalidOption,
                "update changes nothing: name metadata or tags",
            ));
        }
        self.database.try_write(|connection| {
            let mut writer = Writer::prepare(connection)?;
            let rows = self.rows_passing(connection, filters)?.unwrap_or_default();
            each_batch(connection, &rows, |_, chunk| {
                writer.upsert(&update.applied_to(chunk))
            })?;
            writer.finish()?;
            Ok(rows.len())
        })
    }

    /// The rows that pass in the state that `connection` sees. None if all do.
    fn rows_passing(
        &self,
        connection: &Connection,
        filters: &Filters,
    ) -> rusqlite::Result<Option<Arc<RowSet>>> {
        if filters.is_empty() {
            return Ok(None);
        }
        let rows = self
            .filters
            .rows(connection, generation(connection)?, filters)?;
        Ok(Some(rows))
    }

    fn copied(&self, filters: &Filters) -> Result<ChunkReader> {
        let chunks = self.database.read(|connection| {
            let rows = self.rows_passing(connection, filters)?;
            let (mut chunks, mut after) = (VecDeque::new(), 0);
            loop {
                let page = page(connection, rows.as_deref(), after)?;
                if page.chunks.is_empty() {
                    return Ok(chunks);
                }
                after = page.after;
                chunks.extend(page.chunks);
            }
        })?;
        Ok(ChunkReader {
            state: State::Copied(chunks),
            rows: None,
            after: 0,
        })
    }
}

impl Update {
    /// A chunk with the new values, without its vector.
    fn applied_to(&self, chunk: &Chunk) -> Chunk {
        let mut changed = chunk.clone();
        for (key, value) in &self.metadata {
            if value.is_null() {
                changed.metadata.shift_remove(key);
            } else {
                changed.metadata.insert(key.clone(), value.clone());
            }
        }
        if let Some(tags) = &self.tags {
            changed.tags.clone_from(tags);
        }
        changed
    }
}

/// Up to [`BATCH`] chunks after a row: of `rows`, or of all.
fn page(connection: &Connection, rows: Option<&RowSet>, after: i64) -> rusqlite::Result<Page> {
    match rows {
        None => Page::read(connection, "TRUE", after, BATCH),
        Some(rows) => Page::of_rows(connection, &rows.after(after, BATCH as usize)),
    }
}

/// Call `work` with each of these rows and its chunk, in order. `work` may change the row.
fn each_batch(
    connection: &Connection,
    rows: &RowSet,
    mut work: impl FnMut(i64, &Chunk) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut pace = CancelTicker::default();
    let mut batch = rows.after(0, BATCH as usize);
    while let Some(last) = batch.last().copied() {
        for (row, chunk) in chunks_of_rows(connection, &batch)? {
            pace.read(1)?;
            work(row, &chunk)?;
        }
        batch = rows.after(last, BATCH as usize);
    }
    Ok(())
}

/// Reject filters without a condition, with which `verb` would write all chunks.
fn check_has_condition(filters: &Filters, verb: &str) -> Result<()> {
    if filters.has_test() {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::InvalidFilter,
        format!(
            "where has no condition, so every chunk passes; name the chunks to {verb}, or all of them as \
             {{\"id\": {{\"$exists\": true}}}}"
        ),
    ))
}
