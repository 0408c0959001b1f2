//! The texts of a hit, read from the file.

use std::rc::Rc;
use std::sync::Arc;

use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, Row};
use serde_json::{Map, Value};

use super::chunk::{Chunk, json, long_text};
use super::read::without_chunk;

/// Approximate bytes of a chunk in memory in addition to its texts.
const CHUNK_BYTES: usize = 256;
/// Approximate ratio of the memory of tags and metadata to their size in JSON.
const JSON_FACTOR: usize = 4;

/// The texts that hits of a chunk share.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Texts {
    /// The chunk's id.
    pub id: String,
    /// The chunk's path.
    pub path: String,
    /// The chunk's number among those of its path.
    pub ordinal: i64,
    /// The chunk's title.
    pub title: String,
    /// The chunk's summary.
    pub summary: String,
    /// The chunk's tags.
    pub tags: Vec<String>,
    /// The chunk's content.
    pub content: String,
    /// The chunk's metadata.
    pub metadata: Map<String, Value>,
}

impl From<Chunk> for Texts {
    fn from(chunk: Chunk) -> Self {
        Self {
            id: chunk.id,
            path: chunk.path,
            ordinal: chunk.ordinal,
            title: chunk.title,
            summary: chunk.summary,
            tags: chunk.tags,
            content: chunk.content,
            metadata: chunk.metadata,
        }
    }
}

impl From<Texts> for Chunk {
    fn from(texts: Texts) -> Self {
        Self {
            id: texts.id,
            path: texts.path,
            ordinal: texts.ordinal,
            title: texts.title,
            summary: texts.summary,
            tags: texts.tags,
            content: texts.content,
            metadata: texts.metadata,
            ..Self::default()
        }
    }
}

/// Asks for what [`Texts::from_row`] reads of rows, in the order of the array. One statement for all
/// takes a fifth fewer instructions than one a row.
const OF_ROWS: &str = "SELECT row, id, path, ordinal, title, summary, tags, content, metadata
       FROM rarray(?) AS wanted CROSS JOIN knowledge_chunks ON row = wanted.value";
/// The JSON of a chunk without tags, and of one without metadata, as most are.
const NO_TAGS: &[u8] = b"[]";
const NO_METADATA: &[u8] = b"{}";

impl Texts {
    /// Return the texts of a row, and their approximate bytes of memory.
    fn from_row(row: &Row<'_>) -> rusqlite::Result<(Self, usize)> {
        let texts = Self {
            id: row.get(1)?,
            path: row.get(2)?,
            ordinal: row.get(3)?,
            title: row.get(4)?,
            summary: row.get(5)?,
            tags: match row.get_ref(6)?.as_bytes()? {
                NO_TAGS => Vec::new(),
                _ => json(row, 6)?,
            },
            content: long_text(row, 7)?,
            metadata: match row.get_ref(8)?.as_bytes()? {
                NO_METADATA => Map::new(),
                _ => json(row, 8)?,
            },
        };
        let of_json = |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_bytes()?.len());
        let parsed = (of_json(6)? + of_json(8)?) * JSON_FACTOR;
        let Self {
            id,
            path,
            title,
            summary,
            content,
            ..
        } = &texts;
        let lengths = [id, path, title, summary, content].map(String::len);
        let bytes = CHUNK_BYTES + lengths.iter().sum::<usize>() + parsed;
        Ok((texts, bytes))
    }
}

/// Read rows with their texts and approximate bytes, in the given order.
pub(super) fn read(
    connection: &Connection,
    rows: &[(i64, &str)],
) -> rusqlite::Result<Vec<(i64, Arc<Texts>, usize)>> {
    let wanted: Vec<SqlValue> = rows.iter().map(|(row, _)| (*row).into()).collect();
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
