//! Reading chunks as they were stored.

use std::rc::Rc;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, ffi};

use super::chunk::{COLUMNS, Chunk, VECTOR};
use crate::interrupt::CancelTicker;

/// Some chunks in row order, and where the next page begins.
#[derive(Debug)]
pub struct Page {
    /// The chunks; empty at the end.
    pub chunks: Vec<Chunk>,
    /// The cursor of the next page.
    pub after: i64,
}

impl Page {
    /// Up to `limit` chunks that meet a condition and whose row comes after `after`.
    pub(crate) fn read(
        connection: &Connection,
        condition: &str,
        after: i64,
        limit: u32,
    ) -> rusqlite::Result<Self> {
        let sql = format!(
            "SELECT row, {COLUMNS}, {VECTOR} FROM knowledge_chunks
              WHERE row > ? AND {condition} ORDER BY row LIMIT ?"
        );
        let mut page = Self {
            chunks: Vec::new(),
            after,
        };
        for found in connection
            .prepare_cached(&sql)?
            .query_map((after, limit), Chunk::with_vector)?
        {
            let (row, chunk) = found?;
            // Rows of a damaged tree can go backwards, and the pages would never end.
            if row <= page.after {
                return Err(out_of_order(row));
            }
            page.after = row;
            page.chunks.push(chunk);
        }
        Ok(page)
    }
}

impl Page {
    /// The chunks of these ascending rows, without those that are gone.
    pub(crate) fn of_rows(connection: &Connection, rows: &[i64]) -> rusqlite::Result<Self> {
        let sql = format!(
            "SELECT row, {COLUMNS}, {VECTOR} FROM knowledge_chunks WHERE row IN rarray(?) ORDER BY row"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let found = statement.query_map([row_array(rows)], Chunk::with_vector)?;
        let chunks: rusqlite::Result<Vec<Chunk>> = found.map(|one| Ok(one?.1)).collect();
        Ok(Self {
            chunks: chunks?,
            after: rows.last().copied().unwrap_or(i64::MAX),
        })
    }
}

/// Return the rows with their chunks, without vectors, in row order.
pub(crate) fn chunks_of_rows(
    connection: &Connection,
    rows: &[i64],
) -> rusqlite::Result<Vec<(i64, Chunk)>> {
    let sql =
        format!("SELECT row, {COLUMNS} FROM knowledge_chunks WHERE row IN rarray(?) ORDER BY row");
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_map([row_array(rows)], Chunk::with_row)?;
    found.collect()
}

/// Rows as one SQL value.
fn row_array(rows: &[i64]) -> Rc<Vec<Value>> {
    Rc::new(rows.iter().map(|row| Value::Integer(*row)).collect())
}

fn out_of_order(row: i64) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(
        ffi::Error::new(ffi::SQLITE_CORRUPT),
        Some(format!("row {row} is out of order")),
    )
}

/// The chunk of an id.
pub fn chunk_of(connection: &Connection, id: &str) -> rusqlite::Result<Option<Chunk>> {
    let sql = format!("SELECT row, {COLUMNS}, {VECTOR} FROM knowledge_chunks WHERE id = ?");
    let found = connection
        .prepare_cached(&sql)?
        .query_row([id], Chunk::with_vector)
        .optional()?;
    Ok(found.map(|(_, chunk)| chunk))
}

/// Return the number of chunks.
pub(crate) fn count_chunks(connection: &Connection) -> rusqlite::Result<u64> {
    connection.query_row("SELECT count(*) FROM knowledge_chunks", [], |row| {
        row.get(0)
    })
}

/// The row of an id.
pub(crate) fn row_of(connection: &Connection, id: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT row FROM knowledge_chunks WHERE id = ?")?
        .query_row([id], |found| found.get(0))
        .optional()
}

/// Call `see` with each path, in order, and its rows: by ordinal, then by row.
pub(super) fn each_path(
    connection: &Connection,
    mut see: impl FnMut(&str, &[i64]),
) -> rusqlite::Result<()> {
    // The index on paths holds all that is read here, in this order.
    let sql = "SELECT path, row FROM knowledge_chunks ORDER BY path, ordinal, row";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query([])?;
    let mut pace = CancelTicker::default();
    let mut path: Option<String> = None;
    let mut rows = Vec::new();
    while let Some(found) = found.next()? {
        pace.read(1)?;
        let next = found.get_ref(0)?.as_str()?;
        if path.as_deref() != Some(next) {
            if let Some(path) = path.replace(next.to_owned()) {
                see(&path, &rows);
            }
            rows.clear();
        }
        rows.push(found.get(1)?);
    }
    if let Some(path) = path {
        see(&path, &rows);
    }
    Ok(())
}

/// Path and id of a row that was found by `what`.
pub(crate) fn name_of(
    connection: &Connection,
    row: i64,
    what: &str,
) -> rusqlite::Result<(String, String)> {
    connection
        .prepare_cached("SELECT path, id FROM knowledge_chunks WHERE row = ?")?
        .query_row([row], |found| Ok((found.get(0)?, found.get(1)?)))
        .map_err(|error| without_chunk(what, error))
}

/// Return the error for a hit without a chunk, which means that the file is damaged.
pub(crate) fn without_chunk(what: &str, error: rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::QueryReturnedNoRows => rusqlite::Error::SqliteFailure(
            ffi::Error::new(ffi::SQLITE_CORRUPT),
            Some(format!("{what} has no chunk")),
        ),
        error => error,
    }
}
