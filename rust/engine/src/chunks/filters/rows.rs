//! Filters as conditions in SQL, and the rows that meet them.

use std::rc::Rc;

use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, ToSql, params_from_iter};

use super::filter::Filters;
use super::functions::to_json;
use super::where_and_period::Period;
use crate::text::normalise::forms;

/// Conditions in SQL on a chunk called `chunk`, with the values they take in order.
#[derive(Default)]
pub(crate) struct Conditions {
    sql: Vec<&'static str>,
    pub values: Vec<Box<dyn ToSql>>,
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

impl Filters {
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

    /// The rows whose paths pass, by the index on paths. None if the filters name no path and no beginning
    /// of paths, or more than `most` rows pass.
    pub(crate) fn rows_of_paths(
        &self,
        connection: &Connection,
        most: usize,
    ) -> rusqlite::Result<Option<Vec<i64>>> {
        if self.paths.len() > most {
            return Ok(None);
        }
        let paths = (!self.paths.is_empty()).then(|| text_array(&self.forms_of_paths()));
        // A prefix with several forms has several ranges.
        let prefix = self.path_prefix.as_deref();
        let prefix = prefix.filter(|prefix| forms(prefix).len() == 1);
        let end = prefix.and_then(end_of_prefix);
        let (sql, values): (_, Vec<&dyn ToSql>) = match (&paths, &prefix, &end) {
            (Some(paths), _, _) => ("path IN rarray(?)", vec![paths]),
            (None, Some(prefix), Some(end)) => ("path >= ? AND path < ?", vec![prefix, end]),
            _ => return Ok(None),
        };
        let sql = format!(
            "SELECT row FROM knowledge_chunks INDEXED BY knowledge_chunks_path WHERE {sql} LIMIT {}",
            most + 1
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(values), |row| row.get(0))?;
        let rows: Vec<i64> = rows.collect::<rusqlite::Result<_>>()?;
        Ok((rows.len() <= most).then_some(rows))
    }

    /// Return the rows whose chunks pass, in their order.
    pub(crate) fn rows_among(
        &self,
        connection: &Connection,
        rows: impl IntoIterator<Item = i64>,
    ) -> rusqlite::Result<Vec<i64>> {
        let rows: Rc<Vec<SqlValue>> = Rc::new(rows.into_iter().map(SqlValue::Integer).collect());
        let conditions = self.conditions()?;
        // Each row is looked up, in order: with the index on paths, once for each path.
        let sql = format!(
            "SELECT chunk.row FROM rarray(?) AS wanted
              CROSS JOIN knowledge_chunks AS chunk NOT INDEXED ON chunk.row = wanted.value
              WHERE TRUE{}",
            conditions.sql()
        );
        let values =
            std::iter::once(&rows as &dyn ToSql).chain(conditions.values.iter().map(AsRef::as_ref));
        connection
            .prepare_cached(&sql)?
            .query_map(params_from_iter(values), |row| row.get(0))?
            .collect()
    }

    fn forms_of_paths(&self) -> Vec<String> {
        self.paths.iter().flat_map(|path| forms(path)).collect()
    }

    pub(crate) fn conditions(&self) -> rusqlite::Result<Conditions> {
        let mut conditions = Conditions::default();
        if !self.paths.is_empty() {
            conditions.add(
                "chunk.path IN rarray(?)",
                text_array(&self.forms_of_paths()),
            );
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
        let period = self.period.as_ref().map(Period::as_where);
        for wanted in self.wanted.iter().chain(period) {
            conditions.add(
                "hedgerow_passes(chunk.id, chunk.path, chunk.ordinal, chunk.tags, chunk.metadata, ?)",
                to_json(wanted.source())?,
            );
        }
        Ok(conditions)
    }
}

/// The least text that comes after all texts with a prefix. None if there is none.
fn end_of_prefix(prefix: &str) -> Option<String> {
    let mut letters: Vec<char> = prefix.chars().collect();
    while let Some(last) = letters.pop() {
        // A range of characters skips surrogates.
        if let Some(next) = (last..=char::MAX).nth(1) {
            letters.push(next);
            return Some(letters.into_iter().collect());
        }
    }
    None
}

/// Texts as one SQL value, so that their number meets no limit.
pub(crate) fn text_array<T: AsRef<str>>(texts: &[T]) -> Rc<Vec<SqlValue>> {
    let values = texts
        .iter()
        .map(|text| SqlValue::Text(text.as_ref().to_owned()));
    Rc::new(values.collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn texts_before_the_end_of_a_prefix_have_it(
            prefix in "[a\u{d7ff}\u{e000}\u{10ffff}]{0,3}",
            text in "[ab\u{d7ff}\u{e000}\u{10ffff}]{0,4}",
        ) {
            let is_before_end = end_of_prefix(&prefix).is_none_or(|end| text < end);
            prop_assert_eq!(text.starts_with(&prefix), text >= prefix && is_before_end);
        }
    }
}
