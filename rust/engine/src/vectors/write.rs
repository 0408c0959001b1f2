//! Writing: the rows of `embeddings`, and of `staged_embeddings`.

use std::rc::Rc;

use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use crate::storage::settings::{self, STAGED_DIMENSIONS, STAGED_EMBEDDER, STAGED_EMBEDDER_DETAILS};
use crate::unit_vector;

/// Writes vectors by statements prepared once per connection.
pub(crate) struct VectorWriter<'c> {
    find: CachedStatement<'c>,
    put: CachedStatement<'c>,
    remove: CachedStatement<'c>,
}

impl<'c> VectorWriter<'c> {
    pub fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            find: connection.prepare_cached("SELECT vector FROM embeddings WHERE row = ?")?,
            put: connection.prepare_cached("INSERT OR REPLACE INTO embeddings VALUES (?, ?)")?,
            remove: connection.prepare_cached("DELETE FROM embeddings WHERE row = ?")?,
        })
    }

    /// Store the vector of a new row.
    pub fn add(&mut self, row: i64, embedding: &[f32]) -> rusqlite::Result<()> {
        let blob = unit_vector::to_blob(&unit_vector::unit(embedding));
        self.put.execute(params![row, blob])?;
        Ok(())
    }

    /// Store the vector of a row; false if it was stored already.
    pub fn set(&mut self, row: i64, embedding: &[f32]) -> rusqlite::Result<bool> {
        let blob = unit_vector::to_blob(&unit_vector::unit(embedding));
        let same = |found: &Row<'_>| Ok(found.get_ref(0)?.as_bytes()? == blob);
        if self.find.query_row([row], same).optional()? == Some(true) {
            return Ok(false);
        }
        self.put.execute(params![row, blob])?;
        Ok(true)
    }

    /// Remove the vector of a row; false if it had none.
    pub fn remove(&mut self, row: i64) -> rusqlite::Result<bool> {
        Ok(self.remove.execute([row])? > 0)
    }
}

/// Drop all that is staged.
pub(crate) fn clear_staged(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM staged_embeddings", [])?;
    settings::set(connection, STAGED_EMBEDDER, None)?;
    settings::set(connection, STAGED_EMBEDDER_DETAILS, None)?;
    settings::set(connection, STAGED_DIMENSIONS, None)
}

/// Drop the staged vectors of rows that were written or removed.
pub(crate) fn unstage(connection: &Connection, rows: &[i64]) -> rusqlite::Result<()> {
    let is_used: bool = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM staged_embeddings)")?
        .query_row([], |row| row.get(0))?;
    if is_used {
        let rows: Rc<Vec<Value>> = Rc::new(rows.iter().map(|row| (*row).into()).collect());
        connection
            .prepare_cached("DELETE FROM staged_embeddings WHERE row IN rarray(?)")?
            .execute([rows])?;
    }
    Ok(())
}
