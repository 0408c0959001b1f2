//! Ranking by BM25 in memory (spec/index.md, "Ranking in memory").
//!
//! FTS5 is the store and the truth. A [`Snapshot`] holds its postings of one generation of the
//! index: first read from FTS5's own tables ([`load`]), then kept up to date by reading the
//! texts of the few chunks that changed ([`build`]). An expression becomes a [`Plan`], its phrases
//! are looked up in each part of the snapshot ([`phrase`]), and what they add to a score is added
//! up by FTS5's formula ([`counts`]) in FTS5's order ([`score`]): ids, order and scores are the
//! same to the bit. Whenever there is no snapshot of the generation, FTS5 answers,
//! with the same formula ([`function`]).

mod allowed;
mod batch;
mod best;
mod build;
mod counts;
mod deleted;
#[cfg(test)]
mod differential;
mod estimate;
mod failure;
mod function;
#[cfg(test)]
mod histories;
mod load;
mod merging;
#[cfg(test)]
mod outcomes;
mod part;
mod phrase;
mod plan;
mod postings;
mod ranker;
mod reason;
mod run;
mod score;
mod segment;
#[cfg(test)]
mod serving;
mod snapshot;
mod stored;
mod tiers;

use crate::error::{Error, ErrorCode, Result};

pub(super) use function::register;
pub(super) use plan::Plan;
pub(super) use ranker::{Acquired, Ranker};
pub(super) use snapshot::Snapshot;

/// Who ranks by BM25.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ranking {
    /// Memory, from the second search on, where building takes no more than 1 GiB; FTS5 answers until
    /// a thread in the background has read the index.
    #[default]
    Auto,
    /// Memory: the first search reads the index, and FTS5 answers those that come meanwhile.
    Memory,
    /// FTS5 alone.
    Fts5,
}

impl Ranking {
    /// All of them, the default first.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Memory, Self::Fts5];

    /// The word users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Memory => "memory",
            Self::Fts5 => "fts5",
        }
    }

    /// The ranking of that name.
    pub fn from_name(name: &str) -> Result<Self> {
        let found = Self::ALL
            .into_iter()
            .find(|ranking| ranking.as_str() == name);
        found.ok_or_else(|| {
            Error::new(
                ErrorCode::InvalidOption,
                format!("ranking must be \"auto\", \"memory\" or \"fts5\", not {name:?}"),
            )
        })
    }
}
