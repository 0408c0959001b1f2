//! The values of declared keys, in the file: which rows have which (spec/filters.md, "Declared
//! keys").

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, ffi, params};
use serde_json::{Number, Value};

use super::chunk::{COLUMNS, Chunk};
use super::filters::{Field, TestedChunk, to_json};
use super::row_set::RowSet;
use crate::error::{Error, ErrorCode, Result};
use crate::interrupt::CancelTicker;
use crate::storage::summarize;

/// The value of a key that has only values outside the index: an empty list, an object. It is an
/// empty text, which is not JSON.
pub(super) const OTHER: &str = "";

/// A key that is indexed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DeclaredKey {
    pub number: i64,
    pub name: String,
    pub field: Field,
}

/// Make the tables.
pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE metadata_keys (
             key INTEGER PRIMARY KEY,
             name TEXT NOT NULL UNIQUE
         ) STRICT;
         CREATE TABLE metadata_values (
             key INTEGER NOT NULL,
             value TEXT NOT NULL,
             row INTEGER NOT NULL,
             PRIMARY KEY (key, value, row)
         ) STRICT, WITHOUT ROWID;",
    )
}

/// The declared keys, by their numbers.
pub(crate) fn declared(connection: &Connection) -> rusqlite::Result<Vec<DeclaredKey>> {
    let sql = "SELECT key, name FROM metadata_keys ORDER BY key";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
    let keys = found.map(|found| {
        let (number, name) = found?;
        let field = Field::named(&name).ok_or_else(damaged)?;
        Ok(DeclaredKey {
            number,
            name,
            field,
        })
    });
    keys.collect()
}

/// The error that the tables hold something else than we write.
pub(super) fn damaged() -> rusqlite::Error {
    let what = "the index of the metadata cannot be read".to_owned();
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), Some(what))
}

/// Refuse what cannot be a key.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if Field::named(name).is_some() && !name.starts_with('$') {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::InvalidOption,
        format!("metadata_index has {name:?}, which names no key; write it as in a filter"),
    ))
}

/// Index more keys, for all chunks there are.
pub(crate) fn declare(connection: &Connection, names: &[&str]) -> rusqlite::Result<()> {
    let known = declared(connection)?.len();
    for name in names {
        connection.execute(
            "INSERT OR IGNORE INTO metadata_keys (name) VALUES (?)",
            [name],
        )?;
    }
    let all = declared(connection)?;
    let mut entries = Entries::prepare(connection)?;
    entries.keys = all.into_iter().skip(known).collect();
    let sql = format!("SELECT row, {COLUMNS} FROM knowledge_chunks");
    let mut statement = connection.prepare(&sql)?;
    let mut pace = CancelTicker::default();
    for found in statement.query_map([], Chunk::with_row)? {
        pace.read(1)?;
        let (row, chunk) = found?;
        entries.add(row, &chunk)?;
    }
    Ok(())
}

/// Keeps the values of chunks in step with them.
pub(super) struct Entries<'c> {
    connection: &'c Connection,
    keys: Vec<DeclaredKey>,
}

impl<'c> Entries<'c> {
    pub fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            keys: declared(connection)?,
        })
    }

    pub fn add(&self, row: i64, chunk: &Chunk) -> rusqlite::Result<()> {
        self.change(
            "INSERT OR IGNORE INTO metadata_values VALUES (?, ?, ?)",
            row,
            chunk,
        )
    }

    pub fn remove(&self, row: i64, chunk: &Chunk) -> rusqlite::Result<()> {
        self.change(
            "DELETE FROM metadata_values WHERE key = ? AND value = ? AND row = ?",
            row,
            chunk,
        )
    }

    fn change(&self, sql: &str, row: i64, chunk: &Chunk) -> rusqlite::Result<()> {
        for key in &self.keys {
            for value in values(&key.field, chunk)? {
                let mut statement = self.connection.prepare_cached(sql)?;
                statement.execute(params![key.number, value, row])?;
            }
        }
        Ok(())
    }
}

/// Return the indexed values of a chunk: each scalar, also of lists, as JSON.
fn values(field: &Field, chunk: &Chunk) -> rusqlite::Result<BTreeSet<String>> {
    let subject = TestedChunk::of(chunk);
    let found = field.values(&subject);
    let mut values = BTreeSet::new();
    for value in &found {
        let items = value.as_array().map(Vec::as_slice);
        for value in items.unwrap_or_else(|| std::slice::from_ref(value)) {
            if is_indexed(value) {
                values.insert(to_json(value)?);
            }
        }
    }
    if values.is_empty() && !found.is_empty() {
        values.insert(OTHER.to_owned());
    }
    Ok(values)
}

/// Return the name of the group of a chunk by a field (spec/retrieval.md, "Grouping"): its value as
/// JSON. Without exactly one value the chunk is a separate group.
pub(super) fn group(field: &Field, chunk: &Chunk) -> rusqlite::Result<String> {
    let mut values = values(field, chunk)?;
    let only = if values.len() == 1 {
        values.pop_first()
    } else {
        None
    };
    let name = only.filter(|value| is_single(value)).map(group_of_value);
    Ok(name.unwrap_or_else(|| own_group(&chunk.id)))
}

/// The name of the group of a chunk alone. No JSON begins with NUL.
pub(super) fn own_group(id: &str) -> String {
    format!("\0{id}")
}

/// The name of the group of a value. Equal numbers have one name, whether integers or floats.
fn group_of_value(value: String) -> String {
    let number = serde_json::from_str::<Number>(&value).ok();
    let float = number
        .filter(Number::is_f64)
        .and_then(|number| number.as_f64());
    match float {
        // The sum of -0.0 and 0.0 is 0.0.
        Some(float) if float.fract() == 0.0 => format!("{:.0}", float + 0.0),
        _ => value,
    }
}

/// The rows of each group by a key that is not of one chunk for lack of a value, by name.
pub(super) fn groups(
    connection: &Connection,
    key: i64,
) -> rusqlite::Result<BTreeMap<String, Vec<i64>>> {
    let sql = "SELECT value, row FROM metadata_values WHERE key = ? ORDER BY value, row";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query([key])?;
    let mut groups: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    let (mut value, mut of_value, mut pace) = (String::new(), Vec::new(), CancelTicker::default());
    let (mut seen, mut several) = (RowSet::default(), RowSet::default());
    let mut add = |value: &str, rows: &mut Vec<i64>| {
        if is_single(value) && !rows.is_empty() {
            let name = group_of_value(value.to_owned());
            groups.entry(name).or_default().append(rows);
        }
        rows.clear();
    };
    while let Some(found) = found.next()? {
        pace.read(1)?;
        let (next, row) = (found.get_ref(0)?.as_str()?, found.get(1)?);
        if next != value {
            add(&value, &mut of_value);
            next.clone_into(&mut value);
        }
        if seen.contains(row) {
            several.insert(row);
        }
        seen.insert(row);
        of_value.push(row);
    }
    add(&value, &mut of_value);
    for rows in groups.values_mut() {
        rows.retain(|row| !several.contains(*row));
        rows.sort_unstable();
    }
    groups.retain(|_, rows| !rows.is_empty());
    Ok(groups)
}

/// Whether chunks with this value alone are a group: null counts as no value, as in filters.
fn is_single(value: &str) -> bool {
    value != OTHER && value != "null"
}

/// Whether the index knows which rows have a value.
pub(super) fn is_indexed(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

/// Chunks whose values are not those of the index.
pub(super) fn problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let keys = declared(connection)?;
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT row, {COLUMNS} FROM knowledge_chunks");
    let mut statement = connection.prepare(&sql)?;
    let mut of_row = connection.prepare(
        "SELECT EXISTS (SELECT 1 FROM metadata_values WHERE key = ? AND value = ? AND row = ?)",
    )?;
    let mut expected: BTreeMap<i64, i64> = BTreeMap::new();
    let mut missing = Vec::new();
    for found in statement.query_map([], Chunk::with_row)? {
        // A chunk that cannot be read is a problem that another check finds.
        let Ok((row, chunk)) = found else { continue };
        let mut whole = true;
        for key in &keys {
            for value in values(&key.field, &chunk)? {
                *expected.entry(key.number).or_default() += 1;
                let entry = params![key.number, value, row];
                whole &= of_row.query_row(entry, |found| found.get::<_, bool>(0))?;
            }
        }
        if !whole {
            missing.push(chunk.id);
        }
    }
    let mut more = Vec::new();
    for key in &keys {
        let count = "SELECT count(*) FROM metadata_values WHERE key = ?";
        let count: i64 = connection.query_row(count, [key.number], |found| found.get(0))?;
        if missing.is_empty() && count != expected.get(&key.number).copied().unwrap_or_default() {
            more.push(key.name.clone());
        }
    }
    let sentences = [
        summarize("chunks are not in the index of their metadata", &missing),
        summarize("keys have values in the index that no chunk has", &more),
    ];
    Ok(sentences.into_iter().flatten().collect())
}
