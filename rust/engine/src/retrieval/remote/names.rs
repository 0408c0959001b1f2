//! Numbers for the chunks and the paths that a search meets.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;

use crate::text::utf16;

/// A chunk by its path and id, in the order of equals.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub path: String,
    pub id: String,
}

impl Name {
    /// By path, then by id.
    pub fn compare(&self, other: &Self) -> Ordering {
        utf16::compare(&self.path, &other.path).then_with(|| utf16::compare(&self.id, &other.id))
    }
}

/// The names met so far.
#[derive(Debug, Default)]
pub(super) struct Names(RefCell<Known>);

#[derive(Debug, Default)]
struct Known {
    names: Vec<(Name, i64)>,
    rows: HashMap<String, i64>,
    paths: HashMap<String, i64>,
}

impl Names {
    /// The row of a chunk.
    pub fn row(&self, name: Name) -> i64 {
        let mut known = self.0.borrow_mut();
        if let Some(row) = known.rows.get(&name.id) {
            return *row;
        }
        let row = number(known.names.len());
        let path = number(known.paths.len());
        let path = *known.paths.entry(name.path.clone()).or_insert(path);
        known.rows.insert(name.id.clone(), row);
        known.names.push((name, path));
        row
    }

    /// The name of a row that [`Names::row`] gave.
    pub fn name(&self, row: i64) -> Option<Name> {
        self.at(row, |(name, _)| name.clone())
    }

    /// The number of the path of a row.
    pub fn path(&self, row: i64) -> Option<i64> {
        self.at(row, |(_, path)| *path)
    }

    /// The number of a path, if a chunk of it was met.
    pub fn number(&self, path: &str) -> Option<i64> {
        self.0.borrow().paths.get(path).copied()
    }

    fn at<T>(&self, row: i64, read: impl Fn(&(Name, i64)) -> T) -> Option<T> {
        let known = self.0.borrow();
        usize::try_from(row)
            .ok()
            .and_then(|row| known.names.get(row))
            .map(read)
    }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
