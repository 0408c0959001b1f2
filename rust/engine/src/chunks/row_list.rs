//! The rows of one path: a list while they are few, a compressed bitmap when they are many.

use std::sync::Arc;

use roaring::RoaringTreemap;

/// The most rows in a list, which is copied for each change; a bitmap of fewer rows takes more memory.
const MAX_LISTED: usize = 64;

/// Distinct rows, ascending. A clone shares them until one of both changes.
#[derive(Debug, Clone)]
pub(super) enum RowList {
    Few(Arc<[i64]>),
    Many(Arc<RoaringTreemap>),
}

impl Default for RowList {
    fn default() -> Self {
        Self::Few(Arc::new([]))
    }
}

impl From<Vec<i64>> for RowList {
    /// The list of ascending rows.
    fn from(rows: Vec<i64>) -> Self {
        if rows.len() <= MAX_LISTED {
            Self::Few(rows.into())
        } else {
            Self::Many(Arc::new(rows.into_iter().map(key).collect()))
        }
    }
}

impl RowList {
    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Few(rows) => rows.is_empty(),
            Self::Many(rows) => rows.is_empty(),
        }
    }

    /// The rows in ascending order.
    pub fn iter(&self) -> Box<dyn Iterator<Item = i64> + '_> {
        match self {
            Self::Few(rows) => Box::new(rows.iter().copied()),
            Self::Many(rows) => Box::new(rows.iter().map(row_of)),
        }
    }

    pub fn insert(&mut self, row: i64) {
        match self {
            Self::Few(rows) => {
                if let Err(at) = rows.binary_search(&row) {
                    let mut rows = rows.to_vec();
                    rows.insert(at, row);
                    *self = rows.into();
                }
            }
            Self::Many(rows) => {
                Arc::make_mut(rows).insert(key(row));
            }
        }
    }

    pub fn remove(&mut self, row: i64) {
        match self {
            Self::Few(rows) => *rows = rows.iter().copied().filter(|one| *one != row).collect(),
            Self::Many(rows) => {
                Arc::make_mut(rows).remove(key(row));
            }
        }
        // Half as many as make a bitmap, so that no two changes go back and forth.
        if let Self::Many(rows) = self
            && rows.len() <= MAX_LISTED as u64 / 2
        {
            *self = rows.iter().map(row_of).collect::<Vec<_>>().into();
        }
    }
}

/// A row as a number of a bitmap, in the same order.
fn key(row: i64) -> u64 {
    row.cast_unsigned() ^ (1 << 63)
}

fn row_of(key: u64) -> i64 {
    (key ^ (1 << 63)).cast_signed()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set_in_order(
            start in prop::collection::btree_set(-50_i64..150, 0..200),
            steps in prop::collection::vec((-50_i64..150, any::<bool>()), 0..300),
        ) {
            let mut expected: BTreeSet<i64> = start;
            let mut list = RowList::from(expected.iter().copied().collect::<Vec<_>>());
            let before = (list.clone(), expected.clone());
            for (row, inserts) in steps {
                if inserts {
                    list.insert(row);
                    expected.insert(row);
                } else {
                    list.remove(row);
                    expected.remove(&row);
                }
                prop_assert_eq!(list.is_empty(), expected.is_empty());
            }
            for (list, expected) in [(list, expected), before] {
                prop_assert_eq!(list.iter().collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn rows_at_both_ends_keep_their_order() {
        let mut list = RowList::from((0..100).collect::<Vec<_>>());
        list.insert(i64::MIN);
        list.insert(i64::MAX);
        let rows: Vec<i64> = list.iter().collect();
        assert!(rows.is_sorted());
        assert_eq!((rows[0], rows[101]), (i64::MIN, i64::MAX));
    }
}
