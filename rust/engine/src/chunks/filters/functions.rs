//! The SQL functions that conditions call.
//!
//! They are ours because SQLite's own are not exact: `LIKE` folds case, `json_extract` cannot
//! tell null from nothing, nor true from 1.

use std::collections::HashSet;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{FromSqlError, ValueRef};
use rusqlite::{Connection, ffi};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::condition::Condition;
use super::field::{Field, TestedChunk};
use super::json::holds;
use super::parse as conditions;
use crate::text::normalise::forms;

/// A condition, and what of a chunk it must be given.
struct PreparedCondition {
    condition: Condition,
    tags: bool,
    metadata: bool,
}

/// Give a connection the functions that conditions call.
pub(in crate::chunks) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("hedgerow_starts", 2, flags, |context| {
        let text = context.get_raw(0).as_str().map_err(|_| damaged())?;
        let prefixes =
            context.get_or_create_aux(1, |value| Ok::<_, FromSqlError>(forms(value.as_str()?)))?;
        Ok(prefixes.iter().any(|prefix| text.starts_with(prefix)))
    })?;
    connection.create_scalar_function("hedgerow_tagged", 2, flags, |context| {
        let wanted = context.get_or_create_aux(1, |value| {
            let tags: Vec<String> = parse(value)?;
            Ok::<_, FromSqlError>(tags.iter().map(|tag| forms(tag)).collect::<Vec<_>>())
        })?;
        let tags: HashSet<String> = column(context, 0)?;
        let has = |tag: &Vec<String>| tag.iter().any(|form| tags.contains(form));
        Ok(wanted.iter().all(has))
    })?;
    connection.create_scalar_function("hedgerow_holds", 2, flags, |context| {
        let wanted = context.get_or_create_aux(1, parse::<Map<String, Value>>)?;
        let metadata: Map<String, Value> = column(context, 0)?;
        Ok(holds(&metadata, &wanted))
    })?;
    connection.create_scalar_function("hedgerow_passes", 6, flags, |context| {
        let wanted = context.get_or_create_aux(5, PreparedCondition::read)?;
        wanted.passes(context)
    })
}

impl PreparedCondition {
    fn read(value: ValueRef<'_>) -> Result<Self, FromSqlError> {
        let source: Map<String, Value> = parse(value)?;
        let condition =
            conditions::joined(&source).map_err(|error| FromSqlError::Other(Box::new(error)))?;
        let (mut tags, mut metadata) = (false, false);
        condition.each_test(&mut |field, _| {
            tags |= *field == Field::Tags;
            metadata |= field.is_metadata();
        });
        Ok(Self {
            condition,
            tags,
            metadata,
        })
    }

    /// Whether the chunk of id, path, ordinal, tags and metadata passes.
    fn passes(&self, context: &Context<'_>) -> rusqlite::Result<bool> {
        let text = |at| context.get_raw(at).as_str().map_err(|_| damaged());
        let tags: Vec<String> = if self.tags {
            column(context, 3)?
        } else {
            Vec::new()
        };
        let metadata: Map<String, Value> = if self.metadata {
            column(context, 4)?
        } else {
            Map::new()
        };
        Ok(self.condition.holds(&TestedChunk {
            id: text(0)?,
            path: text(1)?,
            ordinal: context.get(2).map_err(|_| damaged())?,
            tags: &tags,
            metadata: &metadata,
        }))
    }
}

/// An argument that is a column of JSON. When it is not, the file is damaged.
fn column<T: DeserializeOwned>(context: &Context<'_>, at: usize) -> rusqlite::Result<T> {
    parse(context.get_raw(at)).map_err(|_| damaged())
}

/// The error that a column holds something else than we write.
pub(in crate::chunks) fn damaged() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), None)
}

fn parse<T: DeserializeOwned>(value: ValueRef<'_>) -> Result<T, FromSqlError> {
    serde_json::from_str(value.as_str()?).map_err(|error| FromSqlError::Other(Box::new(error)))
}

pub(in crate::chunks) fn to_json<T: Serialize + ?Sized>(value: &T) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}
