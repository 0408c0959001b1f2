//! Row numbers for the chunks, and key numbers for the paths, that a search meets.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;

use hedgerow_engine::text::utf16;

/// The path and id of a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ChunkName {
    pub path: String,
    pub id: String,
}

impl ChunkName {
    /// The order of chunks with equal scores: by path, then by id.
    pub fn compare(&self, other: &Self) -> Ordering {
        utf16::compare(&self.path, &other.path).then_with(|| utf16::compare(&self.id, &other.id))
    }
}

/// The chunks met so far, numbered in the order of their first use.
#[derive(Debug, Default)]
pub(crate) struct RowNumbers(RefCell<Numbering>);

#[derive(Debug, Default)]
struct Numbering {
    /// The name of each row, and the number of its path.
    names: Vec<(ChunkName, i64)>,
    /// The row of each id.
    rows: HashMap<String, i64>,
    /// The number of each path.
    paths: HashMap<String, i64>,
}

impl RowNumbers {
    /// Return the row of a chunk. A new chunk gets the next number.
    pub fn row(&self, name: ChunkName) -> i64 {
        let mut numbering = self.0.borrow_mut();
        if let Some(row) = numbering.rows.get(&name.id) {
            return *row;
        }
        let row = number(numbering.names.len());
        let path = number(numbering.paths.len());
        let path = *numbering.paths.entry(name.path.clone()).or_insert(path);
        numbering.rows.insert(name.id.clone(), row);
        numbering.names.push((name, path));
        row
    }

    /// The name of a row. None if [`Self::row`] never returned this row.
    pub fn name(&self, row: i64) -> Option<ChunkName> {
        self.at(row, |(name, _)| name.clone())
    }

    /// The number of the path of a row. None if [`Self::row`] never returned this row.
    pub fn path(&self, row: i64) -> Option<i64> {
        self.at(row, |(_, path)| *path)
    }

    /// The number of a path. None if no chunk of the path was met.
    pub fn path_number(&self, path: &str) -> Option<i64> {
        self.0.borrow().paths.get(path).copied()
    }

    /// The path of a number. None if no chunk of the path was met.
    pub fn path_name(&self, number: i64) -> Option<String> {
        let numbering = self.0.borrow();
        let mut names = numbering.names.iter();
        let (name, _) = names.find(|(_, path)| *path == number)?;
        Some(name.path.clone())
    }

    fn at<T>(&self, row: i64, read: impl Fn(&(ChunkName, i64)) -> T) -> Option<T> {
        let numbering = self.0.borrow();
        usize::try_from(row)
            .ok()
            .and_then(|row| numbering.names.get(row))
            .map(read)
    }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
