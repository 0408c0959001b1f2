//! The columns of the row of a chunk.

use rusqlite::Row;

use super::chunk::Chunk;
use super::filters::to_json;

/// A chunk, and what its row holds in addition to its texts.
pub(super) struct ChunkRow<'a> {
    chunk: &'a Chunk,
    /// The tags as JSON.
    pub tags: String,
    /// The tags as FTS5 sees them.
    pub tag_text: String,
    /// The metadata as JSON. Equal objects may differ in the order of their keys.
    pub metadata: String,
}

impl<'a> ChunkRow<'a> {
    pub fn of(chunk: &'a Chunk) -> rusqlite::Result<Self> {
        Ok(Self {
            chunk,
            tags: to_json(&chunk.tags)?,
            tag_text: chunk.tag_text(),
            metadata: to_json(&chunk.metadata)?,
        })
    }

    /// Whether a row of `row` and [`COLUMNS`](super::chunk::COLUMNS) says just this.
    ///
    /// It is compared in SQLite's memory: decoding it takes longer, and so does a digest of the
    /// chunk to compare with a stored one.
    pub fn is_in(&self, row: &Row<'_>) -> rusqlite::Result<bool> {
        let chunk = self.chunk;
        let texts = [
            (2, &chunk.path),
            (4, &chunk.title),
            (5, &chunk.summary),
            (6, &self.tags),
            (7, &chunk.content),
            (8, &self.metadata),
        ];
        for (column, text) in texts {
            if row.get_ref(column)?.as_bytes()? != text.as_bytes() {
                return Ok(false);
            }
        }
        Ok(row.get::<_, i64>(3)? == chunk.ordinal)
    }
}
