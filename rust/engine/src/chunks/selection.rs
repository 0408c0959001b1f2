//! What one leg of a search may find.

use serde::{Deserialize, Serialize};

use super::filters::Filters;
use crate::error::{Error, ErrorCode, Result};
use crate::named_enum;
use crate::query::Matching;

named_enum! {
    /// Which chunks stand for one document, so that only the best of them is found.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum GroupBy {
        /// Those of one path.
        Path = "path",
    }
}

/// Which chunks may be found, and how many.
#[derive(Debug, Clone, Copy)]
pub struct Selection<'a> {
    /// How many; at least 1.
    pub limit: usize,
    /// What they must be.
    pub filters: &'a Filters,
    /// Keep the best of each group alone, before the result is cut.
    pub group_by: Option<GroupBy>,
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
    /// What all rows of its group have in common; without grouping the row itself.
    pub key: i64,
    /// What the order is by; higher is better.
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
