//! The rows of `sources` and `source_chunks`.

use std::rc::Rc;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::schema::SOURCES_GENERATION;
use crate::chunks::text_array;
use crate::storage::settings;

/// A file as last read. Only the sync interprets the fields, except for the number of chunks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceFile {
    /// The path of the file, its name in the sync.
    pub path: String,
    /// The signature that the system reported of the file; empty if it must be read again.
    pub signature: String,
    /// Whether any later change of the file shows in the signature.
    pub settled: bool,
    /// The hash of its content; empty when it could not be read.
    pub digest: String,
    /// The number of chunks, counted when they are written.
    pub chunks: u64,
    /// The skipped parts of the file, as JSON.
    pub skips: String,
    /// Other facts of the sync about the file, as JSON.
    pub facts: String,
}

/// All files, by their paths.
pub(crate) fn sources(connection: &Connection) -> rusqlite::Result<Vec<SourceFile>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM sources ORDER BY path"))?
        .query_map([], source)?
        .collect()
}

/// The changes of the ledger since an earlier change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LedgerChanges {
    /// The number of the last change.
    pub generation: i64,
    /// The files that were written since, by their paths.
    pub changed: Vec<SourceFile>,
    /// The number of files: fewer than the reader then knows if some were forgotten.
    pub files: usize,
}

/// Return the changes since a change of this number; all files if it is below 0.
pub(crate) fn changes_since(
    connection: &Connection,
    generation: i64,
) -> rusqlite::Result<LedgerChanges> {
    let last = sources_generation(connection)?;
    if last == generation {
        return Ok(LedgerChanges {
            generation,
            ..LedgerChanges::default()
        });
    }
    let changed = if generation < 0 {
        sources(connection)?
    } else {
        // Ordered here: ordering by path, SQLite would read every file to find the few that changed.
        let mut changed: Vec<SourceFile> = connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM sources INDEXED BY sources_changed WHERE changed > ?"
            ))?
            .query_map([generation], source)?
            .collect::<rusqlite::Result<_>>()?;
        changed.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        changed
    };
    let files = connection
        .prepare_cached("SELECT count(*) FROM sources")?
        .query_row([], |row| row.get(0))?;
    Ok(LedgerChanges {
        generation: last,
        changed,
        files,
    })
}

/// The rows of the chunks of each file that was written since a change of this number, ascending.
pub(crate) fn rows_since(
    connection: &Connection,
    generation: i64,
) -> rusqlite::Result<Vec<(String, i64)>> {
    // From the files that changed to their rows: the other way, SQLite would read every row.
    connection
        .prepare_cached(
            "SELECT path, row FROM sources INDEXED BY sources_changed
               CROSS JOIN source_chunks INDEXED BY source_chunks_source ON source = id
              WHERE changed > ? ORDER BY row",
        )?
        .query_map([generation], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// The paths of all files, in order.
pub(crate) fn paths(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare_cached("SELECT path FROM sources ORDER BY path")?
        .query_map([], |row| row.get(0))?
        .collect()
}

/// The number of the last change of the ledger; 0 before the first.
pub(crate) fn sources_generation(connection: &Connection) -> rusqlite::Result<i64> {
    Ok(settings::get(connection, SOURCES_GENERATION)?.unwrap_or_default())
}

/// Return the note about the sync under a name.
pub(crate) fn sync_note(connection: &Connection, name: &str) -> rusqlite::Result<Option<String>> {
    settings::get(connection, &note_name(name))
}

/// The ids of the chunks of a file.
pub(crate) fn source_chunks(connection: &Connection, path: &str) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare_cached(&format!(
            "SELECT id FROM knowledge_chunks WHERE {OF_SOURCE} ORDER BY row"
        ))?
        .query_map([path], |row| row.get(0))?
        .collect()
}

/// The ids of the chunks that are of no file.
pub(crate) fn chunks_without_source(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare_cached(
            "SELECT id FROM knowledge_chunks
              WHERE row NOT IN (SELECT row FROM source_chunks) ORDER BY row",
        )?
        .query_map([], |row| row.get(0))?
        .collect()
}

/// Return the stored ids among these, each with the `source_file` of its metadata, if any.
pub(crate) fn source_files<T: AsRef<str>>(
    connection: &Connection,
    ids: &[T],
) -> rusqlite::Result<Vec<(String, Option<String>)>> {
    connection
        .prepare_cached(
            "SELECT id, CASE json_type(metadata, '$.source_file') WHEN 'text'
                        THEN json_extract(metadata, '$.source_file') END
               FROM knowledge_chunks WHERE id IN rarray(?)",
        )?
        .query_map([text_array(ids)], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// The condition of the chunks of a file.
pub(crate) const OF_SOURCE: &str = "row IN (SELECT source_chunks.row FROM source_chunks
     JOIN sources ON sources.id = source_chunks.source WHERE sources.path = ?)";

const COLUMNS: &str = "path, signature, settled, digest, chunks, skips, facts";

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

/// Write the facts about a file, and record that the chunks of these ids belong to it.
pub fn put_source<'i>(
    connection: &Connection,
    source: &SourceFile,
    ids: impl Iterator<Item = &'i str>,
) -> rusqlite::Result<()> {
    let change = count(connection)?;
    let number: i64 = connection
        .prepare_cached(
            "INSERT INTO sources (path, signature, settled, digest, chunks, skips, facts, changed)
             VALUES (?, ?, ?, ?, 0, ?, ?, ?)
             ON CONFLICT (path) DO UPDATE
                SET signature = excluded.signature, settled = excluded.settled,
                    digest = excluded.digest, skips = excluded.skips, facts = excluded.facts,
                    changed = excluded.changed
             RETURNING id",
        )?
        .query_row(
            params![
                source.path,
                source.signature,
                source.settled,
                source.digest,
                source.skips,
                source.facts,
                change
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
    Ok(())
}

/// Write the signature of a file whose other facts are unchanged.
pub(crate) fn touch_source(connection: &Connection, source: &SourceFile) -> rusqlite::Result<()> {
    let change = count(connection)?;
    connection
        .prepare_cached(
            "UPDATE sources SET signature = ?2, settled = ?3, changed = ?4 WHERE path = ?1",
        )?
        .execute(params![
            source.path,
            source.signature,
            source.settled,
            change
        ])?;
    Ok(())
}

/// Forget a file; its chunks then belong to none.
pub fn forget_source(connection: &Connection, path: &str) -> rusqlite::Result<()> {
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

/// Write or remove notes about the sync as a whole.
pub fn note(connection: &Connection, notes: &[(String, Option<String>)]) -> rusqlite::Result<()> {
    for (name, text) in notes {
        settings::set(connection, &note_name(name), text.as_deref())?;
    }
    if !notes.is_empty() {
        count(connection)?;
    }
    Ok(())
}

/// Make the files of these rows unread, whose chunks were written or removed: after a sync itself
/// did so, it writes the files once more. A chunk that names no file any more is of none.
pub(crate) fn disown(connection: &Connection, rows: &[i64]) -> rusqlite::Result<()> {
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
    let is_of_files: bool = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM source_chunks WHERE row IN rarray(?))")?
        .query_row([&rows], |row| row.get(0))?;
    if !is_of_files {
        return Ok(());
    }
    let change = count(connection)?;
    connection
        .prepare_cached(
            "UPDATE sources SET signature = '', digest = '', changed = ?2
              WHERE id IN (SELECT source FROM source_chunks WHERE row IN rarray(?1))",
        )?
        .execute(params![&rows, change])?;
    connection
        .prepare_cached(
            "DELETE FROM source_chunks
              WHERE row IN rarray(?1) AND row NOT IN
                    (SELECT row FROM knowledge_chunks
                      WHERE row IN rarray(?1)
                        AND json_extract(metadata, '$.source_file') IS NOT NULL)",
        )?
        .execute([&rows])?;
    Ok(())
}

/// Count one more change of the ledger, and return its number.
fn count(connection: &Connection) -> rusqlite::Result<i64> {
    let change = sources_generation(connection)?.saturating_add(1);
    settings::set(connection, SOURCES_GENERATION, Some(&change.to_string()))?;
    Ok(change)
}

fn note_name(name: &str) -> String {
    format!("sync_{name}")
}
