//! Conditions on chunks, applied before ranking (spec/index.md, "Filters").

use std::collections::HashSet;
use std::rc::Rc;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{FromSqlError, Value as SqlValue, ValueRef};
use rusqlite::{Connection, ToSql, ffi, params_from_iter};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Number, Value};

use super::chunk::Chunk;

/// What a chunk must be to count; every condition given must hold.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filters {
    /// The path is one of these; none given, any path.
    pub paths: Vec<String>,
    /// The path begins with this text, to the letter.
    pub path_prefix: Option<String>,
    /// The tags are all there.
    pub tags: Vec<String>,
    /// The keys are all there, each with this value.
    pub metadata: Map<String, Value>,
}

/// Conditions in SQL on a chunk called `chunk`, with the values they take in order.
#[derive(Default)]
pub(crate) struct Conditions {
    sql: Vec<&'static str>,
    pub values: Vec<Box<dyn ToSql>>,
}

impl Filters {
    /// Whether every chunk passes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The rows of the chunks that pass, ascending.
    pub(crate) fn rows(&self, connection: &Connection) -> rusqlite::Result<Vec<i64>> {
        let conditions = self.conditions()?;
        let sql = format!(
            "SELECT chunk.row FROM knowledge_chunks AS chunk WHERE TRUE{} ORDER BY chunk.row",
            conditions.sql()
        );
        connection
            .prepare_cached(&sql)?
            .query_map(params_from_iter(&conditions.values), |row| row.get(0))?
            .collect()
    }

    /// Whether a chunk that may stand outside the index passes.
    pub fn accept(&self, chunk: &Chunk) -> bool {
        let path = self.paths.is_empty() || self.paths.contains(&chunk.path);
        let prefix = self
            .path_prefix
            .as_ref()
            .is_none_or(|prefix| chunk.path.starts_with(prefix.as_str()));
        path && prefix && self.has_all_tags(&chunk.tags) && holds(&chunk.metadata, &self.metadata)
    }

    /// In time linear in both lists, however long.
    fn has_all_tags(&self, tags: &[String]) -> bool {
        if self.tags.is_empty() {
            return true;
        }
        let tags: HashSet<&String> = tags.iter().collect();
        self.tags.iter().all(|tag| tags.contains(tag))
    }

    pub(crate) fn conditions(&self) -> rusqlite::Result<Conditions> {
        let mut conditions = Conditions::default();
        if !self.paths.is_empty() {
            conditions.add("chunk.path IN rarray(?)", text_array(&self.paths));
        }
        if let Some(prefix) = &self.path_prefix {
            conditions.add("hedgerow_starts(chunk.path, ?)", prefix.clone());
        }
        if !self.tags.is_empty() {
            conditions.add("hedgerow_tagged(chunk.tags, ?)", to_json(&self.tags)?);
        }
        if !self.metadata.is_empty() {
            conditions.add(
                "hedgerow_holds(chunk.metadata, ?)",
                to_json(&self.metadata)?,
            );
        }
        Ok(conditions)
    }
}

impl Conditions {
    fn add(&mut self, sql: &'static str, value: impl ToSql + 'static) {
        self.sql.push(sql);
        self.values.push(Box::new(value));
    }

    /// The conditions, each led by AND.
    pub fn sql(&self) -> String {
        self.sql
            .iter()
            .flat_map(|condition| [" AND ", condition])
            .collect()
    }
}

/// Texts as one SQL value, so that their number meets no limit.
pub(crate) fn text_array<T: AsRef<str>>(texts: &[T]) -> Rc<Vec<SqlValue>> {
    let values = texts
        .iter()
        .map(|text| SqlValue::Text(text.as_ref().to_owned()));
    Rc::new(values.collect())
}

/// Give a connection the functions that conditions call.
///
/// They are ours because SQLite's own are not exact: `LIKE` folds case, `json_extract` cannot
/// tell null from nothing, nor true from 1.
pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("hedgerow_starts", 2, flags, |context| {
        let [text, prefix] = [0, 1].map(|at| context.get_raw(at));
        let text = text.as_str().map_err(|_| damaged())?;
        Ok(text.starts_with(prefix.as_str()?))
    })?;
    connection.create_scalar_function("hedgerow_tagged", 2, flags, |context| {
        let wanted = context.get_or_create_aux(1, parse::<HashSet<String>>)?;
        let tags: HashSet<String> = column(context)?;
        Ok(wanted.is_subset(&tags))
    })?;
    connection.create_scalar_function("hedgerow_holds", 2, flags, |context| {
        let wanted = context.get_or_create_aux(1, parse::<Map<String, Value>>)?;
        let metadata: Map<String, Value> = column(context)?;
        Ok(holds(&metadata, &wanted))
    })
}

/// The first argument: a column of JSON. When it is not, the file is damaged.
fn column<T: DeserializeOwned>(context: &Context<'_>) -> rusqlite::Result<T> {
    parse(context.get_raw(0)).map_err(|_| damaged())
}

/// The error that a column holds something else than we write.
fn damaged() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), None)
}

fn parse<T: DeserializeOwned>(value: ValueRef<'_>) -> Result<T, FromSqlError> {
    serde_json::from_str(value.as_str()?).map_err(|error| FromSqlError::Other(Box::new(error)))
}

pub(super) fn to_json<T: Serialize + ?Sized>(value: &T) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// Whether every key of `wanted` is there with an equal value.
fn holds(metadata: &Map<String, Value>, wanted: &Map<String, Value>) -> bool {
    wanted
        .iter()
        .all(|(key, value)| metadata.get(key).is_some_and(|found| equal(found, value)))
}

/// JSON equality; numbers are equal when their values are, however they are written.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => equal_numbers(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| equal(l, r))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, l)| right.get(key).is_some_and(|r| equal(l, r)))
        }
        _ => left == right,
    }
}

fn equal_numbers(left: &Number, right: &Number) -> bool {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => left == right,
        (Some(whole), None) => right.as_f64().is_some_and(|float| is_whole(float, whole)),
        (None, Some(whole)) => left.as_f64().is_some_and(|float| is_whole(float, whole)),
        (None, None) => left.as_f64() == right.as_f64(),
    }
}

/// Whether a float has exactly this value. Converting the integer instead would round it.
fn is_whole(float: f64, whole: i128) -> bool {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a float out of range saturates"
    )]
    let truncated = float as i128;
    float.fract() == 0.0 && truncated == whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_equal_by_value() {
        for (left, right, expected) in [
            ("1", "1.0", true),
            ("-0.0", "0", true),
            ("1e3", "1000", true),
            ("9007199254740993", "9007199254740992.0", false),
            ("18446744073709551615", "1.8446744073709552e19", false),
            ("18446744073709551615", "-1", false),
            ("1", "true", false),
            ("0", "false", false),
            ("\"1\"", "1", false),
            ("null", "false", false),
            ("[1, {\"a\": 2}]", "[1.0, {\"a\": 2.0}]", true),
            ("[1, 2]", "[2, 1]", false),
            ("[1]", "[1, 1]", false),
            ("{\"a\": 1, \"b\": 2}", "{\"b\": 2, \"a\": 1}", true),
            ("{\"a\": null}", "{}", false),
            ("{\"a\": null}", "{\"b\": null}", false),
        ] {
            let [l, r] = [left, right].map(|text| serde_json::from_str(text).unwrap());
            assert_eq!(equal(&l, &r), expected, "{left} {right}");
            assert_eq!(equal(&r, &l), expected, "{right} {left}");
        }
    }
}
