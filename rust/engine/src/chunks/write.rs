//! Writing: the rows of `knowledge_chunks` and, in step with them, the full-text index.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, ToSql, params};

use super::chunk::{COLUMNS, Chunk};
use super::chunk_row::ChunkRow;
use super::metadata_index::Entries;
use super::schema::StemWatch;
use crate::storage::settings;

/// The changes of storing a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredChunk {
    pub row: i64,
    pub change: Change,
}

/// The difference between a chunk and the stored one of its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// There was none.
    Added,
    /// There was another one; an embedder may see the same texts in it.
    Replaced { same_embedded_text: bool },
    /// The chunk was stored already, unchanged.
    Unchanged,
}

/// Writes chunks by statements prepared once per connection.
pub(crate) struct ChunkWriter<'c> {
    connection: &'c Connection,
    find: CachedStatement<'c>,
    insert: CachedStatement<'c>,
    update: CachedStatement<'c>,
    delete: CachedStatement<'c>,
    index: CachedStatement<'c>,
    unindex: CachedStatement<'c>,
    metadata: Entries<'c>,
    stems: StemWatch,
    /// The number of the next new row. A number is never given twice, so the rows of some files are in the order in
    /// which these were written, whatever happens to other files.
    next: i64,
    /// Whether the last id was new: then the next is stored as new, without being looked up first.
    adding: bool,
}

impl<'c> ChunkWriter<'c> {
    pub fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        let find = format!("SELECT row, {COLUMNS} FROM knowledge_chunks WHERE id = ?");
        let insert = format!(
            "INSERT INTO knowledge_chunks ({COLUMNS}, tag_text, row)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
        );
        let last: Option<i64> =
            connection.query_row("SELECT max(row) FROM knowledge_chunks", [], |row| {
                row.get(0)
            })?;
        let deleted: Option<i64> = settings::get(connection, settings::LAST_ROW)?;
        Ok(Self {
            connection,
            find: connection.prepare_cached(&find)?,
            insert: connection.prepare_cached(&insert)?,
            update: connection.prepare_cached(
                "UPDATE knowledge_chunks
                    SET path = ?2, ordinal = ?3, title = ?4, summary = ?5, tags = ?6,
                        content = ?7, metadata = ?8, tag_text = ?9
                  WHERE row = ?1",
            )?,
            delete: connection.prepare_cached("DELETE FROM knowledge_chunks WHERE row = ?")?,
            index: connection.prepare_cached(
                "INSERT INTO knowledge_fts (rowid, path, title, summary, tags, content)
                 VALUES (?, ?, ?, ?, ?, ?)",
            )?,
            unindex: connection.prepare_cached(
                "INSERT INTO knowledge_fts
                     (knowledge_fts, rowid, path, title, summary, tags, content)
                 VALUES ('delete', ?, ?, ?, ?, ?, ?)",
            )?,
            metadata: Entries::prepare(connection)?,
            stems: StemWatch::new(connection)?,
            next: last.max(deleted).unwrap_or(0) + 1,
            adding: true,
        })
    }

    /// Store a chunk, in the row of the stored one of its id, if any.
    pub fn put(&mut self, chunk: &Chunk) -> rusqlite::Result<StoredChunk> {
        let encoded = ChunkRow::of(chunk)?;
        if self.adding
            && let Some(row) = self.add(chunk, &encoded)?
        {
            return Ok(StoredChunk::of(row, Change::Added));
        }
        let stored = |row: &Row<'_>| {
            let number = row.get(0)?;
            if encoded.is_in(row)? {
                return Ok((number, None));
            }
            Ok((number, Some(Chunk::with_row(row)?.1)))
        };
        let found = self.find.query_row([&chunk.id], stored).optional()?;
        self.adding = found.is_none();
        match found {
            None => {
                let row = self.add(chunk, &encoded)?;
                let row = row.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
                Ok(StoredChunk::of(row, Change::Added))
            }
            Some((row, None)) => Ok(StoredChunk::of(row, Change::Unchanged)),
            Some((row, Some(old))) => {
                self.replace(row, &old, chunk, &encoded)?;
                let same_embedded_text = old.same_embedded_text(chunk);
                Ok(StoredChunk::of(
                    row,
                    Change::Replaced { same_embedded_text },
                ))
            }
        }
    }

    /// Remove a row and the chunk that it holds.
    pub fn remove(&mut self, row: i64, chunk: &Chunk) -> rusqlite::Result<()> {
        index(&mut self.unindex, row, chunk, &chunk.tag_text())?;
        self.metadata.remove(row, chunk)?;
        self.delete.execute([row])?;
        if row == self.next - 1 {
            settings::set(self.connection, settings::LAST_ROW, Some(&row.to_string()))?;
        }
        Ok(())
    }

    /// Store a chunk in a new row, unless its id is taken.
    fn add(&mut self, chunk: &Chunk, encoded: &ChunkRow<'_>) -> rusqlite::Result<Option<i64>> {
        let inserted = self.insert.execute(params![
            chunk.id,
            chunk.path,
            chunk.ordinal,
            chunk.title,
            chunk.summary,
            encoded.tags,
            chunk.content,
            encoded.metadata,
            encoded.tag_text,
            self.next,
        ])?;
        if inserted == 0 {
            return Ok(None);
        }
        let row = self.next;
        self.next += 1;
        self.note_stems(chunk, &encoded.tag_text)?;
        index(&mut self.index, row, chunk, &encoded.tag_text)?;
        self.metadata.add(row, chunk)?;
        Ok(Some(row))
    }

    /// Replace the chunk of a row by another.
    fn replace(
        &mut self,
        row: i64,
        old: &Chunk,
        new: &Chunk,
        encoded: &ChunkRow<'_>,
    ) -> rusqlite::Result<()> {
        self.metadata.remove(row, old)?;
        self.metadata.add(row, new)?;
        let reindex = !old.same_texts(new);
        if reindex {
            // An external-content FTS5 table deletes by the old texts, so it gets them.
            index(&mut self.unindex, row, old, &old.tag_text())?;
        }
        self.update.execute(params![
            row,
            new.path,
            new.ordinal,
            new.title,
            new.summary,
            encoded.tags,
            new.content,
            encoded.metadata,
            encoded.tag_text,
        ])?;
        if reindex {
            index(&mut self.index, row, new, &encoded.tag_text)?;
            self.note_stems(new, &encoded.tag_text)?;
        }
        Ok(())
    }

    /// Note in the file if Latin words of a chunk have stems.
    fn note_stems(&mut self, chunk: &Chunk, tag_text: &str) -> rusqlite::Result<()> {
        let texts = [
            &chunk.path,
            &chunk.title,
            &chunk.summary,
            tag_text,
            &chunk.content,
        ];
        self.stems.note(self.connection, texts)
    }
}

impl StoredChunk {
    fn of(row: i64, change: Change) -> Self {
        Self { row, change }
    }
}

/// The chunks that meet a condition, with their rows.
pub(crate) fn chunks_where(
    connection: &Connection,
    condition: &str,
    value: impl ToSql,
) -> rusqlite::Result<Vec<(i64, Chunk)>> {
    let sql = format!("SELECT row, {COLUMNS} FROM knowledge_chunks WHERE {condition}");
    connection
        .prepare(&sql)?
        .query_map([value], Chunk::with_row)?
        .collect()
}

/// Give FTS5 the texts of a row, to add or to delete.
fn index(
    statement: &mut CachedStatement<'_>,
    row: i64,
    chunk: &Chunk,
    tag_text: &str,
) -> rusqlite::Result<()> {
    statement.execute(params![
        row,
        chunk.path,
        chunk.title,
        chunk.summary,
        tag_text,
        chunk.content
    ])?;
    Ok(())
}
