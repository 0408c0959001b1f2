//! Writing: the rows of `knowledge_chunks` and, in step with them, the full-text index.

use std::collections::HashMap;

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::chunk::{COLUMNS, Chunk};
use super::filters::{texts, to_json};
use super::{Failure, Index, changes, vector, vectors};
use crate::error::Result;

impl Index {
    /// Store chunks, each replacing the one of its id, in one transaction.
    ///
    /// A replaced chunk keeps its row, and with it its place among equal scores. Of several
    /// chunks of one id the last counts. The answer is the number of distinct ids.
    ///
    /// A chunk without an embedding keeps its vector as long as it means the same.
    pub fn upsert(&self, chunks: &[&Chunk]) -> Result<usize> {
        self.upsert_from(chunks, None)
    }

    /// The same with embeddings of a named embedder, which must be that of the index.
    pub fn upsert_from(&self, chunks: &[&Chunk], embedder: Option<&str>) -> Result<usize> {
        for (place, chunk) in chunks.iter().enumerate() {
            chunk
                .check()
                .map_err(|error| error.at(&format!("chunks[{place}]")))?;
        }
        self.try_write(|connection| self.put_chunks(connection, chunks, "chunks", embedder))
    }

    /// Store checked chunks in the transaction of `connection`; `name` is what the caller calls
    /// them.
    pub(crate) fn put_chunks(
        &self,
        connection: &Connection,
        chunks: &[&Chunk],
        name: &str,
        embedder: Option<&str>,
    ) -> std::result::Result<usize, Failure> {
        let given = chunks.iter().map(|chunk| chunk.embedding.as_deref());
        self.admit(connection, given, embedder, |place| {
            format!("{name}[{place}]: the embedding")
        })?;
        let latest = last_of_each_id(chunks);
        let mut statements = Statements::prepare(connection)?;
        for chunk in &latest {
            statements.upsert(chunk)?;
        }
        changes::record(connection, &statements.changed)?;
        vectors::settle(connection)?;
        Ok(latest.len())
    }

    /// Remove the chunks of these ids; the answer is how many there were.
    pub fn delete<T: AsRef<str>>(&self, ids: &[T]) -> Result<usize> {
        self.write(|connection| remove_chunks(connection, ids))
    }

    /// Remove every chunk of a path; the answer is how many there were.
    pub fn delete_path(&self, path: &str) -> Result<usize> {
        self.write(|connection| remove_where(connection, "path = ?", path))
    }

    /// Merge the full-text index into one piece, which makes searches faster.
    pub fn optimize(&self) -> Result<()> {
        self.write(|connection| {
            connection
                .execute_batch("INSERT INTO knowledge_fts (knowledge_fts) VALUES ('optimize')")
        })
    }
}

/// Remove the chunks of these ids in the transaction of `connection`; how many there were.
pub(crate) fn remove_chunks<T: AsRef<str>>(
    connection: &Connection,
    ids: &[T],
) -> rusqlite::Result<usize> {
    remove_where(connection, "id IN rarray(?)", texts(ids))
}

fn remove_where(
    connection: &Connection,
    condition: &str,
    value: impl rusqlite::ToSql,
) -> rusqlite::Result<usize> {
    let sql = format!("SELECT row, {COLUMNS} FROM knowledge_chunks WHERE {condition}");
    let found: Vec<(i64, Chunk)> = connection
        .prepare(&sql)?
        .query_map([value], Chunk::with_row)?
        .collect::<rusqlite::Result<_>>()?;
    let mut statements = Statements::prepare(connection)?;
    for (row, chunk) in &found {
        index(&mut statements.forget, *row, chunk)?;
        // Before the row itself, whose number may be given to another chunk.
        statements.vectors.remove(*row)?;
        statements.delete.execute([row])?;
    }
    let rows: Vec<i64> = found.iter().map(|(row, _)| *row).collect();
    changes::record(connection, &rows)?;
    Ok(found.len())
}

/// The last chunk of each id, in the order in which the ids came first.
fn last_of_each_id<'a>(chunks: &[&'a Chunk]) -> Vec<&'a Chunk> {
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(chunks.len());
    let mut last: Vec<&Chunk> = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let place = *places.entry(&chunk.id).or_insert(last.len());
        match last.get_mut(place) {
            Some(earlier) => *earlier = chunk,
            None => last.push(chunk),
        }
    }
    last
}

/// The statements of writing, prepared once per connection.
struct Statements<'c> {
    connection: &'c Connection,
    find: CachedStatement<'c>,
    insert: CachedStatement<'c>,
    update: CachedStatement<'c>,
    delete: CachedStatement<'c>,
    index: CachedStatement<'c>,
    forget: CachedStatement<'c>,
    vectors: VectorStatements<'c>,
    /// The rows that are not as they were.
    changed: Vec<i64>,
}

impl<'c> Statements<'c> {
    fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        let find = format!("SELECT row, {COLUMNS} FROM knowledge_chunks WHERE id = ?");
        let insert = format!(
            "INSERT INTO knowledge_chunks ({COLUMNS}, tag_text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        );
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
            forget: connection.prepare_cached(
                "INSERT INTO knowledge_fts
                     (knowledge_fts, rowid, path, title, summary, tags, content)
                 VALUES ('delete', ?, ?, ?, ?, ?, ?)",
            )?,
            vectors: VectorStatements::prepare(connection)?,
            changed: Vec::new(),
        })
    }

    fn upsert(&mut self, chunk: &Chunk) -> rusqlite::Result<()> {
        match self
            .find
            .query_row([&chunk.id], Chunk::with_row)
            .optional()?
        {
            None => self.add(chunk),
            Some((row, old)) => self.replace(row, &old, chunk),
        }
    }

    fn add(&mut self, chunk: &Chunk) -> rusqlite::Result<()> {
        self.insert.execute(params![
            chunk.id,
            chunk.path,
            chunk.ordinal,
            chunk.title,
            chunk.summary,
            to_json(&chunk.tags)?,
            chunk.content,
            to_json(&chunk.metadata)?,
            chunk.tag_text(),
        ])?;
        let row = self.connection.last_insert_rowid();
        index(&mut self.index, row, chunk)?;
        self.changed.push(row);
        if let Some(embedding) = &chunk.embedding {
            self.vectors.set(row, embedding)?;
        }
        Ok(())
    }

    fn replace(&mut self, row: i64, old: &Chunk, new: &Chunk) -> rusqlite::Result<()> {
        let texts = self.replace_texts(row, old, new)?;
        let vector = match &new.embedding {
            Some(embedding) => self.vectors.set(row, embedding)?,
            None if old.same_meaning(new) => false,
            // It would stand for a text that is gone.
            None => self.vectors.remove(row)?,
        };
        if texts || vector {
            self.changed.push(row);
        }
        Ok(())
    }

    /// Replace all but the vector; the answer is whether anything was different.
    fn replace_texts(&mut self, row: i64, old: &Chunk, new: &Chunk) -> rusqlite::Result<bool> {
        // The text of metadata, since equal objects may differ in the order of their keys.
        let metadata = to_json(&new.metadata)?;
        if old.same_texts(new) && old.ordinal == new.ordinal && metadata == to_json(&old.metadata)?
        {
            return Ok(false);
        }
        let reindex = !old.same_texts(new);
        if reindex {
            // FTS5 removes what it is told was there, so it gets the old texts.
            index(&mut self.forget, row, old)?;
        }
        self.update.execute(params![
            row,
            new.path,
            new.ordinal,
            new.title,
            new.summary,
            to_json(&new.tags)?,
            new.content,
            metadata,
            new.tag_text(),
        ])?;
        if reindex {
            index(&mut self.index, row, new)?;
        }
        Ok(true)
    }
}

/// The statements of writing vectors.
pub(super) struct VectorStatements<'c> {
    find: CachedStatement<'c>,
    put: CachedStatement<'c>,
    remove: CachedStatement<'c>,
}

impl<'c> VectorStatements<'c> {
    pub fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            find: connection.prepare_cached("SELECT vector FROM embeddings WHERE row = ?")?,
            put: connection.prepare_cached("INSERT OR REPLACE INTO embeddings VALUES (?, ?)")?,
            remove: connection.prepare_cached("DELETE FROM embeddings WHERE row = ?")?,
        })
    }

    /// Store the vector of a row; the answer is whether it had another, or none.
    pub fn set(&mut self, row: i64, embedding: &[f32]) -> rusqlite::Result<bool> {
        let blob = vector::to_blob(&vector::unit(embedding));
        let old: Option<Vec<u8>> = self
            .find
            .query_row([row], |found| found.get(0))
            .optional()?;
        if old.as_ref() == Some(&blob) {
            return Ok(false);
        }
        self.put.execute(params![row, blob])?;
        Ok(true)
    }

    /// Remove the vector of a row; the answer is whether it had one.
    fn remove(&mut self, row: i64) -> rusqlite::Result<bool> {
        Ok(self.remove.execute([row])? > 0)
    }
}

/// Give FTS5 the texts of a row, to add or to forget.
fn index(statement: &mut CachedStatement<'_>, row: i64, chunk: &Chunk) -> rusqlite::Result<()> {
    statement.execute(params![
        row,
        chunk.path,
        chunk.title,
        chunk.summary,
        chunk.tag_text(),
        chunk.content
    ])?;
    Ok(())
}
