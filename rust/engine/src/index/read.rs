//! Reading chunks by their ids or page by page, and counting them.

use rusqlite::Connection;

use super::handle::Index;
use crate::chunks::{Chunk, Page, chunk_of, count_chunks};
use crate::error::Result;
use crate::storage::generations::generation;
use crate::sync::lock;

impl Index {
    /// The chunk of an id.
    pub fn get(&self, id: &str) -> Result<Option<Chunk>> {
        self.database.read(|connection| chunk_of(connection, id))
    }

    /// Up to `limit` chunks whose row comes after `after`; begin with 0.
    ///
    /// Pages follow rows, not offsets, so that chunks may come and go between two pages.
    pub fn page(&self, after: i64, limit: u32) -> Result<Page> {
        self.database
            .read(|connection| Page::read(connection, "TRUE", after, limit))
    }

    /// Return the number of chunks.
    pub fn len(&self) -> Result<u64> {
        self.database
            .read(|connection| self.chunk_count(connection))
    }

    /// Return the number of chunks in the generation that `connection` sees.
    pub(super) fn chunk_count(&self, connection: &Connection) -> rusqlite::Result<u64> {
        // Counting reads an index of SQLite's from end to end, so it is done once for a generation.
        let now = generation(connection)?;
        let known = || lock(&self.counted);
        if let Some((generation, chunks)) = *known()
            && generation == now
        {
            return Ok(chunks);
        }
        let chunks = count_chunks(connection)?;
        *known() = Some((now, chunks));
        Ok(chunks)
    }

    /// Whether the index has zero chunks.
    pub fn is_empty(&self) -> Result<bool> {
        self.len().map(|chunks| chunks == 0)
    }
}
