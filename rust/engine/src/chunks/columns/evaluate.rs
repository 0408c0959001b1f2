//! Conditions evaluated over columns, as sets of rows.

use std::collections::BTreeMap;

use super::ColumnsAt;
use super::column::Column;
use super::column_id::{ColumnId, ColumnPart, is_scalar};
use super::marks::Marks;
use super::segment::ColumnSegment;
use super::value_key::value_key;
use crate::calendar::Instant;
use crate::chunks::filters::{Comparison, Condition, Field, Test};
use crate::chunks::row_set::RowSet;
use crate::interrupt::{BATCH, CancelTicker};
use crate::text::glob::Glob;

impl ColumnsAt {
    /// The rows that meet a condition. None if it needs a column that is not here.
    pub fn rows_with(&self, condition: &Condition) -> rusqlite::Result<Option<RowSet>> {
        let mut evaluation = Evaluation {
            columns: self,
            pace: CancelTicker::default(),
            lacks_column: false,
        };
        let rows = evaluation.rows(condition)?;
        Ok((!evaluation.lacks_column).then_some(rows))
    }

    fn column(&self, field: &Field, part: ColumnPart) -> Option<&Column> {
        let field = field.clone();
        self.columns
            .get(&ColumnId { field, part })?
            .column
            .as_deref()
    }
}

struct Evaluation<'c> {
    columns: &'c ColumnsAt,
    pace: CancelTicker,
    lacks_column: bool,
}

impl Evaluation<'_> {
    fn rows(&mut self, condition: &Condition) -> rusqlite::Result<RowSet> {
        if let Some(field) = self.field_by_keys(condition) {
            return self.rows_by_keys(field, &KeyCondition::of(condition));
        }
        match condition {
            Condition::All(all) => self.all(all),
            Condition::Any(any) => self.any(any.iter()),
            Condition::Not(condition) => {
                let mut rows = self.columns.all_rows();
                rows.subtract(&self.any([&**condition])?);
                Ok(rows)
            }
            Condition::Field(field, test) => self.field(field, test),
        }
    }

    /// The rows that meet each of some conditions. Negated ones are alternatives of what to leave out.
    fn all(&mut self, all: &[Condition]) -> rusqlite::Result<RowSet> {
        let mut negated = Vec::new();
        let mut rows: Option<RowSet> = None;
        for condition in all {
            if let Condition::Not(condition) = condition {
                negated.push(&**condition);
                continue;
            }
            let passing = self.rows(condition)?;
            match &mut rows {
                Some(rows) => rows.intersect(&passing),
                None => rows = Some(passing),
            }
        }
        let mut rows = rows.unwrap_or_else(|| self.columns.all_rows());
        if !negated.is_empty() {
            rows.subtract(&self.any(negated)?);
        }
        Ok(rows)
    }

    /// The rows that meet one of some conditions. Those on one field are evaluated together.
    fn any<'t>(
        &mut self,
        any: impl IntoIterator<Item = &'t Condition>,
    ) -> rusqlite::Result<RowSet> {
        let mut rows = RowSet::default();
        let mut by_keys: BTreeMap<&Field, Vec<KeyCondition<'_>>> = BTreeMap::new();
        let mut left: Vec<&Condition> = any.into_iter().collect();
        while let Some(condition) = left.pop() {
            if let Some(field) = self.field_by_keys(condition) {
                let conditions = by_keys.entry(field).or_default();
                conditions.push(KeyCondition::of(condition));
            } else if let Condition::Any(any) = condition {
                left.extend(any);
            } else {
                rows.union(&self.rows(condition)?);
            }
        }
        for (field, any) in by_keys {
            rows.union(&self.rows_by_keys(field, &KeyCondition::Any(any))?);
        }
        Ok(rows)
    }

    /// The field of a condition that can be evaluated on each key of a column alone. A row with several
    /// keys may meet a conjunction that none of its keys meets.
    fn field_by_keys<'t>(&self, condition: &'t Condition) -> Option<&'t Field> {
        let (mut first, mut is_by_keys) = (None, true);
        condition.each_test(&mut |field, test| {
            is_by_keys &= ColumnPart::of_test(test) == [ColumnPart::Scalars];
            is_by_keys &= *first.get_or_insert(field) == field;
        });
        let field = first.filter(|_| is_by_keys)?;
        let column = self.columns.column(field, ColumnPart::Scalars)?;
        (condition.is_alternative() || column.has_single_keys()).then_some(field)
    }

    /// The rows whose key meets a condition.
    fn rows_by_keys(
        &mut self,
        field: &Field,
        condition: &KeyCondition<'_>,
    ) -> rusqlite::Result<RowSet> {
        self.pace.read(condition.len().saturating_mul(BATCH))?;
        let Some(column) = self.columns.column(field, ColumnPart::Scalars) else {
            self.lacks_column = true;
            return Ok(RowSet::default());
        };
        let mut rows = column.rows(|segment, marks| condition.mark(segment, marks));
        if condition.takes_nothing() {
            let mut missing = self.columns.all_rows();
            missing.subtract(&column.rows(|segment, marks| KeyTest::Any.mark(segment, marks)));
            rows.union(&missing);
        }
        Ok(rows)
    }

    /// The rows whose field passes a test that looks at lists or objects too.
    fn field(&mut self, field: &Field, test: &Test) -> rusqlite::Result<RowSet> {
        let mut rows = RowSet::default();
        for part in ColumnPart::of_test(test) {
            if *part == ColumnPart::Scalars {
                let condition = KeyCondition::Test(KeyTest::of(test, *part), test.takes_nothing());
                rows.union(&self.rows_by_keys(field, &condition)?);
                continue;
            }
            let Some(column) = self.columns.column(field, *part) else {
                self.lacks_column = true;
                return Ok(rows);
            };
            let tests = KeyTest::of(test, *part);
            rows.union(&column.rows(|segment, marks| {
                for test in &tests {
                    test.mark(segment, marks);
                }
            }));
        }
        Ok(rows)
    }
}

/// A condition on the keys of one column.
enum KeyCondition<'t> {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    /// Any of some tests, and whether a row without a key passes too.
    Test(Vec<KeyTest<'t>>, bool),
}

impl<'t> KeyCondition<'t> {
    fn of(condition: &'t Condition) -> Self {
        match condition {
            Condition::All(all) => Self::All(all.iter().map(Self::of).collect()),
            Condition::Any(any) => Self::Any(any.iter().map(Self::of).collect()),
            Condition::Not(condition) => Self::Not(Box::new(Self::of(condition))),
            Condition::Field(_, test) => {
                Self::Test(KeyTest::of(test, ColumnPart::Scalars), test.takes_nothing())
            }
        }
    }

    /// The number of tests.
    fn len(&self) -> usize {
        match self {
            Self::All(all) | Self::Any(all) => all.iter().map(Self::len).sum(),
            Self::Not(condition) => condition.len(),
            Self::Test(tests, _) => tests.len(),
        }
    }

    /// Whether a row without a key meets it.
    fn takes_nothing(&self) -> bool {
        match self {
            Self::All(all) => all.iter().all(Self::takes_nothing),
            Self::Any(any) => any.iter().any(Self::takes_nothing),
            Self::Not(condition) => !condition.takes_nothing(),
            Self::Test(_, takes_nothing) => *takes_nothing,
        }
    }

    /// Mark the keys that meet it, in addition to those that are marked.
    fn mark(&self, segment: &ColumnSegment, marks: &mut Marks) {
        match self {
            Self::Any(any) => {
                for condition in any {
                    condition.mark(segment, marks);
                }
            }
            Self::Test(tests, _) => {
                for test in tests {
                    test.mark(segment, marks);
                }
            }
            Self::All(all) => {
                let mut met = Marks::new(segment.len());
                met.add_range(0..segment.len());
                for condition in all {
                    let mut one = Marks::new(segment.len());
                    condition.mark(segment, &mut one);
                    met.intersect(&one);
                }
                marks.union(&met);
            }
            Self::Not(condition) => {
                let mut met = Marks::new(segment.len());
                condition.mark(segment, &mut met);
                let mut rest = Marks::new(segment.len());
                rest.add_range(0..segment.len());
                rest.subtract(&met);
                marks.union(&rest);
            }
        }
    }
}

/// A test of the keys of one column.
enum KeyTest<'t> {
    Any,
    Equal(Vec<u8>),
    Compare(Comparison, Vec<u8>),
    Date(Comparison, Instant),
    Prefix(&'t str),
    Glob(String, &'t Glob),
}

impl<'t> KeyTest<'t> {
    /// Return the tests on the keys of one part of the field.
    fn of(test: &'t Test, part: ColumnPart) -> Vec<Self> {
        match (test, part) {
            (Test::In(values), _) => {
                let values = values
                    .iter()
                    .filter(|value| is_scalar(value) == (part == ColumnPart::Scalars));
                values.map(|value| Self::Equal(value_key(value))).collect()
            }
            (Test::Equal(value), ColumnPart::Values)
            | (Test::Contains(value), ColumnPart::Items) => {
                vec![Self::Equal(value_key(value))]
            }
            (Test::Exists, ColumnPart::Scalars) => vec![Self::Any],
            (Test::Compare(comparison, value), ColumnPart::Scalars) => {
                vec![Self::Compare(*comparison, value_key(value))]
            }
            (Test::Date(comparison, date), ColumnPart::Scalars) => {
                vec![Self::Date(*comparison, *date)]
            }
            (Test::Prefix(prefix), ColumnPart::Scalars) => vec![Self::Prefix(prefix)],
            (Test::Glob(glob), ColumnPart::Scalars) => {
                vec![Self::Glob(glob.literal_prefix(), glob)]
            }
            _ => Vec::new(),
        }
    }

    fn mark(&self, segment: &ColumnSegment, marks: &mut Marks) {
        match self {
            Self::Any => marks.add_range(0..segment.len()),
            Self::Equal(key) => segment.mark_key(key, marks),
            Self::Compare(comparison, key) => segment.mark_compared(*comparison, key, marks),
            Self::Date(comparison, date) => segment.mark_dates(*comparison, *date, marks),
            Self::Prefix(prefix) => segment.mark_prefix(prefix, marks),
            Self::Glob(prefix, glob) => {
                segment.mark_texts(prefix, |text| glob.matches(text), marks);
            }
        }
    }
}
