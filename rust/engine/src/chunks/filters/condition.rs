//! Conditions as they are evaluated (spec/filters.md).

use std::cmp::Ordering;
use std::ops::Range;

use serde_json::Value;

use super::field::{Field, TestedChunk};
use super::json::{comparable, compare};
use crate::calendar::{Instant, instant};
use crate::text::glob::Glob;

/// A condition on a chunk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Condition {
    All(Vec<Condition>),
    /// Of none at all, nothing passes.
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Field(Field, Test),
}

impl Condition {
    /// Whether it tests any field. A condition that does not passes all chunks or none.
    pub fn has_test(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::has_test),
            Self::Not(part) => part.has_test(),
            Self::Field(..) => true,
        }
    }
}

/// A test of a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Test {
    /// The field exists.
    Exists,
    /// The value, or an item of a list, equals one of these. Null also matches a missing field.
    In(ValueSet),
    /// The value compares in this way with the given bool, number or text.
    Compare(Comparison, Value),
    /// The text is a date that compares in this way with the given one.
    Date(Comparison, Instant),
    /// The text matches the pattern.
    Glob(Glob),
    /// The list contains the value.
    Contains(Value),
    /// The whole value equals the given one.
    Equal(Value),
    /// The text begins with the given one.
    Prefix(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Less,
    AtMost,
    Equal,
    AtLeast,
    More,
}

/// Distinct values, in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ValueSet(Vec<Value>);

impl Comparison {
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Equal => order.is_eq(),
            Self::AtLeast => order.is_ge(),
            Self::More => order.is_gt(),
        }
    }

    /// The values of a sorted list that compare this way with another value: `below` of them are less, and
    /// `up_to` are less or equal. Only those in `within` count.
    pub fn range(self, within: &Range<usize>, below: usize, up_to: usize) -> Range<usize> {
        match self {
            Self::Less => within.start..below,
            Self::AtMost => within.start..up_to,
            Self::Equal => below..up_to,
            Self::AtLeast => below..within.end,
            Self::More => up_to..within.end,
        }
    }
}

impl ValueSet {
    pub fn new(mut values: Vec<Value>) -> Self {
        values.sort_unstable_by(compare);
        values.dedup_by(|left, right| compare(left, right).is_eq());
        Self(values)
    }

    pub fn has(&self, value: &Value) -> bool {
        let found = self.0.binary_search_by(|known| compare(known, value));
        found.is_ok()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Value> {
        self.0.iter()
    }
}

impl Condition {
    /// Whether a chunk passes.
    pub fn holds(&self, subject: &TestedChunk<'_>) -> bool {
        match self {
            Self::All(all) => all.iter().all(|condition| condition.holds(subject)),
            Self::Any(any) => any.iter().any(|condition| condition.holds(subject)),
            Self::Not(condition) => !condition.holds(subject),
            Self::Field(field, test) => {
                let values = field.values(subject);
                if values.is_empty() {
                    return test.takes_nothing();
                }
                values.iter().any(|value| test.takes(value))
            }
        }
    }

    /// Whether it is a test or a disjunction of tests.
    pub fn is_alternative(&self) -> bool {
        match self {
            Self::Any(any) => any.iter().all(Self::is_alternative),
            Self::All(_) | Self::Not(_) => false,
            Self::Field(..) => true,
        }
    }

    /// Call `see` with each field and its test.
    pub fn each_test<'c>(&'c self, see: &mut impl FnMut(&'c Field, &'c Test)) {
        match self {
            Self::All(all) | Self::Any(all) => {
                for condition in all {
                    condition.each_test(see);
                }
            }
            Self::Not(condition) => condition.each_test(see),
            Self::Field(field, test) => see(field, test),
        }
    }
}

impl Test {
    /// Whether a missing field passes.
    pub fn takes_nothing(&self) -> bool {
        matches!(self, Self::In(values) if values.has(&Value::Null))
    }

    /// Whether a value passes, or one in it that is a list.
    fn takes(&self, value: &Value) -> bool {
        let items = value.as_array().map(Vec::as_slice);
        match self {
            Self::Contains(wanted) => {
                items.is_some_and(|items| items.iter().any(|item| compare(item, wanted).is_eq()))
            }
            Self::Equal(wanted) => compare(value, wanted).is_eq(),
            _ => {
                self.takes_whole(value)
                    || items.is_some_and(|items| items.iter().any(|item| self.takes_whole(item)))
            }
        }
    }

    /// Whether a value passes as a whole.
    fn takes_whole(&self, value: &Value) -> bool {
        match self {
            Self::Exists => true,
            Self::In(values) => values.has(value),
            Self::Compare(comparison, wanted) => {
                comparable(value, wanted) && comparison.holds(compare(value, wanted))
            }
            Self::Date(comparison, wanted) => value
                .as_str()
                .and_then(instant)
                .is_some_and(|found| comparison.holds(found.cmp(wanted))),
            Self::Glob(glob) => value.as_str().is_some_and(|text| glob.matches(text)),
            Self::Prefix(prefix) => value.as_str().is_some_and(|text| text.starts_with(prefix)),
            Self::Contains(_) | Self::Equal(_) => false,
        }
    }
}
