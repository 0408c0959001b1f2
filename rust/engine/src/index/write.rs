//! Writing: the rows of `knowledge_chunks` and, in step with them, the full-text index.

use std::collections::HashMap;

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::Index;
use super::chunk::{COLUMNS, Chunk};
use super::filters::{texts, to_json};
use crate::error::Result;

impl Index {
    /// Store chunks, each replacing the one of its id, in one transaction.
    ///
    /// A replaced chunk keeps its row, and with it its place among equal scores. Of several
    /// chunks of one id the last counts. The answer is the number of distinct ids.
    pub fn upsert(&self, chunks: &[&Chunk]) -> Result<usize> {
        for (place, chunk) in chunks.iter().enumerate() {
            chunk
                .check()
                .map_err(|error| error.at(&format!("chunks[{place}]")))?;
        }
        let chunks = last_of_each_id(chunks);
        self.write(|connection| {
            let mut statements = Statements::prepare(connection)?;
            chunks
                .iter()
                .try_for_each(|chunk| statements.upsert(chunk))?;
            Ok(chunks.len())
        })
    }

    /// Remove the chunks of these ids; the answer is how many there were.
    pub fn delete<T: AsRef<str>>(&self, ids: &[T]) -> Result<usize> {
        self.delete_where("id IN rarray(?)", texts(ids))
    }

    /// Remove every chunk of a path; the answer is how many there were.
    pub fn delete_path(&self, path: &str) -> Result<usize> {
        self.delete_where("path = ?", path)
    }

    fn delete_where(&self, condition: &str, value: impl rusqlite::ToSql) -> Result<usize> {
        self.write(|connection| {
            let sql = format!("SELECT row, {COLUMNS} FROM knowledge_chunks WHERE {condition}");
            let found: Vec<(i64, Chunk)> = connection
                .prepare(&sql)?
                .query_map([value], Chunk::with_row)?
                .collect::<rusqlite::Result<_>>()?;
            let mut statements = Statements::prepare(connection)?;
            for (row, chunk) in &found {
                index(&mut statements.forget, *row, chunk)?;
                statements.delete.execute([row])?;
            }
            Ok(found.len())
        })
    }

    /// Merge the full-text index into one piece, which makes searches faster.
    pub fn optimize(&self) -> Result<()> {
        self.write(|connection| {
            connection
                .execute_batch("INSERT INTO knowledge_fts (knowledge_fts) VALUES ('optimize')")
        })
    }
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
        index(&mut self.index, self.connection.last_insert_rowid(), chunk)
    }

    fn replace(&mut self, row: i64, old: &Chunk, new: &Chunk) -> rusqlite::Result<()> {
        // The text of metadata, since equal objects may differ in the order of their keys.
        let metadata = to_json(&new.metadata)?;
        if old == new && metadata == to_json(&old.metadata)? {
            return Ok(());
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
        Ok(())
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
