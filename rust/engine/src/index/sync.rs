//! The writes of a sync: the chunks of files, and the files in the ledger, in one transaction.

use super::handle::Index;
use super::write::{remove_chunks, remove_where};
use crate::chunks::Chunk;
use crate::error::Result;
use crate::sources::{self, LedgerChanges, OF_SOURCE, SourceFile, forget_source, note, put_source};

/// The writes of one transaction of a sync.
#[derive(Debug, Clone, Default)]
pub struct FileSync<'a> {
    /// Files, each with its chunks that must be stored.
    pub read: Vec<(SourceFile, Vec<&'a Chunk>)>,
    /// Files with unchanged content since the last read: only their signatures are written.
    pub touched: Vec<SourceFile>,
    /// Files whose chunks are stored already, with the ids of these. The next sync reads them again.
    pub adopted: Vec<(String, Vec<String>)>,
    /// The ids of chunks removed from their files.
    pub removed: Vec<String>,
    /// Deleted files. All their chunks are removed.
    pub gone: Vec<String>,
    /// Notes about the sync by name; None removes a note.
    pub notes: Vec<(String, Option<String>)>,
}

/// The numbers of chunks that one transaction of a sync added, changed, left and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Synced {
    /// Chunks with a new id.
    pub added: usize,
    /// Chunks stored before with other content.
    pub changed: usize,
    /// Chunks stored before with the same content.
    pub unchanged: usize,
    /// Chunks removed.
    pub removed: usize,
}

impl Index {
    /// Write the files read by a sync, in one transaction.
    pub fn sync(&self, sync: &FileSync<'_>) -> Result<Synced> {
        let chunks: Vec<&Chunk> = (sync.read.iter())
            .flat_map(|(_, chunks)| chunks.iter().copied())
            .collect();
        for (at, chunk) in chunks.iter().enumerate() {
            chunk
                .check()
                .map_err(|error| error.at(&format!("chunks[{at}]")))?;
        }
        self.database.try_write(|connection| {
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
            for source in &sync.touched {
                sources::touch_source(connection, source)?;
            }
            note(connection, &sync.notes)?;
            Ok(synced)
        })
    }

    /// Return all files of the ledger, sorted by path.
    pub fn sources(&self) -> Result<Vec<SourceFile>> {
        self.database.read(sources::sources)
    }

    /// Return the changes of the ledger after this generation; everything for -1.
    pub fn sources_since(&self, generation: i64) -> Result<LedgerChanges> {
        self.database
            .read(|connection| sources::changes_since(connection, generation))
    }

    /// Return the generation of the ledger, which each change increases; 0 before the first.
    pub fn sources_generation(&self) -> Result<i64> {
        self.database.read(sources::sources_generation)
    }

    /// Return the note about the sync under a name.
    pub fn sync_note(&self, name: &str) -> Result<Option<String>> {
        self.database
            .read(|connection| sources::sync_note(connection, name))
    }

    /// Return the ids of the chunks of a file.
    pub fn source_chunks(&self, path: &str) -> Result<Vec<String>> {
        self.database
            .read(|connection| sources::source_chunks(connection, path))
    }

    /// Return the ids of the chunks that belong to no file.
    pub fn chunks_without_source(&self) -> Result<Vec<String>> {
        self.database.read(sources::chunks_without_source)
    }

    /// Return the stored ids among these, each with the `source_file` of its metadata, if any.
    pub fn source_files<T: AsRef<str>>(&self, ids: &[T]) -> Result<Vec<(String, Option<String>)>> {
        self.database
            .read(|connection| sources::source_files(connection, ids))
    }
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
    fn a_touched_file_has_another_signature_alone() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let a = chunk("a", "x");
        let mut read = one("f", vec![&a]);
        read.read[0].0.facts = "{}".to_owned();
        index.sync(&read).unwrap();
        let generation = index.sources_generation().unwrap();
        let touched = SourceFile {
            path: "f".to_owned(),
            signature: "3.4".to_owned(),
            ..SourceFile::default()
        };
        let sync = FileSync {
            touched: vec![touched],
            ..FileSync::default()
        };
        index.sync(&sync).unwrap();
        let expected = SourceFile {
            signature: "3.4".to_owned(),
            settled: false,
            chunks: 1,
            facts: "{}".to_owned(),
            ..source("f")
        };
        let changes = index.sources_since(generation).unwrap();
        assert_eq!(changes.changed, [expected]);
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
    fn a_reader_is_told_what_has_changed_since() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let [a, b] = [("a", "x"), ("b", "y")].map(|(id, text)| chunk(id, text));
        let paths = |changes: &LedgerChanges| -> Vec<String> {
            (changes.changed.iter())
                .map(|source| source.path.clone())
                .collect()
        };
        index.sync(&one("f", vec![&a])).unwrap();
        index.sync(&one("g", vec![&b])).unwrap();
        let all = index.sources_since(-1).unwrap();
        assert_eq!((paths(&all), all.files), (vec!["f".into(), "g".into()], 2));
        assert_eq!(all.generation, index.sources_generation().unwrap());
        assert_eq!(index.sources_since(all.generation).unwrap().changed, []);
        index.upsert(&[&chunk("b", "by hand")]).unwrap();
        let some = index.sources_since(all.generation).unwrap();
        assert_eq!((paths(&some), some.files), (vec!["g".into()], 2));
        let gone = FileSync {
            gone: vec!["f".to_owned()],
            ..FileSync::default()
        };
        index.sync(&gone).unwrap();
        let none = index.sources_since(some.generation).unwrap();
        assert_eq!((paths(&none), none.files), (vec![], 1));
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
