//! The table `settings`: a name and a text each.

use std::str::FromStr;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension};

/// The number of dimensions of vectors, fixed by the first vector stored.
pub const DIMENSIONS: &str = "dimensions";
/// The name of the embedder of the vectors, if any.
pub const EMBEDDER: &str = "embedder";
/// The options of the embedder, in the words of the caller.
pub const EMBEDDER_DETAILS: &str = "embedder_details";
/// The number of dimensions of a staged vector.
pub const STAGED_DIMENSIONS: &str = "staged_dimensions";
/// The name of the embedder of the staged vectors.
pub const STAGED_EMBEDDER: &str = "staged_embedder";
/// The options of that embedder.
pub const STAGED_EMBEDDER_DETAILS: &str = "staged_embedder_details";
/// The stop words of bare queries.
pub const STOPWORDS: &str = "stopwords";
/// The vector subtracted from vectors before they are rounded.
pub const CENTER: &str = "center";
/// The number of transactions that changed a chunk or a vector.
pub const GENERATION: &str = "generation";
/// The identity of the file ([`super::identity`]).
pub(super) const IDENTITY: &str = "identity";
/// The greatest number that a row of a chunk ever had, if that row was deleted.
pub const LAST_ROW: &str = "last_row";
/// The generation after which every change is in the table `changes`.
pub const CHANGES_AFTER: &str = "changes_after";

/// Return the value of a setting. Unreadable text means that the file is damaged.
pub fn get<T>(connection: &Connection, name: &str) -> rusqlite::Result<Option<T>>
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

/// All settings, by name.
pub(super) fn all(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    connection
        .prepare("SELECT name, value FROM settings ORDER BY name")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// Write a setting, or remove it.
pub fn set(connection: &Connection, name: &str, value: Option<&str>) -> rusqlite::Result<()> {
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
