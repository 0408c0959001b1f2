//! The value that a column has for each chunk.

use std::collections::BTreeSet;

use serde_json::Value;

use super::value_key::{NO_SCALAR, value_key};
use crate::chunks::filters::{Condition, Field, Test, TestedChunk};
use crate::chunks::metadata_index::DeclaredKey;

/// A field, and which of its values the column has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ColumnId {
    pub field: Field,
    pub part: ColumnPart,
}

/// The values of a field that a column has. Nearly all conditions look at scalars alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum ColumnPart {
    /// The scalars, including those in lists. A field without any has [`NO_SCALAR`].
    Scalars,
    /// The values as they are, including lists and objects.
    Values,
    /// The items of lists.
    Items,
}

impl ColumnId {
    /// The column of paths.
    pub fn paths() -> Self {
        Self {
            field: Field::Path,
            part: ColumnPart::Scalars,
        }
    }

    /// The columns that answer a condition.
    pub fn of_condition(condition: &Condition) -> BTreeSet<Self> {
        let mut ids = BTreeSet::new();
        condition.each_test(&mut |field, test| {
            for part in ColumnPart::of_test(test) {
                let field = field.clone();
                ids.insert(Self { field, part: *part });
            }
        });
        ids
    }

    /// Whether the index of a declared key has the values.
    pub fn is_of(&self, key: &DeclaredKey) -> bool {
        self.part == ColumnPart::Scalars && self.field == key.field
    }

    /// The keys that the column has of a chunk, each once.
    pub fn keys(&self, subject: &TestedChunk<'_>) -> BTreeSet<Vec<u8>> {
        let mut keys = BTreeSet::new();
        let values = self.field.values(subject);
        for value in &values {
            let items = value.as_array().map(Vec::as_slice);
            match self.part {
                ColumnPart::Values => {
                    keys.insert(value_key(value));
                }
                ColumnPart::Items => keys.extend(items.unwrap_or_default().iter().map(value_key)),
                ColumnPart::Scalars => {
                    let all = items.unwrap_or_else(|| std::slice::from_ref(value));
                    keys.extend(all.iter().filter(|one| is_scalar(one)).map(value_key));
                }
            }
        }
        if self.part == ColumnPart::Scalars && keys.is_empty() && !values.is_empty() {
            keys.insert(NO_SCALAR.to_vec());
        }
        keys
    }
}

impl ColumnPart {
    /// The parts of a field that answer a test.
    pub fn of_test(test: &Test) -> &'static [Self] {
        match test {
            Test::In(values) if !values.iter().all(is_scalar) => {
                &[Self::Scalars, Self::Values, Self::Items]
            }
            Test::Equal(_) => &[Self::Values],
            Test::Contains(_) => &[Self::Items],
            _ => &[Self::Scalars],
        }
    }
}

pub(super) fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}
