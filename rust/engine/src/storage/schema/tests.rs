//! Files of every format, and files of others.

use std::fs;
use std::path::Path;

use super::*;
use crate::bm25::BM25;
use crate::chunks::{CHUNKS, Chunk, Filters};
use crate::index::{Index, SUBJECTS};
use crate::storage::Subjects;
use crate::text::tokenizer::TokenizerKind;
use crate::vectors::VECTORS;

fn create_notes(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("CREATE TABLE notes (x)")
}

fn add_column(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("ALTER TABLE notes ADD COLUMN y")
}

fn fail(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("CREATE TABLE added (x); CREATE TABLE knowledge_chunks (x)")
}

const fn notes(migrations: &'static [super::super::Migration]) -> Subject {
    Subject {
        name: "notes",
        migrations,
        since_format: FORMAT,
        register: |_| Ok(()),
        checks: &[],
        writing_checks: &[],
        maintenance: None,
    }
}

static NOTES: Subject = notes(&[create_notes]);
static LATER_NOTES: Subject = notes(&[create_notes, add_column]);
static FAILING_NOTES: Subject = notes(&[create_notes, fail]);
const WITH_NOTES: Subjects = &[&CHUNKS, &BM25, &VECTORS, &NOTES];
const WITH_LATER_NOTES: Subjects = &[&CHUNKS, &BM25, &VECTORS, &LATER_NOTES];
const WITH_FAILING_NOTES: Subjects = &[&CHUNKS, &BM25, &VECTORS, &FAILING_NOTES];

fn chunk(id: &str, content: &str) -> Chunk {
    Chunk {
        id: id.to_owned(),
        content: content.to_owned(),
        ..Chunk::default()
    }
}

fn prepare_with(path: &Path, read_only: bool, subjects: Subjects) -> Result<FormatState> {
    let mut location = Location::file(path, read_only, subjects)?;
    let mut connection = location.first_connection(read_only)?;
    prepare(&mut connection, &location, read_only, &[])
}

#[test]
fn it_is_told_what_a_file_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.db");
    let opened = |subjects| prepare_with(&path, false, subjects).unwrap();
    assert_eq!(opened(WITH_NOTES), FormatState::New);
    assert_eq!(opened(WITH_NOTES), FormatState::Current);
    let FormatState::Migrated { steps, .. } = opened(WITH_LATER_NOTES) else {
        panic!("the notes have a later version");
    };
    assert_eq!(steps, "notes 1 to 2");
    assert_eq!(opened(WITH_LATER_NOTES), FormatState::Current);
}

fn state(path: &Path) -> (i64, i64, i64, Vec<(String, usize)>) {
    let connection = Connection::open(path).unwrap();
    let (application, format, tables) = header(&connection).unwrap();
    let versions = versions(&connection).unwrap_or_default();
    let mut versions: Vec<_> = versions.into_iter().collect();
    versions.sort_unstable();
    (application, format, tables, versions)
}

/// A file as format 1 had it.
fn make_format_1(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)
                 STRICT, WITHOUT ROWID;
             INSERT INTO settings VALUES ('tokenizer', 'unicode61');",
        )
        .unwrap();
    CHUNKS.migrations[0](&connection).unwrap();
    connection
        .execute_batch(&format!(
            "INSERT INTO knowledge_chunks
                 VALUES (7, 'a', 'p', 0, 'old', '', '[]', '', 'winter garden', '{{}}');
             INSERT INTO knowledge_fts (rowid, path, title, summary, tags, content)
                 VALUES (7, 'p', 'old', '', '', 'winter garden');
             PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1;"
        ))
        .unwrap();
}

#[test]
fn a_file_has_a_version_for_each_subject_that_a_handle_registered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    let index = Index::open(&path, TokenizerKind::Unicode61, false).unwrap();
    index.upsert(&[&chunk("a", "kept")]).unwrap();
    let versions = |more: &[(&str, usize)]| -> Vec<(String, usize)> {
        let all = [&[("chunks", 6)], more, &[("sources", 2), ("vectors", 3)]].concat();
        all.into_iter()
            .map(|(name, version)| (name.to_owned(), version))
            .collect()
    };
    assert_eq!(state(&path).3, versions(&[]));
    prepare_with(&path, false, WITH_NOTES).unwrap();
    assert_eq!(state(&path).3, versions(&[("notes", 1)]));
    prepare_with(&path, false, WITH_LATER_NOTES).unwrap();
    assert_eq!(state(&path).3, versions(&[("notes", 2)]));
    assert_eq!(state(&path).1, i64::from(FORMAT));
    // Who does not know of notes leaves them alone.
    let index = Index::open(&path, TokenizerKind::default(), false).unwrap();
    assert_eq!(index.tokenizer(), TokenizerKind::Unicode61);
    assert_eq!(index.get("a").unwrap().unwrap().content, "kept");
    assert_eq!(state(&path).3, versions(&[("notes", 2)]));
}

#[test]
fn a_file_of_format_1_is_given_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    make_format_1(&path);
    let index = Index::open(&path, TokenizerKind::default(), false).unwrap();
    assert_eq!(state(&path).1, i64::from(FORMAT));
    assert_eq!(index.tokenizer(), TokenizerKind::Unicode61);
    assert_eq!(index.check().unwrap(), [] as [&str; 0]);
    let stats = index.stats().unwrap();
    assert_eq!(
        (stats.chunks, stats.vectors, stats.dimensions),
        (1, 0, None)
    );
    let stored = index.get("a").unwrap().unwrap();
    assert_eq!(stored.content, "winter garden");
    let embedded = Chunk {
        embedding: Some(vec![0.0, 2.0]),
        ..stored
    };
    assert_eq!(index.upsert(&[&embedded]).unwrap(), 1);
    let found = index
        .search_vector(&[0.0, 1.0], 1, &Filters::default())
        .unwrap();
    assert_eq!(found[0].title, "old");
    assert_eq!(found[0].vector_similarity, Some(1.0));
}

#[test]
fn a_step_that_fails_leaves_the_file_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    Index::open(&path, TokenizerKind::Porter, false).unwrap();
    let before = state(&path);
    // The second of its statements fails; the step before it worked.
    let error = prepare_with(&path, false, WITH_FAILING_NOTES).unwrap_err();
    assert_eq!(error.code(), ErrorCode::EngineFault, "{error}");
    assert_eq!(state(&path), before);
    prepare_with(&path, false, WITH_NOTES).unwrap();
}

#[test]
fn an_older_file_opened_read_only_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    Index::open(&path, TokenizerKind::Porter, false).unwrap();
    let old = folder.path().join("old.db");
    make_format_1(&old);
    for (path, subjects) in [(&path, WITH_NOTES), (&old, SUBJECTS)] {
        let before = state(path);
        let error = prepare_with(path, true, subjects).unwrap_err();
        assert_eq!(error.code(), ErrorCode::IndexReadOnly);
        assert!(error.message().contains("once for writing"), "{error}");
        assert_eq!(state(path), before);
    }
}

#[test]
fn a_newer_file_is_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    prepare_with(&path, false, WITH_LATER_NOTES).unwrap();
    let before = fs::read(&path).unwrap();
    let error = prepare_with(&path, false, WITH_NOTES).unwrap_err();
    assert_eq!(error.code(), ErrorCode::IndexTooNew);
    let expected = "has version 2 of its notes and this hedgerow reads up to version 1; \
                    upgrade hedgerow";
    assert!(error.message().ends_with(expected), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
    Connection::open(&path)
        .unwrap()
        .execute_batch("PRAGMA user_version = 8")
        .unwrap();
    let error = prepare_with(&path, false, WITH_LATER_NOTES).unwrap_err();
    assert_eq!(error.code(), ErrorCode::IndexTooNew);
    let expected = "has schema version 8 and this hedgerow reads up to 7; upgrade hedgerow";
    assert!(error.message().ends_with(expected), "{error}");
}

#[test]
fn files_of_others_are_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("other.db");
    Connection::open(&database)
        .unwrap()
        .execute_batch("CREATE TABLE theirs (x)")
        .unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(
        &text,
        "not a database, but long enough to look at".repeat(50),
    )
    .unwrap();
    for path in [database, text] {
        let before = fs::read(&path).unwrap();
        for read_only in [false, true] {
            let error = Index::open(&path, TokenizerKind::Porter, read_only)
                .err()
                .unwrap();
            assert_eq!(error.code(), ErrorCode::NotAnIndex, "{error}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}

#[test]
fn a_file_that_lost_its_versions_is_damaged() {
    for damage in [
        "DELETE FROM subjects WHERE name = 'chunks'",
        "UPDATE subjects SET version = 1 WHERE name = 'vectors'",
        "PRAGMA user_version = 0",
        "PRAGMA user_version = 3",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        Index::open(&path, TokenizerKind::Porter, false).unwrap();
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(damage).unwrap();
        drop(connection);
        let error = Index::open(&path, TokenizerKind::Porter, false);
        let error = error.err().unwrap();
        assert_eq!(error.code(), ErrorCode::IndexDamaged, "{damage}: {error}");
        assert!(error.message().contains("already exists"), "{error}");
    }
}

#[test]
fn vectors_that_are_not_to_be_had_are_marked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    let index = Index::open(&path, TokenizerKind::Porter, false).unwrap();
    let embedded = |id: &str, embedding: Vec<f32>| Chunk {
        embedding: Some(embedding),
        ..chunk(id, "text")
    };
    let chunks = [embedded("a", vec![]), embedded("b", vec![1.0, 0.0])];
    index.upsert(&chunks.each_ref()).unwrap();
    index.close().unwrap();
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "UPDATE embeddings SET vector = x'' WHERE row = 1;
             UPDATE subjects SET version = 2 WHERE name = 'vectors'",
        )
        .unwrap();
    drop(connection);
    let index = Index::open(&path, TokenizerKind::Porter, false).unwrap();
    assert_eq!(index.check().unwrap(), [] as [&str; 0]);
    assert_eq!(index.get("a").unwrap().unwrap().embedding, None);
    assert_eq!(index.unembedded_page(0, 9).unwrap().chunks, []);
    assert_eq!(index.stats().unwrap().vectors, 1);
}
