//! Whose file it is, and how one of an older version becomes one of this version.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::location::Location;
use super::migrations::{MIGRATIONS, Migration};
use crate::error::{Error, ErrorCode, Result};
use crate::text::tokenizer::TokenizerKind;

/// Marks a SQLite file as ours ("HGRW").
const APPLICATION_ID: i64 = 0x4847_5257;

/// The schema version this code writes.
pub(super) fn schema_version() -> usize {
    MIGRATIONS.len()
}

/// Make, upgrade or recognise the file; the answer is the tokenizer it was made with.
pub(super) fn prepare(
    connection: &mut Connection,
    location: &Location,
    asked: TokenizerKind,
    read_only: bool,
    migrations: &[Migration],
) -> Result<TokenizerKind> {
    if version(connection, location, migrations)? < migrations.len() {
        if read_only {
            return Err(needs_writing(location));
        }
        location.write_ahead(connection)?;
        migrate(connection, location, asked, migrations)?;
    } else if !read_only {
        location.write_ahead(connection)?;
    }
    let kept = stored_tokenizer(connection, location)?;
    if asked == kept || asked == TokenizerKind::default() {
        return Ok(kept);
    }
    Err(Error::new(
        ErrorCode::TokenizerMismatch,
        format!(
            "{location} was made with the tokenizer \"{}\", not \"{}\"; leave the tokenizer out, \
             or upsert the chunks into a new index",
            kept.as_str(),
            asked.as_str()
        ),
    ))
}

/// The version of a file of ours, 0 for an empty one; anything else is refused unread.
fn version(
    connection: &mut Connection,
    location: &Location,
    migrations: &[Migration],
) -> Result<usize> {
    let (application, version, tables) =
        header(connection).map_err(|error| location.error(&error))?;
    if (application, version, tables) == (0, 0, 0) {
        return Ok(0);
    }
    if application != APPLICATION_ID {
        return Err(location.not_an_index());
    }
    match usize::try_from(version) {
        Ok(version) if version <= migrations.len() => Ok(version),
        _ => Err(Error::new(
            ErrorCode::IndexTooNew,
            format!(
                "{location} has schema version {version} and this hedgerow reads up to {}; \
                 upgrade hedgerow",
                migrations.len()
            ),
        )),
    }
}

/// Application id, schema version and number of tables, all of one moment.
fn header(connection: &mut Connection) -> rusqlite::Result<(i64, i64, i64)> {
    let transaction = connection.transaction()?;
    let number = |sql: &str| transaction.query_row(sql, [], |row| row.get(0));
    Ok((
        number("PRAGMA application_id")?,
        number("PRAGMA user_version")?,
        number("SELECT count(*) FROM sqlite_schema")?,
    ))
}

/// Run the steps that are missing, in one transaction.
fn migrate(
    connection: &mut Connection,
    location: &Location,
    tokenizer: TokenizerKind,
    migrations: &[Migration],
) -> Result<()> {
    let at = |error: rusqlite::Error| location.error(&error);
    let transaction =
        Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map_err(at)?;
    // Another process may have been first while this one waited.
    let version: u32 = transaction
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(at)?;
    let version = version as usize;
    // The file's own tokenizer counts once there is one.
    let tokenizer = match version {
        0 => tokenizer,
        _ => stored_tokenizer(&transaction, location)?,
    };
    for step in migrations.iter().skip(version) {
        step(&transaction, tokenizer).map_err(at)?;
    }
    let newest = migrations.len().max(version);
    transaction
        .execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {newest};"
        ))
        .map_err(at)?;
    transaction.commit().map_err(at)
}

fn stored_tokenizer(connection: &Connection, location: &Location) -> Result<TokenizerKind> {
    let name: String = connection
        .query_row(
            "SELECT value FROM settings WHERE name = 'tokenizer'",
            [],
            |row| row.get(0),
        )
        .map_err(|error| match error {
            rusqlite::Error::QueryReturnedNoRows => location.damaged("it names no tokenizer"),
            error => location.error(&error),
        })?;
    TokenizerKind::from_name(&name)
        .map_err(|_| location.damaged(&format!("it names an unknown tokenizer, {name:?}")))
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

    use super::super::{Chunk, Index};
    use super::*;

    fn add_table(connection: &Connection, _: TokenizerKind) -> rusqlite::Result<()> {
        connection.execute_batch("CREATE TABLE added (x); CREATE TABLE knowledge_chunks (x)")
    }

    fn add_column(connection: &Connection, _: TokenizerKind) -> rusqlite::Result<()> {
        connection.execute_batch("ALTER TABLE knowledge_chunks ADD COLUMN note TEXT")
    }

    fn made(folder: &Path) -> Location {
        let path = folder.join("index.db");
        let index = Index::open(&path, TokenizerKind::Unicode61, false).unwrap();
        let chunk = Chunk {
            id: "a".to_owned(),
            content: "kept".to_owned(),
            ..Chunk::default()
        };
        index.upsert(&[&chunk]).unwrap();
        Location::file(&path, false).unwrap()
    }

    fn prepare_with(
        location: &Location,
        read_only: bool,
        steps: &[Migration],
    ) -> Result<TokenizerKind> {
        let mut connection = location.first_connection(read_only)?;
        prepare(
            &mut connection,
            location,
            TokenizerKind::default(),
            read_only,
            steps,
        )
    }

    fn state(location: &Location) -> (i64, i64, i64) {
        header(&mut location.connection(false).unwrap()).unwrap()
    }

    #[test]
    fn an_older_file_is_migrated_and_keeps_what_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let location = made(folder.path());
        let (_, _, tables) = state(&location);
        let kept = prepare_with(
            &location,
            false,
            &[MIGRATIONS, &[add_column as Migration]].concat(),
        )
        .unwrap();
        assert_eq!(kept, TokenizerKind::Unicode61);
        assert_eq!(state(&location), (APPLICATION_ID, 6, tables));
        let content: String = location
            .connection(true)
            .unwrap()
            .query_row(
                "SELECT content FROM knowledge_chunks WHERE note IS NULL",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(content, "kept");
    }

    #[test]
    fn a_file_of_version_1_is_given_vectors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let location = Location::file(&path, false).unwrap();
        prepare_with(&location, false, &MIGRATIONS[..1]).unwrap();
        let connection = location.connection(false).unwrap();
        connection
            .execute_batch(
                "INSERT INTO knowledge_chunks
                     VALUES (7, 'a', 'p', 0, 'old', '', '[]', '', 'winter garden', '{}');
                 INSERT INTO knowledge_fts (rowid, path, title, summary, tags, content)
                     VALUES (7, 'p', 'old', '', '', 'winter garden');",
            )
            .unwrap();
        drop(connection);
        assert_eq!(state(&location).1, 1);
        let index = Index::open(&path, TokenizerKind::default(), false).unwrap();
        assert_eq!(state(&location).1, 5);
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
            .search_vector(&[0.0, 1.0], 1, &super::super::Filters::default())
            .unwrap();
        assert_eq!(found[0].title, "old");
        assert_eq!(found[0].vector_similarity, Some(1.0));
    }

    #[test]
    fn a_step_that_fails_leaves_the_file_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let location = made(folder.path());
        let before = state(&location);
        // The second of its statements fails; the step before it worked.
        let error = prepare_with(
            &location,
            false,
            &[MIGRATIONS, &[add_column as Migration, add_table]].concat(),
        )
        .unwrap_err();
        assert_eq!(error.code(), ErrorCode::EngineFault, "{error}");
        assert_eq!(state(&location), before);
        assert!(
            prepare_with(
                &location,
                false,
                &[MIGRATIONS, &[add_column as Migration]].concat()
            )
            .is_ok()
        );
    }

    #[test]
    fn an_older_file_opened_read_only_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let location = made(folder.path());
        let error = prepare_with(
            &location,
            true,
            &[MIGRATIONS, &[add_column as Migration]].concat(),
        )
        .unwrap_err();
        assert_eq!(error.code(), ErrorCode::IndexReadOnly);
        assert!(
            error.message().contains("once without read_only"),
            "{error}"
        );
        assert_eq!(state(&location).1, 5);
    }

    #[test]
    fn a_newer_file_is_refused_untouched() {
        let folder = tempfile::tempdir().unwrap();
        let location = made(folder.path());
        prepare_with(
            &location,
            false,
            &[MIGRATIONS, &[add_column as Migration]].concat(),
        )
        .unwrap();
        let path = location.path().unwrap();
        let before = fs::read(path).unwrap();
        let error = Index::open(path, TokenizerKind::Porter, false)
            .err()
            .unwrap();
        assert_eq!(error.code(), ErrorCode::IndexTooNew);
        assert!(error.message().contains("version 6"), "{error}");
        assert!(
            error.message().contains("up to 5; upgrade hedgerow"),
            "{error}"
        );
        assert_eq!(fs::read(path).unwrap(), before);
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
