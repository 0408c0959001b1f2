//! The tables of chunks, and the full-text index.

use rusqlite::{Connection, ErrorCode as SqliteCode, OptionalExtension, Row};

use super::check::malformed_rows;
use super::filters;
use super::merge;
use super::metadata_index;
use crate::error::{Error, ErrorCode, Result};
use crate::interrupt;
use crate::storage::{Location, Subject, WorkError, disagreements, generations, settings};
use crate::text::tokenizer::TokenizerKind;
use crate::text::{self, words};

/// The setting that names the tokenizer, given when the file is made.
pub const TOKENIZER: &str = "tokenizer";

/// The setting that says whether Latin words of stored texts have stems; there once they have.
const LATIN_STEMS: &str = "latin_stems";

/// Chunks and the full-text index.
pub static CHUNKS: Subject = Subject {
    name: "chunks",
    migrations: &[
        create,
        order_by_ordinal,
        metadata_index::create,
        own_merges,
        newest_words,
        newest_words,
    ],
    since_format: 1,
    register,
    checks: &[
        row_problems,
        malformed_rows,
        tag_problems,
        metadata_index::problems,
    ],
    writing_checks: &[text_problems],
    maintenance: Some(merge::MAINTENANCE),
};

/// Give a connection the functions of filters, and the tokenizer that a full-text index may name.
fn register(connection: &Connection) -> rusqlite::Result<()> {
    filters::register(connection)?;
    text::register(connection)
}

/// FTS5 reads the searched texts from a view, because its `tags` are joined by spaces and those of
/// the table are kept apart. The joined text is a column, since FTS5 reads no view that calls
/// `json_each`. The tables have no triggers: `write.rs` keeps everything in step.
///
/// A large `hashsize` makes bulk writing half as fast again; FTS5 fills it only as needed.
fn create(connection: &Connection) -> rusqlite::Result<()> {
    let name: Option<String> = settings::get(connection, TOKENIZER)?;
    let known = name.and_then(|name| TokenizerKind::from_name(&name));
    connection.execute_batch(
        "CREATE TABLE knowledge_chunks (
             row INTEGER PRIMARY KEY,
             id TEXT NOT NULL UNIQUE,
             path TEXT NOT NULL,
             ordinal INTEGER NOT NULL,
             title TEXT NOT NULL,
             summary TEXT NOT NULL,
             tags TEXT NOT NULL,
             tag_text TEXT NOT NULL,
             content TEXT NOT NULL,
             metadata TEXT NOT NULL
         ) STRICT;
         CREATE INDEX knowledge_chunks_path ON knowledge_chunks (path);
         CREATE VIEW knowledge_texts AS
             SELECT row, path, title, summary, tag_text AS tags, content FROM knowledge_chunks;",
    )?;
    create_full_text(connection, known.unwrap_or(TokenizerKind::Porter))
}

/// Make the full-text index, empty.
fn create_full_text(connection: &Connection, tokenizer: TokenizerKind) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "CREATE VIRTUAL TABLE knowledge_fts USING fts5(
             path, title, summary, tags, content,
             content = 'knowledge_texts', content_rowid = 'row',
             tokenize = '{}'
         );
         INSERT INTO knowledge_fts (knowledge_fts, rank)
             VALUES ('rank', 'bm25(3.0, 10.0, 5.0, 4.0, 1.0)'), ('hashsize', 16777216);",
        tokenizer.fts5_name()
    ))
}

/// The chunks of a path in their order, without a look at the chunks.
fn order_by_ordinal(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "DROP INDEX knowledge_chunks_path;
         CREATE INDEX knowledge_chunks_path ON knowledge_chunks (path, ordinal);",
    )
}

/// Switch off the merges inside FTS5's writes, which `merge.rs` replaces.
///
/// `automerge` 0 means none. `crisismerge` is the number of segments of one level that FTS5 merges in one
/// step, without a time limit. It is a last resort: `merge.rs` keeps far fewer. It is not near FTS5's limit,
/// since all levels together may have 2,000 segments and the merge itself needs one more: beyond, every write
/// fails.
fn own_merges(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .prepare(
            "INSERT INTO knowledge_fts (knowledge_fts, rank)
                 VALUES ('automerge', 0), ('crisismerge', 1000), ('usermerge', ?)",
        )?
        .execute([merge::FAN_OUT])?;
    Ok(())
}

/// Rebuild the full-text index of a file if it has the tokens of an earlier version of `words`. A migration for each
/// version leads here, and the first one does the work.
fn newest_words(connection: &Connection) -> rusqlite::Result<()> {
    let count = "SELECT count(*) FROM sqlite_schema
          WHERE name = 'knowledge_fts' AND sql LIKE '%''hedgerow_words %' AND instr(sql, ?) = 0";
    let newest = TokenizerKind::Words.fts5_name();
    if connection.query_row(count, [newest], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(());
    }
    connection.execute_batch("DROP TABLE knowledge_fts")?;
    create_full_text(connection, TokenizerKind::Words)?;
    own_merges(connection)?;
    connection.execute_batch("INSERT INTO knowledge_fts (knowledge_fts) VALUES ('rebuild')")?;
    settings::set(connection, LATIN_STEMS, None)?;
    let mut stems = StemWatch::new(connection)?;
    let mut statement = connection.prepare(TEXTS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        stems.note(connection, texts_of(row)?)?;
    }
    // Without a list of changes, so that every cache is reloaded.
    let first = "SELECT row FROM knowledge_chunks ORDER BY row LIMIT 1";
    let first: Option<i64> = connection
        .query_row(first, [], |row| row.get(0))
        .optional()?;
    generations::record(connection, first.as_slice())?;
    generations::create(connection)
}

/// How the texts of a file are tokenized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullText {
    /// The tokenizer of the full-text index.
    pub tokenizer: TokenizerKind,
    /// Whether Latin words of stored texts have stems ([`crate::query::MatchOptions`]).
    pub latin_stems: bool,
}

impl FullText {
    /// Return the settings in the state that `connection` sees.
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let name: Option<String> = settings::get(connection, TOKENIZER)?;
        let known = name.and_then(|name| TokenizerKind::from_name(&name));
        let tokenizer = known.unwrap_or(TokenizerKind::Porter);
        let stems: Option<String> = match tokenizer {
            TokenizerKind::Words => settings::get(connection, LATIN_STEMS)?,
            _ => None,
        };
        Ok(Self {
            tokenizer,
            latin_stems: stems.is_some(),
        })
    }
}

/// Rebuild the full-text index with another tokenizer, in the transaction of `connection`. `progress` gets
/// the number of chunks done so far, and the total.
pub(crate) fn retokenize(
    connection: &Connection,
    tokenizer: TokenizerKind,
    progress: &mut dyn FnMut(u64, u64) -> Result<()>,
) -> std::result::Result<(), WorkError> {
    settings::set(connection, TOKENIZER, Some(tokenizer.as_str()))?;
    settings::set(connection, LATIN_STEMS, None)?;
    connection.execute_batch("DROP TABLE knowledge_fts")?;
    create_full_text(connection, tokenizer)?;
    own_merges(connection)?;
    let count = "SELECT count(*) FROM knowledge_chunks";
    let all: u64 = connection.query_row(count, [], |row| row.get(0))?;
    let mut insert = connection.prepare(
        "INSERT INTO knowledge_fts (rowid, path, title, summary, tags, content)
         VALUES (?, ?, ?, ?, ?, ?)",
    )?;
    let mut stems = StemWatch::new(connection)?;
    let mut statement = connection.prepare(TEXTS)?;
    let mut rows = statement.query([])?;
    let mut done = 0;
    let mut first = None;
    while let Some(row) = rows.next()? {
        interrupt::check_reading()?;
        let number: i64 = row.get(0)?;
        let texts = texts_of(row)?;
        let [path, title, summary, tags, content] = texts;
        insert.execute((number, path, title, summary, tags, content))?;
        stems.note(connection, texts)?;
        first.get_or_insert(number);
        done += 1;
        progress(done, all)?;
    }
    // Without a list of changes, so that every cache is reloaded.
    generations::record(connection, first.as_slice())?;
    Ok(generations::create(connection)?)
}

/// The texts of all chunks.
const TEXTS: &str =
    "SELECT row, path, title, summary, tags, content FROM knowledge_texts ORDER BY row";

/// The texts in a row of [`TEXTS`].
fn texts_of<'r>(row: &'r Row<'_>) -> rusqlite::Result<[&'r str; 5]> {
    let mut texts = [""; 5];
    for (text, column) in texts.iter_mut().zip(1..) {
        *text = row.get_ref(column)?.as_str()?;
    }
    Ok(texts)
}

/// Notes in the file that Latin words of stored texts have stems, once a text has.
pub(super) struct StemWatch {
    /// Whether none has yet, and the tokenizer gives stems.
    is_watching: bool,
}

impl StemWatch {
    pub fn new(connection: &Connection) -> rusqlite::Result<Self> {
        let now = FullText::read(connection)?;
        Ok(Self {
            is_watching: now.tokenizer == TokenizerKind::Words && !now.latin_stems,
        })
    }

    /// Look at the texts of a chunk that was stored.
    pub fn note(&mut self, connection: &Connection, texts: [&str; 5]) -> rusqlite::Result<()> {
        if self.is_watching && texts.into_iter().any(words::is_inflected_latin) {
            settings::set(connection, LATIN_STEMS, Some("1"))?;
            self.is_watching = false;
        }
        Ok(())
    }
}

/// The tokenizer a file was made with, which the caller's must be; the default asks for none in
/// particular.
pub fn tokenizer(
    connection: &Connection,
    location: &Location,
    asked: TokenizerKind,
) -> Result<TokenizerKind> {
    let name: Option<String> =
        settings::get(connection, TOKENIZER).map_err(|error| location.error(&error))?;
    let name = name.ok_or_else(|| location.damaged("it names no tokenizer"))?;
    let kept = TokenizerKind::from_name(&name)
        .ok_or_else(|| location.damaged(&format!("it names an unknown tokenizer, {name:?}")))?;
    if asked == kept || asked == TokenizerKind::default() {
        return Ok(kept);
    }
    Err(Error::new(
        ErrorCode::TokenizerMismatch,
        format!(
            "{location} has the tokenizer \"{}\", not \"{}\"; leave the tokenizer out, or change it \
             with retokenize",
            kept.as_str(),
            asked.as_str()
        ),
    ))
}

/// Each query finds the ids of chunks, or the numbers of rows, that something is wrong with.
fn row_problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    disagreements(
        connection,
        &[
            (
                "chunks are not in the full-text index",
                "SELECT id FROM knowledge_chunks
                  WHERE row NOT IN (SELECT id FROM knowledge_fts_docsize)",
            ),
            (
                "rows of the full-text index have no chunk",
                "SELECT 'row ' || id FROM knowledge_fts_docsize
                  WHERE id NOT IN (SELECT row FROM knowledge_chunks)",
            ),
        ],
    )
}

fn tag_problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    disagreements(
        connection,
        &[(
            "chunks have a text of their tags that is not their tags",
            "SELECT id FROM knowledge_chunks
              WHERE CASE WHEN json_valid(tags) THEN tag_text <>
                         (SELECT coalesce(group_concat(value, ' ' ORDER BY key), '')
                            FROM json_each(tags))
                         ELSE 0 END",
        )],
    )
}

/// FTS5's own check, which it takes for a change; rank 1 has it read the texts and compare.
fn text_problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let checked = connection.execute_batch(
        "INSERT INTO knowledge_fts (knowledge_fts, rank) VALUES ('integrity-check', 1)",
    );
    match checked {
        Ok(()) => Ok(Vec::new()),
        Err(error) if error.sqlite_error_code() == Some(SqliteCode::DatabaseCorrupt) => Ok(vec![
            "the full-text index and the texts of the chunks differ".to_owned(),
        ]),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::chunks::{Chunk, Filters, Where};
    use crate::index::Index;
    use crate::storage::generations;

    #[test]
    fn a_file_without_a_known_tokenizer_is_damaged() {
        for (damage, what) in [
            (
                "DELETE FROM settings WHERE name = 'tokenizer'",
                "is damaged (it names no tokenizer);",
            ),
            (
                "UPDATE settings SET value = 'snowball' WHERE name = 'tokenizer'",
                "is damaged (it names an unknown tokenizer, \"snowball\");",
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("index.db");
            let index = Index::open(&path, TokenizerKind::Porter, false).unwrap();
            let spoil = |connection: &Connection| connection.execute_batch(damage);
            index.database().write(spoil).unwrap();
            index.close().unwrap();
            let error = Index::open(&path, TokenizerKind::Porter, false);
            let error = error.err().unwrap();
            assert_eq!(error.code(), ErrorCode::IndexDamaged, "{error}");
            assert!(error.message().contains(what), "{error}");
        }
    }

    #[test]
    fn an_index_of_metadata_that_cannot_be_read_is_damage() {
        for damage in [
            "UPDATE metadata_keys SET name = ''",
            "UPDATE metadata_values SET value = '{'",
        ] {
            let index = Index::in_memory(TokenizerKind::Porter).unwrap();
            index.index_metadata(&["year"]).unwrap();
            let source = json!({"year": 2024}).as_object().cloned().unwrap();
            let chunk = Chunk {
                id: "a".to_owned(),
                metadata: source.clone(),
                embedding: Some(vec![1.0, 0.0]),
                ..Chunk::default()
            };
            index.upsert(&[&chunk]).unwrap();
            let filters = Filters {
                wanted: Where::new("where", source).unwrap(),
                ..Filters::default()
            };
            let search = || index.search_vector(&[1.0, 0.0], 9, &filters);
            assert_eq!(search().unwrap().len(), 1);
            index
                .database()
                .write(|connection| {
                    connection.execute_batch(damage)?;
                    // A generation without a list of changes, so that every cache is reloaded.
                    generations::record(connection, &[1])?;
                    generations::create(connection)
                })
                .unwrap();
            let error = search().unwrap_err();
            assert_eq!(error.code(), ErrorCode::IndexDamaged, "{damage}: {error}");
            let what = "the index of the metadata cannot be read";
            assert!(error.message().contains(what), "{error}");
        }
    }
}
