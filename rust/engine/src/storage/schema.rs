//! Whose file it is, and how an older one is brought up to date.
//!
//! `PRAGMA user_version` is the format of the file as a whole, with the tables of storage itself.
//! The tables of each [`Subject`] have a version of their own in the table `subjects`.

use std::collections::HashMap;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::location::Location;
use super::settings;
use super::subject::Subject;
use crate::error::{Error, ErrorCode, Result};

/// Marks a SQLite file as ours ("HGRW").
const APPLICATION_ID: i64 = 0x4847_5257;

/// The format of the file that this code writes. Up to 4 it counted the tables of all subjects.
pub const FORMAT: u32 = 5;

/// The setting that keeps the format a file had before it was brought up to date: subjects that a
/// later handle registers may be there already.
const FORMER_FORMAT: &str = "former_format";

/// Make, upgrade or recognize the file; one that is made begins with the settings `initial`.
pub(super) fn prepare(
    connection: &mut Connection,
    location: &Location,
    read_only: bool,
    initial: &[(&str, &str)],
) -> Result<()> {
    if !is_current(connection, location)? {
        if read_only {
            return Err(needs_writing(location));
        }
        location.write_ahead(connection)?;
        return migrate(connection, location, initial);
    }
    if read_only {
        return Ok(());
    }
    location.write_ahead(connection)
}

/// Whether the file has all tables in the versions of this code. A file that is not ours, or of a
/// later version, is refused unread.
fn is_current(connection: &mut Connection, location: &Location) -> Result<bool> {
    let at = |error: rusqlite::Error| location.error(&error);
    let transaction = connection.transaction().map_err(at)?;
    let format = format(&transaction, location)?;
    if format < FORMAT {
        return Ok(false);
    }
    let versions = versions(&transaction).map_err(at)?;
    let mut current = true;
    for subject in location.subjects() {
        let version = versions.get(subject.name).copied().unwrap_or(0);
        if version > subject.version() {
            return Err(too_new(
                location,
                &format!("version {version} of its {}", subject.name),
                &format!("version {}", subject.version()),
            ));
        }
        current &= version == subject.version();
    }
    Ok(current)
}

/// The format of a file of ours, 0 for an empty one.
fn format(connection: &Connection, location: &Location) -> Result<u32> {
    let (application, format, tables) =
        header(connection).map_err(|error| location.error(&error))?;
    if (application, format, tables) == (0, 0, 0) {
        return Ok(0);
    }
    if application != APPLICATION_ID {
        return Err(location.not_an_index());
    }
    match u32::try_from(format) {
        Ok(format) if format <= FORMAT => Ok(format),
        _ => Err(too_new(
            location,
            &format!("schema version {format}"),
            &FORMAT.to_string(),
        )),
    }
}

/// Application id, format and number of tables.
fn header(connection: &Connection) -> rusqlite::Result<(i64, i64, i64)> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get(0));
    Ok((
        number("PRAGMA application_id")?,
        number("PRAGMA user_version")?,
        number("SELECT count(*) FROM sqlite_schema")?,
    ))
}

/// The version of each subject that is in the file.
fn versions(connection: &Connection) -> rusqlite::Result<HashMap<String, usize>> {
    connection
        .prepare("SELECT name, version FROM subjects")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// Run the steps that are missing, in one transaction.
fn migrate(
    connection: &mut Connection,
    location: &Location,
    initial: &[(&str, &str)],
) -> Result<()> {
    let at = |error: rusqlite::Error| location.error(&error);
    let transaction =
        Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map_err(at)?;
    // Another process may have been first while this one waited.
    let former = format(&transaction, location)?;
    let steps = || {
        if former < FORMAT {
            begin(&transaction, former, initial)?;
        }
        let former = settings::get(&transaction, FORMER_FORMAT)?.unwrap_or(0);
        let versions = versions(&transaction)?;
        for subject in location.subjects() {
            upgrade(&transaction, subject, versions.get(subject.name), former)?;
        }
        transaction.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT};"
        ))
    };
    steps().map_err(at)?;
    transaction.commit().map_err(at)
}

/// Make the tables of storage, of which files of earlier formats have some.
fn begin(connection: &Connection, former: u32, initial: &[(&str, &str)]) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS settings (
             name TEXT PRIMARY KEY,
             value TEXT NOT NULL
         ) STRICT, WITHOUT ROWID;
         CREATE TABLE IF NOT EXISTS changes (
             generation INTEGER NOT NULL,
             row INTEGER NOT NULL,
             PRIMARY KEY (generation, row)
         ) STRICT, WITHOUT ROWID;
         INSERT OR IGNORE INTO settings VALUES ('generation', '0');
         CREATE TABLE subjects (
             name TEXT PRIMARY KEY,
             version INTEGER NOT NULL
         ) STRICT, WITHOUT ROWID;",
    )?;
    if former > 0 {
        return settings::set(connection, FORMER_FORMAT, Some(&former.to_string()));
    }
    for (name, value) in initial {
        settings::set(connection, name, Some(value))?;
    }
    Ok(())
}

/// Bring the tables of one subject up to date.
fn upgrade(
    connection: &Connection,
    subject: &Subject,
    version: Option<&usize>,
    former: u32,
) -> rusqlite::Result<()> {
    if subject.migrations.is_empty() {
        return Ok(());
    }
    let version = match version {
        Some(version) => *version,
        None => usize::from(former >= subject.since_format),
    };
    for step in subject.migrations.iter().skip(version) {
        step(connection)?;
    }
    let newest = subject.version().max(version);
    connection
        .prepare("INSERT OR REPLACE INTO subjects VALUES (?, ?)")?
        .execute((subject.name, newest))?;
    Ok(())
}

fn too_new(location: &Location, has: &str, known: &str) -> Error {
    Error::new(
        ErrorCode::IndexTooNew,
        format!("{location} has {has} and this hedgerow reads up to {known}; upgrade hedgerow"),
    )
}

fn needs_writing(location: &Location) -> Error {
    Error::new(
        ErrorCode::IndexReadOnly,
        format!("{location} is empty or of an older version; open it once without read_only"),
    )
}

#[cfg(test)]
mod tests {
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

    fn prepare_with(path: &Path, read_only: bool, subjects: Subjects) -> Result<()> {
        let location = Location::file(path, read_only, subjects)?;
        let mut connection = location.first_connection(read_only)?;
        prepare(&mut connection, &location, read_only, &[])
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
            let all = [&[("chunks", 1)], more, &[("sources", 1), ("vectors", 2)]].concat();
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
            assert!(
                error.message().contains("once without read_only"),
                "{error}"
            );
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
            .execute_batch("PRAGMA user_version = 6")
            .unwrap();
        let error = prepare_with(&path, false, WITH_LATER_NOTES).unwrap_err();
        assert_eq!(error.code(), ErrorCode::IndexTooNew);
        let expected = "has schema version 6 and this hedgerow reads up to 5; upgrade hedgerow";
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
}
