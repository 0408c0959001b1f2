//! The ledger of a sync: which files chunks were made from, and how each file was when it was read.
//!
//! A sync writes the chunks of a file and its row in `sources` in one transaction, so that a process
//! that is killed leaves both or neither. `source_chunks` has the file of each chunk. A chunk that
//! anything else writes or removes makes its file unread: without a signature, so that the next sync
//! reads it again.

use std::rc::Rc;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::Index;
use super::chunk::Chunk;
use super::filters::texts;
use super::settings::{self, SOURCES_GENERATION};
use super::write::{remove_chunks, remove_where};
use crate::error::Result;

/// A file as it was read. What it says is for the sync alone, but for the number of chunks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceFile {
    /// What the sync knows the file by.
    pub path: String,
    /// What the system reported of the file; empty when it has to be read again.
    pub signature: String,
    /// Whether any later change of the file shows in the signature.
    pub settled: bool,
    /// The hash of its content; empty when it could not be read.
    pub digest: String,
    /// How many chunks it has; counted when it is written.
    pub chunks: u64,
    /// What was left out of it, as JSON.
    pub skips: String,
    /// What else the sync wants to know of it, as JSON.
    pub facts: String,
}

/// What one transaction of a sync writes.
#[derive(Debug, Clone, Default)]
pub struct FileSync<'a> {
    /// Files with those of their chunks that are to be stored.
    pub read: Vec<(SourceFile, Vec<&'a Chunk>)>,
    /// Files whose chunks, of these ids, are stored already; they are to be read again.
    pub adopted: Vec<(String, Vec<String>)>,
    /// The ids of chunks that their files no longer have.
    pub removed: Vec<String>,
    /// Files that are gone, with all their chunks.
    pub gone: Vec<String>,
    /// Texts about the sync as a whole by their names; None removes one.
    pub notes: Vec<(String, Option<String>)>,
}

/// What a transaction of a sync came to, in chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Synced {
    /// Were not there before.
    pub added: usize,
    /// Were there and said something else.
    pub changed: usize,
    /// Were there as they are.
    pub unchanged: usize,
    /// Are gone.
    pub removed: usize,
}

impl Index {
    /// Write what a sync read, in one transaction.
    pub fn sync(&self, sync: &FileSync<'_>) -> Result<Synced> {
        let chunks: Vec<&Chunk> = (sync.read.iter())
            .flat_map(|(_, chunks)| chunks.iter().copied())
            .collect();
        for (at, chunk) in chunks.iter().enumerate() {
            chunk
                .check()
                .map_err(|error| error.at(&format!("chunks[{at}]")))?;
        }
        self.try_write(|connection| {
            let mut synced = Synced::default();
            if !chunks.is_empty() {
                let written = self.put_counted(connection, &chunks, "chunks", None)?;
                synced.added = written.added;
                synced.changed = written.changed;
                synced.unchanged = written.ids - written.added - written.changed;
            }
            synced.removed = remove_chunks(connection, &sync.removed)?;
            for path in &sync.gone {
                synced.removed += remove_where(connection, OF_SOURCE, path)?;
                forget_source(connection, path)?;
            }
            for (path, ids) in &sync.adopted {
                let source = SourceFile {
                    path: path.clone(),
                    ..SourceFile::default()
                };
                put_source(connection, &source, ids.iter().map(String::as_str))?;
            }
            for (source, chunks) in &sync.read {
                put_source(connection, source, chunks.iter().map(|chunk| &*chunk.id))?;
            }
            note(connection, &sync.notes)?;
            Ok(synced)
        })
    }

    /// All files, by their paths.
    pub fn sources(&self) -> Result<Vec<SourceFile>> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT path, signature, settled, digest, chunks, skips, facts
                       FROM sources ORDER BY path",
                )?
                .query_map([], source)?
                .collect()
        })
    }

    /// How many transactions changed the ledger.
    pub fn sources_generation(&self) -> Result<i64> {
        self.read(|connection| Ok(settings::get(connection, SOURCES_GENERATION)?.unwrap_or(0)))
    }

    /// What was noted about the sync under a name.
    pub fn sync_note(&self, name: &str) -> Result<Option<String>> {
        self.read(|connection| settings::get(connection, &note_name(name)))
    }

    /// The ids of the chunks of a file.
    pub fn source_chunks(&self, path: &str) -> Result<Vec<String>> {
        self.read(|connection| {
            connection
                .prepare_cached(&format!(
                    "SELECT id FROM knowledge_chunks WHERE {OF_SOURCE} ORDER BY row"
                ))?
                .query_map([path], |row| row.get(0))?
                .collect()
        })
    }

    /// The ids of the chunks that are of no file.
    pub fn chunks_without_source(&self) -> Result<Vec<String>> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT id FROM knowledge_chunks
                      WHERE row NOT IN (SELECT row FROM source_chunks) ORDER BY row",
                )?
                .query_map([], |row| row.get(0))?
                .collect()
        })
    }

    /// Which of these ids are stored, each with the `source_file` of its metadata, if it has one.
    pub fn source_files<T: AsRef<str>>(&self, ids: &[T]) -> Result<Vec<(String, Option<String>)>> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT id, CASE json_type(metadata, '$.source_file') WHEN 'text'
                                THEN json_extract(metadata, '$.source_file') END
                       FROM knowledge_chunks WHERE id IN rarray(?)",
                )?
                .query_map([texts(ids)], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })
    }
}

/// The condition of the chunks of a file.
const OF_SOURCE: &str = "row IN (SELECT source_chunks.row FROM source_chunks
     JOIN sources ON sources.id = source_chunks.source WHERE sources.path = ?)";

fn source(row: &Row<'_>) -> rusqlite::Result<SourceFile> {
    Ok(SourceFile {
        path: row.get(0)?,
        signature: row.get(1)?,
        settled: row.get(2)?,
        digest: row.get(3)?,
        chunks: row.get(4)?,
        skips: row.get(5)?,
        facts: row.get(6)?,
    })
}

/// Write what is known of a file, and that the chunks of these ids are its own too.
pub(crate) fn put_source<'i>(
    connection: &Connection,
    source: &SourceFile,
    ids: impl Iterator<Item = &'i str>,
) -> rusqlite::Result<()> {
    let number: i64 = connection
        .prepare_cached(
            "INSERT INTO sources (path, signature, settled, digest, chunks, skips, facts)
             VALUES (?, ?, ?, ?, 0, ?, ?)
             ON CONFLICT (path) DO UPDATE
                SET signature = excluded.signature, settled = excluded.settled,
                    digest = excluded.digest, skips = excluded.skips, facts = excluded.facts
             RETURNING id",
        )?
        .query_row(
            params![
                source.path,
                source.signature,
                source.settled,
                source.digest,
                source.skips,
                source.facts
            ],
            |row| row.get(0),
        )?;
    let mut own = connection.prepare_cached(
        "INSERT INTO source_chunks (row, source)
         SELECT row, ?2 FROM knowledge_chunks WHERE id = ?1
         ON CONFLICT (row) DO UPDATE SET source = excluded.source",
    )?;
    for id in ids {
        own.execute(params![id, number])?;
    }
    connection
        .prepare_cached(
            "UPDATE sources
                SET chunks = (SELECT count(*) FROM source_chunks WHERE source = sources.id)
              WHERE id = ?",
        )?
        .execute([number])?;
    count(connection)
}

/// Forget a file; its chunks are no longer of any.
pub(crate) fn forget_source(connection: &Connection, path: &str) -> rusqlite::Result<()> {
    let number: Option<i64> = connection
        .prepare_cached("DELETE FROM sources WHERE path = ? RETURNING id")?
        .query_row([path], |row| row.get(0))
        .optional()?;
    if let Some(number) = number {
        connection
            .prepare_cached("DELETE FROM source_chunks WHERE source = ?")?
            .execute([number])?;
        count(connection)?;
    }
    Ok(())
}

/// Write or remove what is noted about the sync as a whole.
pub(crate) fn note(
    connection: &Connection,
    notes: &[(String, Option<String>)],
) -> rusqlite::Result<()> {
    for (name, text) in notes {
        settings::set(connection, &note_name(name), text.as_deref())?;
    }
    if notes.is_empty() {
        return Ok(());
    }
    count(connection)
}

/// Make the files of these rows unread, whose chunks were written or removed: after a sync itself
/// did so, it writes the files once more. A chunk that names no file any more is of none.
pub(super) fn disown(connection: &Connection, rows: &[i64]) -> rusqlite::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let is_used: bool = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM source_chunks)")?
        .query_row([], |row| row.get(0))?;
    if !is_used {
        return Ok(());
    }
    let rows: Rc<Vec<Value>> = Rc::new(rows.iter().map(|row| (*row).into()).collect());
    let unread = connection
        .prepare_cached(
            "UPDATE sources SET signature = '', digest = ''
              WHERE id IN (SELECT source FROM source_chunks WHERE row IN rarray(?))",
        )?
        .execute([&rows])?;
    connection
        .prepare_cached(
            "DELETE FROM source_chunks
              WHERE row IN rarray(?1) AND row NOT IN
                    (SELECT row FROM knowledge_chunks
                      WHERE row IN rarray(?1)
                        AND json_extract(metadata, '$.source_file') IS NOT NULL)",
        )?
        .execute([&rows])?;
    if unread == 0 {
        return Ok(());
    }
    count(connection)
}

/// Count one more transaction that changed the ledger.
fn count(connection: &Connection) -> rusqlite::Result<()> {
    let generation = settings::get::<i64>(connection, SOURCES_GENERATION)?.unwrap_or(0) + 1;
    settings::set(
        connection,
        SOURCES_GENERATION,
        Some(&generation.to_string()),
    )
}

fn note_name(name: &str) -> String {
    format!("sync_{name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokenizer::TokenizerKind;

    fn chunk(id: &str, content: &str) -> Chunk {
        Chunk {
            id: id.to_owned(),
            content: content.to_owned(),
            metadata: serde_json::from_str(r#"{"source_file": "f"}"#).unwrap(),
            ..Chunk::default()
        }
    }

    fn source(path: &str) -> SourceFile {
        SourceFile {
            path: path.to_owned(),
            signature: "1.2".to_owned(),
            settled: true,
            digest: "d".to_owned(),
            ..SourceFile::default()
        }
    }

    fn one<'a>(path: &str, chunks: Vec<&'a Chunk>) -> FileSync<'a> {
        FileSync {
            read: vec![(source(path), chunks)],
            ..FileSync::default()
        }
    }

    fn counts(synced: Synced) -> [usize; 4] {
        [
            synced.added,
            synced.changed,
            synced.unchanged,
            synced.removed,
        ]
    }

    fn signatures(index: &Index) -> Vec<(String, String, u64)> {
        let sources = index.sources().unwrap().into_iter();
        sources
            .map(|source| (source.path, source.signature, source.chunks))
            .collect()
    }

    #[test]
    fn chunks_and_their_file_are_written_together() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let [a, b, c] = [("a", "x"), ("b", "y"), ("c", "z")].map(|(id, text)| chunk(id, text));
        let synced = index.sync(&one("f", vec![&a, &b])).unwrap();
        assert_eq!(counts(synced), [2, 0, 0, 0]);
        assert_eq!(signatures(&index), [("f".to_owned(), "1.2".to_owned(), 2)]);
        assert_eq!(index.source_chunks("f").unwrap(), ["a", "b"]);
        let other = chunk("a", "other");
        let next = FileSync {
            removed: vec!["b".to_owned()],
            notes: vec![("scope".to_owned(), Some(".".to_owned()))],
            ..one("f", vec![&other, &c])
        };
        assert_eq!(counts(index.sync(&next).unwrap()), [1, 1, 0, 1]);
        assert_eq!(signatures(&index), [("f".to_owned(), "1.2".to_owned(), 2)]);
        assert_eq!(index.sync_note("scope").unwrap().as_deref(), Some("."));
        assert_eq!(
            counts(index.sync(&one("f", vec![&other, &c])).unwrap()),
            [0, 0, 2, 0]
        );
        let gone = FileSync {
            gone: vec!["f".to_owned(), "never".to_owned()],
            notes: vec![("scope".to_owned(), None)],
            ..FileSync::default()
        };
        assert_eq!(counts(index.sync(&gone).unwrap()), [0, 0, 0, 2]);
        assert_eq!((index.len().unwrap(), signatures(&index)), (0, vec![]));
        assert_eq!(index.sync_note("scope").unwrap(), None);
        assert_eq!(index.check().unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn what_is_refused_leaves_the_ledger_as_it_was() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let before = index.sources_generation().unwrap();
        let error = index.sync(&one("f", vec![&chunk("", "x")])).unwrap_err();
        assert!(error.message().starts_with("chunks[0]: the id is empty"));
        assert_eq!(signatures(&index), []);
        assert_eq!(index.sources_generation().unwrap(), before);
    }

    #[test]
    fn what_others_write_makes_a_file_unread() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let [a, b] = [("a", "x"), ("b", "y")].map(|(id, text)| chunk(id, text));
        let read = || index.sync(&one("f", vec![&a, &b])).unwrap();
        let unread = [("f".to_owned(), String::new(), 2)];
        read();
        let generation = index.sources_generation().unwrap();
        index.upsert(&[&a]).unwrap();
        assert_eq!(
            index.sources_generation().unwrap(),
            generation,
            "it says the same"
        );
        index.upsert(&[&chunk("a", "by hand")]).unwrap();
        assert_eq!(signatures(&index), unread);
        assert_eq!(index.source_chunks("f").unwrap(), ["a", "b"]);
        read();
        index.delete(&["b"]).unwrap();
        assert_eq!(signatures(&index), unread);
        assert_eq!(index.source_chunks("f").unwrap(), ["a"]);
        read();
        let by_hand = Chunk {
            metadata: serde_json::Map::default(),
            ..a.clone()
        };
        index.upsert(&[&by_hand]).unwrap();
        assert_eq!(signatures(&index), unread);
        assert_eq!(index.source_chunks("f").unwrap(), ["b"]);
        assert_eq!(index.chunks_without_source().unwrap(), ["a"]);
        assert_eq!(
            index.source_files(&["a", "b", "c"]).unwrap(),
            [
                ("a".to_owned(), None),
                ("b".to_owned(), Some("f".to_owned()))
            ]
        );
        assert_eq!(index.check().unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn an_id_may_pass_from_file_to_file() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let a = chunk("a", "x");
        index.sync(&one("f", vec![&a])).unwrap();
        index.sync(&one("g", vec![&chunk("a", "y")])).unwrap();
        assert_eq!(index.source_chunks("g").unwrap(), ["a"]);
        assert_eq!(index.source_chunks("f").unwrap(), [] as [&str; 0]);
        let gone = FileSync {
            gone: vec!["f".to_owned()],
            ..FileSync::default()
        };
        assert_eq!(counts(index.sync(&gone).unwrap()), [0, 0, 0, 0]);
        assert_eq!(index.len().unwrap(), 1);
    }

    #[test]
    fn chunks_from_before_there_was_a_ledger_are_adopted() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        index.upsert(&[&chunk("a", "x"), &chunk("b", "y")]).unwrap();
        let adopted = FileSync {
            adopted: vec![("f".to_owned(), vec!["a".to_owned(), "none".to_owned()])],
            ..FileSync::default()
        };
        assert_eq!(counts(index.sync(&adopted).unwrap()), [0, 0, 0, 0]);
        assert_eq!(signatures(&index), [("f".to_owned(), String::new(), 1)]);
        assert_eq!(index.chunks_without_source().unwrap(), ["b"]);
    }
}
