//! Writing: the rows of `sparse_vectors`.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use super::schema::create;
use crate::chunks::has_sparse_vectors;
use crate::sparse_vector::SparseVector;

/// Writes sparse vectors by statements prepared once per connection.
pub(crate) struct SparseWriter<'c> {
    connection: &'c Connection,
    /// None before the file has the table.
    statements: Option<Statements<'c>>,
}

struct Statements<'c> {
    find: CachedStatement<'c>,
    put: CachedStatement<'c>,
    remove: CachedStatement<'c>,
}

impl<'c> Statements<'c> {
    fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            find: connection.prepare_cached("SELECT vector FROM sparse_vectors WHERE row = ?")?,
            put: connection
                .prepare_cached("INSERT OR REPLACE INTO sparse_vectors VALUES (?, ?)")?,
            remove: connection.prepare_cached("DELETE FROM sparse_vectors WHERE row = ?")?,
        })
    }
}

impl<'c> SparseWriter<'c> {
    pub fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        let statements = if has_sparse_vectors(connection)? {
            Some(Statements::prepare(connection)?)
        } else {
            None
        };
        Ok(Self {
            connection,
            statements,
        })
    }

    /// Store the vector of a row, and make the table first if need be; false if it was stored already.
    pub fn set(&mut self, row: i64, vector: &SparseVector) -> rusqlite::Result<bool> {
        let statements = match &mut self.statements {
            Some(statements) => statements,
            none => {
                create(self.connection)?;
                none.insert(Statements::prepare(self.connection)?)
            }
        };
        let blob = vector.to_blob();
        let same = |found: &Row<'_>| Ok(found.get_ref(0)?.as_bytes()? == blob);
        if statements.find.query_row([row], same).optional()? == Some(true) {
            return Ok(false);
        }
        statements.put.execute(params![row, blob])?;
        Ok(true)
    }

    /// Remove the vector of a row, if it has one.
    pub fn remove(&mut self, row: i64) -> rusqlite::Result<()> {
        if let Some(statements) = &mut self.statements {
            statements.remove.execute([row])?;
        }
        Ok(())
    }
}
