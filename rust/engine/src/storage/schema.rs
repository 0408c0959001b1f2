//! The application of a file, and upgrades of older files.
//!
//! `PRAGMA user_version` is the format of the file as a whole, with the tables of storage itself.
//! The tables of each [`Subject`] have their version in the table `subjects`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, ffi};

use super::generations;
use super::location::Location;
use super::settings;
use super::subject::Subject;
use crate::error::{Error, ErrorCode, Result};

/// Marks a SQLite file as ours ("HGRW").
const APPLICATION_ID: i64 = 0x4847_5257;

/// The format of the file that this code writes. Up to 4 it counted the tables of all subjects; 6
/// lists changes as ranges of rows; 7 may have the tokenizer `words`.
pub const FORMAT: u32 = 7;
/// The first format with the table `subjects`.
const FIRST_WITH_SUBJECTS: u32 = 5;

/// The setting that keeps the format a file had before it was brought up to date: subjects that a
/// later handle registers may be there already.
const FORMER_FORMAT: &str = "former_format";

/// The state of a file when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormatState {
    /// Up to date.
    Current,
    /// Not there, or empty.
    New,
    /// Of an earlier version.
    Migrated {
        /// The upgrades, from version to version: "format 4 to 5, bm25 1 to 2".
        steps: String,
        /// How long it took.
        time: Duration,
    },
}

/// Make, upgrade or recognize the file; one that is made begins with the settings `initial`.
pub(super) fn prepare(
    connection: &mut Connection,
    location: &Location,
    read_only: bool,
    initial: &[(&str, &str)],
) -> Result<FormatState> {
    let current = is_current(connection, location)?;
    location.check_log(connection)?;
    if !current {
        if read_only {
            return Err(needs_writing(location));
        }
        location.write_ahead(connection)?;
        return migrate(connection, location, initial);
    }
    if !read_only {
        location.write_ahead(connection)?;
    }
    Ok(FormatState::Current)
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
) -> Result<FormatState> {
    let at = |error: rusqlite::Error| location.error(&error);
    let start = Instant::now();
    let transaction =
        Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map_err(at)?;
    // Another process may have been first while this one waited.
    let found = format(&transaction, location)?;
    let steps = make(&transaction, location, found, initial).map_err(at)?;
    transaction.commit().map_err(at)?;
    Ok(if found == 0 {
        FormatState::New
    } else if steps.is_empty() {
        FormatState::Current
    } else {
        let time = start.elapsed();
        FormatState::Migrated { steps, time }
    })
}

/// Run the missing steps since a format; return the steps done.
fn make(
    connection: &Connection,
    location: &Location,
    found: u32,
    initial: &[(&str, &str)],
) -> rusqlite::Result<String> {
    let mut done = Vec::new();
    if found < FORMAT {
        done.push(format!("format {found} to {FORMAT}"));
        begin(connection, found, initial).map_err(|error| or_damage(connection, error))?;
    }
    let former = settings::get(connection, FORMER_FORMAT)?.unwrap_or(0);
    let versions = versions(connection)?;
    for subject in location.subjects() {
        let (from, to) = upgrade(connection, subject, versions.get(subject.name), former)?;
        if from != to {
            done.push(format!("{} {from} to {to}", subject.name));
        }
    }
    connection.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT};"
    ))?;
    Ok(done.join(", "))
}

/// The names of the tables, indexes and triggers that the file lacks, or has otherwise than this code
/// makes them.
///
/// A bad disk may turn a definition into another that SQLite can read. Statements then fail in ways
/// that it has no code for.
pub(super) fn changed_definitions(
    connection: &Connection,
    location: &Location,
) -> rusqlite::Result<BTreeSet<String>> {
    let kept = settings::all(connection)?;
    let initial: Vec<(&str, &str)> = kept
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| *name != FORMER_FORMAT)
        .collect();
    let fresh = Location::memory(location.subjects());
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let made = fresh.try_connect(flags, false)?;
    make(&made, &fresh, 0, &initial)?;
    let found = definitions(connection)?;
    let changed = definitions(&made)?.into_iter();
    let changed = changed.filter(|definition| !found.contains(definition));
    Ok(changed.map(|(_, name, _)| name).collect())
}

/// The kind, the name and the definition of all there is. White space has differed between versions.
fn definitions(connection: &Connection) -> rusqlite::Result<HashSet<(String, String, String)>> {
    let read = |row: &rusqlite::Row<'_>| {
        let sql: Option<String> = row.get(2)?;
        let bare = sql.unwrap_or_default().split_whitespace().collect();
        Ok((row.get(0)?, row.get(1)?, bare))
    };
    connection
        .prepare("SELECT type, name, sql FROM sqlite_schema")?
        .query_map([], read)?
        .collect()
}

/// Make the tables of storage, of which files of earlier formats have some.
fn begin(connection: &Connection, former: u32, initial: &[(&str, &str)]) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS settings (
             name TEXT PRIMARY KEY,
             value TEXT NOT NULL
         ) STRICT, WITHOUT ROWID;
         INSERT OR IGNORE INTO settings VALUES ('generation', '0');",
    )?;
    generations::create(connection)?;
    if former < FIRST_WITH_SUBJECTS {
        connection.execute_batch(
            "CREATE TABLE subjects (
                 name TEXT PRIMARY KEY,
                 version INTEGER NOT NULL
             ) STRICT, WITHOUT ROWID;",
        )?;
    }
    match former {
        0 => initial
            .iter()
            .try_for_each(|(name, value)| settings::set(connection, name, Some(value))),
        1..FIRST_WITH_SUBJECTS => {
            settings::set(connection, FORMER_FORMAT, Some(&former.to_string()))
        }
        _ => Ok(()),
    }
}

/// Upgrade the tables of one subject; return the old and the new version.
fn upgrade(
    connection: &Connection,
    subject: &Subject,
    version: Option<&usize>,
    former: u32,
) -> rusqlite::Result<(usize, usize)> {
    if subject.migrations.is_empty() {
        return Ok((0, 0));
    }
    let version = match version {
        Some(version) => *version,
        None => usize::from(former >= subject.since_format),
    };
    for step in subject.migrations.iter().skip(version) {
        step(connection).map_err(|error| or_damage(connection, error))?;
    }
    let newest = subject.version().max(version);
    connection
        .prepare("INSERT OR REPLACE INTO subjects VALUES (?, ?)")?
        .execute((subject.name, newest))?;
    Ok((version, newest))
}

/// Return the error of a step. It is damage if the table exists already exactly as the step creates it: the
/// file then claims to be older than it is.
fn or_damage(connection: &Connection, error: rusqlite::Error) -> rusqlite::Error {
    let rusqlite::Error::SqlInputError { sql, msg, .. } = &error else {
        return error;
    };
    let find = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE instr(?, sql) > 0)";
    let is_made = msg.contains(" already exists")
        && connection
            .query_row(find, [sql], |row| row.get(0))
            .unwrap_or(false);
    if !is_made {
        return error;
    }
    rusqlite::Error::SqliteFailure(
        ffi::Error::new(ffi::SQLITE_CORRUPT),
        Some(format!("{msg} in a file without a version of it")),
    )
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
        format!("{location} is empty or of an older version; open it once for writing"),
    )
}

#[cfg(test)]
mod tests;
