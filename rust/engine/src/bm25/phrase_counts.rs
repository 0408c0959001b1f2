//! How many chunks hold each phrase of an expression.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::Connection;

use crate::query::{MatchExpression, Phrase};

/// What BM25 knows of the phrases of an expression.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PhraseCounts {
    /// How many rows there are, whatever the filters.
    pub rows: u64,
    /// Of each phrase that a result may hold, in order and as often as it is asked for, how many
    /// rows do.
    pub holding: Vec<u64>,
}

impl PhraseCounts {
    pub(crate) fn read(
        connection: &Connection,
        expression: &MatchExpression,
    ) -> rusqlite::Result<Self> {
        let mut known = HashMap::new();
        let mut holding = Vec::new();
        for phrase in expression.phrases() {
            holding.push(match known.entry(phrase) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(entry) => *entry.insert(rows_that_hold(connection, phrase)?),
            });
        }
        Ok(Self {
            rows: rows(connection)?,
            holding,
        })
    }
}

/// A row of `docsize` for each row of the full-text index, and much smaller.
fn rows(connection: &Connection) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("SELECT count(*) FROM knowledge_fts_docsize")?
        .query_row([], |row| row.get(0))
}

fn rows_that_hold(connection: &Connection, phrase: &Phrase) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("SELECT count(*) FROM knowledge_fts WHERE knowledge_fts MATCH ?")?
        .query_row([phrase.to_string()], |row| row.get(0))
}
