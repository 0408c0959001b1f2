//! Counts of the chunks with each phrase of an expression.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::Connection;

use crate::query::{MatchExpression, Phrase};

/// How common the phrases of an expression are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PhraseCounts {
    /// The number of rows, without filters.
    pub rows: u64,
    /// The number of rows with each phrase that a result may contain, in the order of the
    /// expression and repeated as in it.
    pub document_frequencies: Vec<u64>,
}

impl PhraseCounts {
    pub(crate) fn read(
        connection: &Connection,
        expression: &MatchExpression,
    ) -> rusqlite::Result<Self> {
        let mut known = HashMap::new();
        let mut document_frequencies = Vec::new();
        for phrase in expression.phrases() {
            document_frequencies.push(match known.entry(phrase) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(entry) => *entry.insert(document_frequency(connection, phrase)?),
            });
        }
        Ok(Self {
            rows: rows(connection)?,
            document_frequencies,
        })
    }
}

/// A row of `docsize` for each row of the full-text index, and much smaller.
fn rows(connection: &Connection) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("SELECT count(*) FROM knowledge_fts_docsize")?
        .query_row([], |row| row.get(0))
}

fn document_frequency(connection: &Connection, phrase: &Phrase) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("SELECT count(*) FROM knowledge_fts WHERE knowledge_fts MATCH ?")?
        .query_row([phrase.to_string()], |row| row.get(0))
}
