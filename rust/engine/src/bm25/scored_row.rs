//! A row as ranking orders it.

use std::cmp::Ordering;

use crate::top_k::Scored;

/// The name, in messages, of a row that an expression matches.
pub(crate) const MATCHED: &str = "a row of the full-text index";

/// A score and its row.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScoredRow {
    pub score: f64,
    pub row: i64,
}

impl Scored for ScoredRow {
    type Score = f64;
    const LOWEST: f64 = f64::NEG_INFINITY;

    fn score(&self) -> f64 {
        self.score
    }

    /// Ties go by row.
    fn order(&self, other: &Self) -> Ordering {
        (other.score.total_cmp(&self.score)).then(self.row.cmp(&other.row))
    }
}
