//! The table `settings`: a name and a text each.

use std::str::FromStr;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension};

/// How many numbers a vector has; fixed by the first one stored.
pub(crate) const DIMENSIONS: &str = "dimensions";
/// What made the vectors, where it has a name.
pub(crate) const EMBEDDER: &str = "embedder";
/// What is subtracted from vectors before they are rounded.
pub(crate) const CENTER: &str = "center";
/// How many transactions changed a chunk or a vector.
pub(crate) const GENERATION: &str = "generation";
/// The generation after which every change is in the table `changes`.
pub(crate) const CHANGES_AFTER: &str = "changes_after";

/// How many transactions changed a node.
pub(crate) const NODES_GENERATION: &str = "nodes_generation";
/// The types nodes may be of beside those of every store, with spaces between.
pub(crate) const NODE_TYPES: &str = "node_types";
/// How many transactions changed an edge, or which nodes there are to join.
pub(crate) const EDGES_GENERATION: &str = "edges_generation";
/// How many transactions changed the ledger of a sync.
pub(crate) const SOURCES_GENERATION: &str = "sources_generation";
/// What makes the vectors that are staged.
pub(crate) const STAGED_EMBEDDER: &str = "staged_embedder";
/// How many numbers a staged vector has.
pub(crate) const STAGED_DIMENSIONS: &str = "staged_dimensions";

/// What a setting says; text that cannot be read as such means that the file is damaged.
pub(crate) fn get<T>(connection: &Connection, name: &str) -> rusqlite::Result<Option<T>>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text: Option<String> = connection
        .prepare_cached("SELECT value FROM settings WHERE name = ?")?
        .query_row([name], |row| row.get(0))
        .optional()?;
    text.map(|text| {
        text.parse().map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error))
        })
    })
    .transpose()
}

/// Write a setting, or remove it.
pub(crate) fn set(
    connection: &Connection,
    name: &str,
    value: Option<&str>,
) -> rusqlite::Result<()> {
    match value {
        Some(value) => connection
            .prepare_cached("INSERT OR REPLACE INTO settings VALUES (?, ?)")?
            .execute([name, value])?,
        None => connection
            .prepare_cached("DELETE FROM settings WHERE name = ?")?
            .execute([name])?,
    };
    Ok(())
}
