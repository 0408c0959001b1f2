//! What one leg of a search may hold.

use serde::{Deserialize, Serialize};

use super::filters::Filters;
use crate::error::{Error, Result};

/// Which chunks stand for one document, so that only the best of them is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum GroupBy {
    /// Those of one path.
    Path,
}

impl GroupBy {
    /// The word users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
        }
    }

    /// The grouping of that name.
    pub fn from_name(name: &str) -> Result<Self> {
        if name == Self::Path.as_str() {
            return Ok(Self::Path);
        }
        Err(Error::invalid_option(
            "group_by",
            &[Self::Path.as_str()],
            name,
        ))
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
    /// Tell also what score fusion must know of all chunks.
    pub statistics: bool,
}

impl<'a> Selection<'a> {
    /// The best chunks, and nothing beside them.
    pub(super) fn plain(limit: usize, filters: &'a Filters) -> Self {
        Self {
            limit,
            filters,
            group_by: None,
            statistics: false,
        }
    }
}
