//! The values of declared keys in memory, as columns: for each distinct value the rows that have it.

use std::ops::Range;
use std::sync::OnceLock;

use rusqlite::Connection;
use serde_json::Value;

use super::filters::{Condition, Field, Instant, Test, Values, comparable, compare, instant};
use super::metadata_index::{DeclaredKey, OTHER, damaged, declared, is_indexed};
use super::ordered::Ordered;
use super::row_set::RowSet;
use crate::interrupt::Pace;

/// The declared keys of one generation.
#[derive(Debug)]
pub(super) struct Columns {
    keys: Vec<DeclaredKey>,
    by_key: Vec<Column>,
    /// Every row there is.
    all: RowSet,
}

/// What a condition leaves.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    /// No row that passes is missing.
    pub rows: RowSet,
    /// All of them pass.
    pub exact: bool,
}

/// One key.
#[derive(Debug)]
struct Column {
    values: Ordered<Value>,
    /// The rows that have the key at all.
    reached: RowSet,
    /// The values that are dates, as instants.
    dates: OnceLock<Ordered<Instant>>,
}

impl Columns {
    /// Read all declared keys.
    pub fn load(connection: &Connection) -> rusqlite::Result<Self> {
        let keys = declared(connection)?;
        let mut pace = Pace::default();
        let mut by_key = Vec::with_capacity(keys.len());
        for key in &keys {
            by_key.push(Column::load(connection, key.number, &mut pace)?);
        }
        let mut all = RowSet::default();
        if !keys.is_empty() {
            // The index on paths has all rows too, and is much smaller than the table.
            let sql = "SELECT row FROM knowledge_chunks INDEXED BY knowledge_chunks_path";
            let mut statement = connection.prepare_cached(sql)?;
            let mut found = statement.query([])?;
            while let Some(found) = found.next()? {
                pace.read(1)?;
                all.insert(found.get(0)?);
            }
        }
        Ok(Self { keys, by_key, all })
    }

    /// The keys that they are of.
    pub fn keys(&self) -> &[DeclaredKey] {
        &self.keys
    }

    /// About how many bytes of memory they take.
    pub fn bytes(&self) -> usize {
        self.all.bytes() + self.by_key.iter().map(Column::bytes).sum::<usize>()
    }

    /// What a condition leaves; None where it asks for nothing that is here.
    pub fn answer(&self, condition: &Condition) -> Option<Answer> {
        match condition {
            Condition::All(all) => {
                let answers: Vec<Option<Answer>> =
                    all.iter().map(|condition| self.answer(condition)).collect();
                let exact = answers
                    .iter()
                    .all(|answer| answer.as_ref().is_some_and(|a| a.exact));
                let mut answers = answers.into_iter().flatten();
                let Some(mut answer) = answers.next() else {
                    return all.is_empty().then(|| exactly(self.all.clone()));
                };
                answers.for_each(|other| answer.rows.intersect(&other.rows));
                Some(Answer { exact, ..answer })
            }
            Condition::Any(any) => {
                let mut joined = exactly(RowSet::default());
                for condition in any {
                    let answer = self.answer(condition)?;
                    joined.rows.union(&answer.rows);
                    joined.exact &= answer.exact;
                }
                Some(joined)
            }
            Condition::Not(condition) => {
                let answer = self.answer(condition).filter(|answer| answer.exact)?;
                Some(exactly(self.except(&answer.rows)))
            }
            Condition::Field(field, test) => self.test(field, test).map(exactly),
        }
    }

    /// The rows whose field passes a test; None where the values here do not tell.
    fn test(&self, field: &Field, test: &Test) -> Option<RowSet> {
        let number = self.keys.iter().position(|key| key.field == *field)?;
        let column = &self.by_key[number];
        match test {
            Test::Exists => Some(column.reached.clone()),
            Test::In(values) => {
                let mut rows = column.any_of(values)?;
                if test.takes_nothing() {
                    rows.union(&self.except(&column.reached));
                }
                Some(rows)
            }
            Test::Compare(comparison, wanted) => {
                let order = |value: &Value| compare(value, wanted);
                Some(
                    column
                        .values
                        .compared(*comparison, column.kind(wanted), order),
                )
            }
            Test::Date(comparison, wanted) => {
                let dates = column.dates();
                let all = 0..dates.values().len();
                Some(dates.compared(*comparison, all, |date| date.cmp(wanted)))
            }
            Test::Glob(_) => {
                let alike = column
                    .values
                    .iter()
                    .filter(|(value, _)| test.takes_whole(value));
                Some(alike.flat_map(|(_, rows)| rows.iter().copied()).collect())
            }
            Test::Contains(_) => None,
        }
    }

    fn except(&self, rows: &RowSet) -> RowSet {
        let mut rest = self.all.clone();
        rest.subtract(rows);
        rest
    }
}

fn exactly(rows: RowSet) -> Answer {
    Answer { rows, exact: true }
}

impl Column {
    fn load(connection: &Connection, key: i64, pace: &mut Pace) -> rusqlite::Result<Self> {
        let sql = "SELECT value, row FROM metadata_values WHERE key = ? ORDER BY value, row";
        let mut statement = connection.prepare_cached(sql)?;
        let mut found = statement.query([key])?;
        // Values as they are written: each with where its rows begin.
        let mut written: Vec<(Value, usize)> = Vec::new();
        let (mut rows, mut reached) = (Vec::new(), RowSet::default());
        let mut last: Option<String> = None;
        while let Some(found) = found.next()? {
            pace.read(1)?;
            let (text, row) = (found.get_ref(0)?.as_str()?, found.get(1)?);
            reached.insert(row);
            if text == OTHER {
                continue;
            }
            if last.as_deref() != Some(text) {
                let value = serde_json::from_str(text).map_err(|_| damaged())?;
                written.push((value, rows.len()));
                last = Some(text.to_owned());
            }
            rows.push(row);
        }
        let ends = written.iter().skip(1).map(|(_, start)| *start);
        let ends: Vec<usize> = ends.chain([rows.len()]).collect();
        let spans = written.into_iter().zip(ends);
        let mut spans: Vec<(Value, &[i64])> = spans
            .map(|((value, start), end)| (value, &rows[start..end]))
            .collect();
        // As they are written, 1 and 1.0 are two.
        spans.sort_by(|(left, _), (right, _)| compare(left, right));
        Ok(Self {
            values: Ordered::new(spans, compare),
            reached,
            dates: OnceLock::new(),
        })
    }

    /// The rows of some values; None where one is not in the index.
    fn any_of(&self, values: &Values) -> Option<RowSet> {
        let mut found = RowSet::default();
        for value in values.iter() {
            if !is_indexed(value) {
                return None;
            }
            let known = self.values.values();
            if let Ok(at) = known.binary_search_by(|known| compare(known, value)) {
                found.union(&self.values.rows_of(at..at + 1));
            }
        }
        Some(found)
    }

    /// The values of the same kind.
    fn kind(&self, of: &Value) -> Range<usize> {
        let values = self.values.values();
        let other = |known: &Value| !comparable(known, of);
        let start = values.partition_point(|known| other(known) && compare(known, of).is_lt());
        let end = values.partition_point(|known| !other(known) || compare(known, of).is_lt());
        start..end
    }

    fn dates(&self) -> &Ordered<Instant> {
        self.dates.get_or_init(|| {
            let texts = self.values.iter();
            let mut dated: Vec<(Instant, &[i64])> = texts
                .filter_map(|(value, rows)| Some((instant(value.as_str()?)?, rows)))
                .collect();
            dated.sort_by_key(|(date, _)| *date);
            Ordered::new(dated, Ord::cmp)
        })
    }

    fn bytes(&self) -> usize {
        let values = self.values.values();
        let texts: usize = values.iter().filter_map(Value::as_str).map(str::len).sum();
        let dates = self.dates.get().map_or(0, Ordered::bytes);
        self.values.bytes() + texts + dates + self.reached.bytes()
    }
}
