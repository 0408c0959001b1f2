//! Writing: the rows of `knowledge_chunks` and, in step with them, the full-text index.

use std::collections::HashMap;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use super::chunk::{COLUMNS, Chunk};
use super::encoded::Encoded;
use super::filters::texts;
use super::{Failure, Index, changes, sources, staging, vector, vectors};
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
        let written = self.put_counted(connection, chunks, name, embedder)?;
        Ok(written.ids)
    }

    /// The same with more of an answer.
    pub(super) fn put_counted(
        &self,
        connection: &Connection,
        chunks: &[&Chunk],
        name: &str,
        embedder: Option<&str>,
    ) -> std::result::Result<Written, Failure> {
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
        sources::disown(connection, &statements.changed)?;
        staging::unstage(connection, &statements.changed)?;
        vectors::settle(connection)?;
        Ok(Written {
            ids: latest.len(),
            added: statements.added,
            changed: statements.changed.len() - statements.added,
        })
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

/// What came of storing chunks: distinct ids, and how many of them were new or said something else.
pub(super) struct Written {
    pub ids: usize,
    pub added: usize,
    pub changed: usize,
}

/// Remove the chunks of these ids in the transaction of `connection`; how many there were.
pub(crate) fn remove_chunks<T: AsRef<str>>(
    connection: &Connection,
    ids: &[T],
) -> rusqlite::Result<usize> {
    remove_where(connection, "id IN rarray(?)", texts(ids))
}

pub(super) fn remove_where(
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
        index(&mut statements.forget, *row, chunk, &chunk.tag_text())?;
        // Before the row itself, whose number may be given to another chunk.
        statements.vectors.remove(*row)?;
        statements.delete.execute([row])?;
    }
    let rows: Vec<i64> = found.iter().map(|(row, _)| *row).collect();
    changes::record(connection, &rows)?;
    sources::disown(connection, &rows)?;
    staging::unstage(connection, &rows)?;
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
    /// How many of them were not there.
    added: usize,
    /// Whether the last id was new: then the next is stored as new, without being looked up first.
    adding: bool,
}

impl<'c> Statements<'c> {
    fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        let find = format!("SELECT row, {COLUMNS} FROM knowledge_chunks WHERE id = ?");
        let insert = format!(
            "INSERT INTO knowledge_chunks ({COLUMNS}, tag_text)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
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
            added: 0,
            adding: true,
        })
    }

    fn upsert(&mut self, chunk: &Chunk) -> rusqlite::Result<()> {
        let encoded = Encoded::of(chunk)?;
        if self.adding && self.add(chunk, &encoded)? {
            return Ok(());
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
            None => self.add(chunk, &encoded).map(drop),
            Some((row, None)) => self.set_vector(row, chunk, false, true),
            Some((row, Some(old))) => self.replace(row, &old, chunk, &encoded),
        }
    }

    /// Store a chunk, unless there is one of its id; the answer is whether there was none.
    fn add(&mut self, chunk: &Chunk, encoded: &Encoded<'_>) -> rusqlite::Result<bool> {
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
        ])?;
        if inserted == 0 {
            return Ok(false);
        }
        let row = self.connection.last_insert_rowid();
        index(&mut self.index, row, chunk, &encoded.tag_text)?;
        self.changed.push(row);
        self.added += 1;
        if let Some(embedding) = &chunk.embedding {
            self.vectors.add(row, embedding)?;
        }
        Ok(true)
    }

    /// Replace what a row says by something else.
    fn replace(
        &mut self,
        row: i64,
        old: &Chunk,
        new: &Chunk,
        encoded: &Encoded<'_>,
    ) -> rusqlite::Result<()> {
        let reindex = !old.same_texts(new);
        if reindex {
            // FTS5 removes what it is told was there, so it gets the old texts.
            index(&mut self.forget, row, old, &old.tag_text())?;
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
        }
        self.set_vector(row, new, true, old.same_meaning(new))
    }

    /// Store the vector of a row that was there before. Without one it keeps its own, if it still
    /// means the same: otherwise that would stand for a text that is gone.
    fn set_vector(
        &mut self,
        row: i64,
        chunk: &Chunk,
        changed: bool,
        same_meaning: bool,
    ) -> rusqlite::Result<()> {
        let other = match &chunk.embedding {
            Some(embedding) => self.vectors.set(row, embedding)?,
            None if same_meaning => false,
            None => self.vectors.remove(row)?,
        };
        if changed || other {
            self.changed.push(row);
        }
        Ok(())
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

    /// Store the vector of a new row.
    fn add(&mut self, row: i64, embedding: &[f32]) -> rusqlite::Result<()> {
        let blob = vector::to_blob(&vector::unit(embedding));
        self.put.execute(params![row, blob])?;
        Ok(())
    }

    /// Store the vector of a row; the answer is whether it had another, or none.
    pub fn set(&mut self, row: i64, embedding: &[f32]) -> rusqlite::Result<bool> {
        let blob = vector::to_blob(&vector::unit(embedding));
        let same = |found: &Row<'_>| Ok(found.get_ref(0)?.as_bytes()? == blob);
        if self.find.query_row([row], same).optional()? == Some(true) {
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

    /// What an index says, to the order of the keys of metadata.
    fn told(chunk: &Chunk) -> String {
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
                    index.page(0, 99).unwrap().chunks.iter().map(told).collect()
                };
                let generation = || index.read(changes::generation).unwrap();
                let (before, counted) = (all(), generation());
                let given: Vec<&Chunk> = batch.iter().collect();
                index.upsert(&given).unwrap();
                for chunk in last_of_each_id(&given) {
                    let mut stored = chunk.clone();
                    match model.iter_mut().find(|known| known.id == chunk.id) {
                        None => model.push(stored),
                        Some(known) => {
                            if stored.embedding.is_none() && known.same_meaning(chunk) {
                                stored.embedding.clone_from(&known.embedding);
                            }
                            *known = stored;
                        }
                    }
                }
                let expected: Vec<String> = (model.iter().cloned())
                    .map(|mut chunk| {
                        chunk.embedding = chunk.embedding.filter(|vector| !vector.is_empty());
                        told(&chunk)
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
                // The same again is nothing new.
                let counted = generation();
                index.upsert(&bare).unwrap();
                prop_assert_eq!(generation(), counted);
            }
            prop_assert_eq!(index.check().unwrap(), [] as [&str; 0]);
        }
    }
}
