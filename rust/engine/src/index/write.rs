//! Writing chunks: their rows, the full-text index and their vectors, in one transaction.

use std::collections::HashMap;

use rusqlite::{Connection, ToSql};

use super::handle::Index;
use crate::chunks::{
    Change, Chunk, ChunkWriter, StoredChunk, check_name, chunks_where, declare, declared,
    text_array,
};
use crate::error::Result;
use crate::sources::disown;
use crate::storage::{WorkError, generations};
use crate::vectors::{Embedder, VectorWriter, settle, unstage};

impl Index {
    /// Store chunks, each replacing the one of its id, in one transaction.
    ///
    /// A replaced chunk keeps its row, and with it its rank among equal scores. Of several
    /// chunks of one id the last counts. The answer is the number of distinct ids.
    ///
    /// A chunk given without an embedding keeps its stored vector if its title, summary and content are unchanged.
    pub fn upsert(&self, chunks: &[&Chunk]) -> Result<usize> {
        self.upsert_from(chunks, None)
    }

    /// Like `upsert`, with embeddings of a named embedder, which must be the embedder of the index.
    pub fn upsert_from(&self, chunks: &[&Chunk], embedder: Option<Embedder<'_>>) -> Result<usize> {
        for (position, chunk) in chunks.iter().enumerate() {
            chunk
                .check()
                .map_err(|error| error.at(&format!("chunks[{position}]")))?;
        }
        self.database
            .try_write(|connection| self.put_chunks(connection, chunks, "chunks", embedder))
    }

    /// Store checked chunks in the transaction of `connection`; `name` returns the caller's name
    /// for a chunk.
    pub fn put_chunks(
        &self,
        connection: &Connection,
        chunks: &[&Chunk],
        name: &str,
        embedder: Option<Embedder<'_>>,
    ) -> std::result::Result<usize, WorkError> {
        let written = self.put_counted(connection, chunks, name, embedder)?;
        Ok(written.ids)
    }

    /// Like `put_chunks`, with counts.
    pub(super) fn put_counted(
        &self,
        connection: &Connection,
        chunks: &[&Chunk],
        name: &str,
        embedder: Option<Embedder<'_>>,
    ) -> std::result::Result<Written, WorkError> {
        let given = chunks.iter().map(|chunk| chunk.embedding.as_deref());
        self.admit(connection, given, embedder, |position| {
            format!("{name}[{position}]: the embedding")
        })?;
        let latest = last_of_each_id(chunks);
        let mut writer = Writer::prepare(connection)?;
        for chunk in &latest {
            writer.upsert(chunk)?;
        }
        writer.finish()?;
        Ok(Written {
            ids: latest.len(),
            added: writer.added,
            changed: writer.changed.len() - writer.added,
        })
    }

    /// Remove the chunks of these ids. Returns the number of removed chunks.
    pub fn delete<T: AsRef<str>>(&self, ids: &[T]) -> Result<usize> {
        self.database
            .write(|connection| remove_chunks(connection, ids))
    }

    /// Remove every chunk of a path. Returns the number of removed chunks.
    pub fn delete_path(&self, path: &str) -> Result<usize> {
        self.database
            .write(|connection| remove_where(connection, "path = ?", path))
    }

    /// Index the values of keys of the metadata, so that filters find them sooner. The file keeps
    /// them; those that it has already are left as they are.
    pub fn index_metadata(&self, names: &[&str]) -> Result<()> {
        names.iter().try_for_each(|name| check_name(name))?;
        if names.is_empty() {
            return Ok(());
        }
        let known = self.database.read(declared)?;
        let is_new = |name: &&str| !known.iter().any(|key| key.name == *name);
        let missing: Vec<&str> = names.iter().copied().filter(is_new).collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.database
            .write(|connection| declare(connection, &missing))
    }

    /// Remove every deleted byte from the file: merge the full-text index, rewrite all pages, and empty the
    /// log.
    pub fn vacuum(&self) -> Result<()> {
        self.optimize()?;
        self.database.on_writer(|connection| {
            connection.execute_batch("VACUUM")?;
            // While others read, the log stays, and a search for removed bytes finds them there.
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        })
    }

    /// Merge the full-text index into one segment, which makes searches faster.
    pub fn optimize(&self) -> Result<()> {
        self.database.write(|connection| {
            connection
                .execute_batch("INSERT INTO knowledge_fts (knowledge_fts) VALUES ('optimize')")
        })
    }
}

/// The counts of stored chunks: distinct ids, and new or changed chunks.
pub(super) struct Written {
    pub ids: usize,
    pub added: usize,
    pub changed: usize,
}

/// Remove the chunks of these ids in the transaction of `connection`. Returns the number of removed
/// chunks.
pub fn remove_chunks<T: AsRef<str>>(connection: &Connection, ids: &[T]) -> rusqlite::Result<usize> {
    remove_where(connection, "id IN rarray(?)", text_array(ids))
}

pub(super) fn remove_where(
    connection: &Connection,
    condition: &str,
    value: impl ToSql,
) -> rusqlite::Result<usize> {
    let mut removal = Removal::prepare(connection)?;
    for (row, chunk) in &chunks_where(connection, condition, value)? {
        removal.remove(*row, chunk)?;
    }
    removal.finish()
}

/// Removes chunks with their vectors.
pub(super) struct Removal<'c> {
    connection: &'c Connection,
    chunks: ChunkWriter<'c>,
    vectors: VectorWriter<'c>,
    rows: Vec<i64>,
}

impl<'c> Removal<'c> {
    pub fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            chunks: ChunkWriter::prepare(connection)?,
            vectors: VectorWriter::prepare(connection)?,
            rows: Vec::new(),
        })
    }

    pub fn remove(&mut self, row: i64, chunk: &Chunk) -> rusqlite::Result<()> {
        // Before the row itself, whose number may be given to another chunk.
        self.vectors.remove(row)?;
        self.chunks.remove(row, chunk)?;
        self.rows.push(row);
        Ok(())
    }

    /// Record the removed rows; returns their number.
    pub fn finish(self) -> rusqlite::Result<usize> {
        generations::record(self.connection, &self.rows)?;
        disown(self.connection, &self.rows)?;
        unstage(self.connection, &self.rows)?;
        Ok(self.rows.len())
    }
}

/// The last chunk of each id, in the order in which the ids came first.
fn last_of_each_id<'a>(chunks: &[&'a Chunk]) -> Vec<&'a Chunk> {
    let mut slots: HashMap<&str, usize> = HashMap::with_capacity(chunks.len());
    let mut last: Vec<&Chunk> = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let slot = *slots.entry(&chunk.id).or_insert(last.len());
        match last.get_mut(slot) {
            Some(earlier) => *earlier = chunk,
            None => last.push(chunk),
        }
    }
    last
}

/// Writes chunks with their vectors.
pub(super) struct Writer<'c> {
    connection: &'c Connection,
    chunks: ChunkWriter<'c>,
    vectors: VectorWriter<'c>,
    /// The rows that are not as they were.
    changed: Vec<i64>,
    /// The number of added chunks.
    added: usize,
}

impl<'c> Writer<'c> {
    pub fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            chunks: ChunkWriter::prepare(connection)?,
            vectors: VectorWriter::prepare(connection)?,
            changed: Vec::new(),
            added: 0,
        })
    }

    pub fn upsert(&mut self, chunk: &Chunk) -> rusqlite::Result<()> {
        let StoredChunk { row, change } = self.chunks.put(chunk)?;
        let changed = match (change, &chunk.embedding) {
            (Change::Added, embedding) => {
                self.added += 1;
                if let Some(embedding) = embedding {
                    self.vectors.add(row, embedding)?;
                }
                true
            }
            (Change::Unchanged, None) => false,
            (Change::Unchanged, Some(embedding)) => self.vectors.set(row, embedding)?,
            (Change::Replaced { .. }, Some(embedding)) => {
                self.vectors.set(row, embedding)?;
                true
            }
            (Change::Replaced { same_embedded_text }, None) => {
                // The vector would belong to the former text.
                if !same_embedded_text {
                    self.vectors.remove(row)?;
                }
                true
            }
        };
        if changed {
            self.changed.push(row);
        }
        Ok(())
    }

    /// Record the rows that changed.
    pub fn finish(&self) -> rusqlite::Result<()> {
        generations::record(self.connection, &self.changed)?;
        disown(self.connection, &self.changed)?;
        unstage(self.connection, &self.changed)?;
        settle(self.connection)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::tokenizer::TokenizerKind;

    /// Chunks of few ids and few texts, so that many are written again, some of them as they were.
    fn chunk() -> impl Strategy<Value = Chunk> {
        let metadata = ["{}", r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, r#"{"a":1.0}"#];
        (
            0..4_u8,
            prop::array::uniform4("[ab]{0,1}"),
            prop::collection::vec("[ab ]{0,2}", 0..2),
            0..2_i64,
            prop::sample::select(metadata.to_vec()),
            prop::sample::select(vec![None, Some(vec![]), Some(vec![1.0, 0.0])]),
        )
            .prop_map(|(id, texts, tags, ordinal, metadata, embedding)| {
                let [path, title, summary, content] = texts;
                Chunk {
                    id: id.to_string(),
                    path,
                    ordinal,
                    title,
                    summary,
                    tags,
                    content,
                    metadata: serde_json::from_str(metadata).unwrap(),
                    embedding,
                }
            })
    }

    /// Return the content of an index as a line, including the order of the keys of metadata.
    fn line(chunk: &Chunk) -> String {
        format!("{chunk:?}")
    }

    proptest! {
        #[test]
        fn what_is_stored_is_what_was_written_last(
            batches in prop::collection::vec(prop::collection::vec(chunk(), 1..6), 1..8),
        ) {
            let index = Index::in_memory(TokenizerKind::Porter).unwrap();
            // In the order in which ids came first: that of the rows.
            let mut model: Vec<Chunk> = Vec::new();
            for batch in batches {
                let all = || -> Vec<String> {
                    index.page(0, 99).unwrap().chunks.iter().map(line).collect()
                };
                let generation = || index.database().read(generations::generation).unwrap();
                let (before, counted) = (all(), generation());
                let given: Vec<&Chunk> = batch.iter().collect();
                index.upsert(&given).unwrap();
                for chunk in last_of_each_id(&given) {
                    let mut stored = chunk.clone();
                    match model.iter_mut().find(|known| known.id == chunk.id) {
                        None => model.push(stored),
                        Some(known) => {
                            if stored.embedding.is_none() && known.same_embedded_text(chunk) {
                                stored.embedding.clone_from(&known.embedding);
                            }
                            *known = stored;
                        }
                    }
                }
                let expected: Vec<String> = (model.iter().cloned())
                    .map(|mut chunk| {
                        chunk.embedding = chunk.embedding.filter(|vector| !vector.is_empty());
                        line(&chunk)
                    })
                    .collect();
                prop_assert_eq!(&all(), &expected);
                prop_assert!(before == expected || generation() == counted + 1);
                let without: Vec<usize> = (0..model.len())
                    .filter(|slot| model[*slot].embedding.is_none())
                    .collect();
                let bare: Vec<Chunk> = (model.iter().cloned())
                    .map(|chunk| Chunk { embedding: None, ..chunk })
                    .collect();
                let bare: Vec<&Chunk> = bare.iter().collect();
                prop_assert_eq!(index.unembedded(&bare).unwrap(), without);
                // An equal chunk adds no generation.
                let counted = generation();
                index.upsert(&bare).unwrap();
                prop_assert_eq!(generation(), counted);
            }
            prop_assert_eq!(index.check().unwrap(), [] as [&str; 0]);
        }
    }
}
