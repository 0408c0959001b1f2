//! The limits and filters of one leg of a search.

use super::chunk::Chunk;
use super::filters::{Field, Filters};
use super::metadata_index::group;
use crate::error::{Error, ErrorCode, Result};
use crate::query::Matching;

/// The chunks that count as one document, of which only the best is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupBy<'a> {
    /// The chunks of a path.
    Path,
    /// The chunks with one value of a declared key (spec/retrieval.md, "Grouping").
    Key(&'a str),
}

impl<'a> GroupBy<'a> {
    /// The grouping of that name. Whether an index has declared the key is checked when it is searched.
    pub fn from_option(option: &str, name: &'a str) -> Result<Self> {
        match Field::named(name) {
            Some(Field::Path) => Ok(Self::Path),
            Some(_) if !name.starts_with('$') => Ok(Self::Key(name)),
            _ => Err(Error::new(
                ErrorCode::InvalidOption,
                format!(
                    "{option} must be \"path\" or a declared key such as \"year\", not {name:?}"
                ),
            )),
        }
    }

    /// The name of the group of a chunk that may be outside the index.
    pub fn group(self, chunk: &Chunk) -> String {
        let group = match self {
            Self::Path => None,
            Self::Key(name) => Field::named(name).map(|field| group(&field, chunk)),
        };
        // Metadata that was read from JSON can be written as JSON.
        group
            .and_then(rusqlite::Result::ok)
            .unwrap_or_else(|| chunk.path.clone())
    }

    /// The name of the grouping: `path`, or the key.
    pub fn as_str(self) -> &'a str {
        match self {
            Self::Path => "path",
            Self::Key(name) => name,
        }
    }
}

/// The limits and filters of a leg.
#[derive(Debug, Clone, Copy)]
pub struct Selection<'a> {
    /// The most hits; at least 1.
    pub limit: usize,
    /// The filters.
    pub filters: &'a Filters,
    /// Keep the best of each group alone, before the result is cut.
    pub group_by: Option<GroupBy<'a>>,
    /// Also tell what score fusion must know of all chunks.
    pub statistics: bool,
    /// How words are matched, which decides how the lengths of chunks count.
    pub matching: Matching,
}

impl<'a> Selection<'a> {
    /// The best chunks alone.
    pub(crate) fn plain(limit: usize, filters: &'a Filters) -> Self {
        Self {
            limit,
            filters,
            group_by: None,
            statistics: false,
            matching: Matching::Spec,
        }
    }
}

/// A row that a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedRow {
    /// The row.
    pub row: i64,
    /// The key shared by all rows of a group; without grouping the row itself.
    pub key: i64,
    /// The score that orders the rows; higher is better.
    pub score: f64,
}

/// Reject a limit of 0. Every search checks its limit with this function.
pub fn check_limit(limit: usize) -> Result<()> {
    if limit > 0 {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::InvalidLimit,
        "limit must be at least 1, not 0",
    ))
}
