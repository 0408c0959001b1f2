//! Chunks, and the rows they are kept in.

use rusqlite::types::Type;
use rusqlite::{Row, ffi};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, ErrorCode, Result};
use crate::unit_vector;

/// A searchable piece of knowledge.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chunk {
    /// The name of the chunk, unique in an index.
    pub id: String,
    /// Where it comes from; many chunks may share a path.
    pub path: String,
    /// The number of the chunk within its path; at least 0.
    pub ordinal: i64,
    /// Searched with weight 10.
    pub title: String,
    /// Searched with weight 5.
    pub summary: String,
    /// Searched with weight 4; a tag may hold spaces.
    pub tags: Vec<String>,
    /// Searched with weight 1.
    pub content: String,
    /// Not searched, but filtered by.
    pub metadata: Map<String, Value>,
    /// The vector, of any length. An empty vector, or zeros, means that the chunk can have none.
    pub embedding: Option<Vec<f32>>,
}

/// The columns a chunk is read from, in the order of [`Chunk::with_row`].
pub(super) const COLUMNS: &str = "id, path, ordinal, title, summary, tags, content, metadata";
/// The column of the vector, for [`Chunk::with_vector`].
pub(super) const VECTOR: &str =
    "(SELECT vector FROM embeddings WHERE embeddings.row = knowledge_chunks.row)";

impl Chunk {
    /// Refuse what cannot be stored.
    pub(crate) fn check(&self) -> Result<()> {
        if self.id.is_empty() {
            return Err(Error::new(
                ErrorCode::InvalidChunk,
                "the id is empty; give every chunk its own id",
            ));
        }
        match &self.embedding {
            Some(vector) => unit_vector::check(vector, "the embedding", ErrorCode::InvalidChunk),
            None => Ok(()),
        }
    }

    /// The number of the row and its chunk, from `row` and [`COLUMNS`].
    pub(crate) fn with_row(row: &Row<'_>) -> rusqlite::Result<(i64, Self)> {
        let chunk = Self {
            id: row.get(1)?,
            path: row.get(2)?,
            ordinal: row.get(3)?,
            title: row.get(4)?,
            summary: row.get(5)?,
            tags: json(row, 6)?,
            content: long_text(row, 7)?,
            metadata: json(row, 8)?,
            embedding: None,
        };
        Ok((row.get(0)?, chunk))
    }

    /// Like [`Chunk::from_row`], with the vector: of `row`, [`COLUMNS`] and [`VECTOR`].
    pub(crate) fn with_vector(row: &Row<'_>) -> rusqlite::Result<(i64, Self)> {
        let (number, mut chunk) = Self::with_row(row)?;
        let mut vector = Vec::new();
        if let Some(blob) = row.get_ref(9)?.as_blob_or_null()?
            && !unit_vector::read_blob(blob, &mut vector)
        {
            return Err(unit_vector::damaged(number));
        }
        chunk.embedding = Some(vector).filter(|vector| !vector.is_empty());
        Ok((number, chunk))
    }

    /// Whether FTS5 sees the same texts.
    pub(crate) fn same_texts(&self, other: &Self) -> bool {
        self.path == other.path
            && self.title == other.title
            && self.summary == other.summary
            && self.tags == other.tags
            && self.content == other.content
    }

    /// Whether an embedder sees the same texts.
    pub(crate) fn same_embedded_text(&self, other: &Self) -> bool {
        self.title == other.title && self.summary == other.summary && self.content == other.content
    }

    /// The tags as the text that is indexed.
    pub fn tag_text(&self) -> String {
        self.tags.join(" ")
    }
}

/// Return the JSON value of a column.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    serde_json::from_str(row.get_ref(column)?.as_str()?).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}

/// Return a text so long that memory may run out.
pub(super) fn long_text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    let text = row.get_ref(column)?.as_str()?;
    let mut copy = String::new();
    if copy.try_reserve_exact(text.len()).is_err() {
        let refused = ffi::Error::new(ffi::SQLITE_NOMEM);
        return Err(rusqlite::Error::SqliteFailure(refused, None));
    }
    copy.push_str(text);
    Ok(copy)
}
