//! Searching by sparse vectors: the chunks with the greatest dot products.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use hashlink::DefaultHashBuilder;

use super::lists::SparseLists;
use crate::chunks::{Paths, RankedRow, RowSet, Selection, check_limit, group_key};
use crate::error::Result;
use crate::interrupt::{self, CancelTicker};
use crate::sparse_vector::SparseVector;
use crate::top_k::{Scored, TopK};

/// The name of the leg in the message about a hit whose chunk is missing.
pub(crate) const SPARSE_MATCHED: &str = "a sparse vector that a search found";

/// Scores are added as whole numbers of this many to the best, since floats would add up differently in another
/// order. The square of the sum of 2^32 of them stays below 2^127.
const UNITS: f64 = 1_073_741_824.0;

/// The score of a row that was deleted, or that does not pass the filters.
const NO_SCORE: f64 = -1.0;

/// The best score, and mean and standard deviation of the scores of all rows or groups with a sparse vector.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ScoreStats {
    /// The best score; 0 of none.
    pub best: f64,
    /// The mean; 0 of none.
    pub mean: f64,
    /// The population standard deviation; 0 of none.
    pub deviation: f64,
}

impl ScoreStats {
    /// The statistics of `count` scores, of which these are above 0; to the bit the same in any order.
    fn of(count: usize, scores: impl Iterator<Item = f64> + Clone) -> Self {
        let best = scores.clone().fold(0.0, f64::max);
        if best <= 0.0 {
            return Self::default();
        }
        let scale = UNITS / best;
        let (mut sum, mut squares) = (0_i128, 0_i128);
        for score in scores {
            #[allow(clippy::cast_possible_truncation, reason = "at most UNITS")]
            let units = i128::from((score * scale).round() as i64);
            sum += units;
            squares += units * units;
        }
        let count = count as i128;
        #[allow(clippy::cast_precision_loss, reason = "only the results are rounded")]
        let [count, sum, variance] = [count, sum, count * squares - sum * sum].map(|n| n as f64);
        Self {
            best,
            mean: sum / count / scale,
            deviation: variance.sqrt() / count / scale,
        }
    }
}

/// The rows with the greatest dot products with a query.
#[derive(Debug, Default)]
pub struct SparseRows {
    /// The best of them, best first; their scores are above 0.
    pub rows: Vec<RankedRow>,
    /// The statistics of all scores, if the selection asked for statistics.
    pub stats: ScoreStats,
    scores: Scores,
}

/// The scores of all rows or groups with a sparse vector.
#[derive(Debug)]
enum Scores {
    /// For each slot of each part its score, or [`NO_SCORE`].
    Rows(Arc<SparseLists>, Vec<Vec<f64>>),
    /// The best score of each group, by key.
    Groups(HashMap<i64, f64, DefaultHashBuilder>),
}

impl Default for Scores {
    fn default() -> Self {
        Self::Groups(HashMap::default())
    }
}

impl SparseRows {
    /// The score of the row or group of a key, among the best or not. None if it has no sparse vector, or
    /// does not pass the filters.
    pub fn score(&self, key: i64) -> Option<f64> {
        match &self.scores {
            Scores::Groups(scores) => scores.get(&key).copied(),
            Scores::Rows(lists, scores) => {
                let (part, slot) = lists.find(key)?;
                Some(scores[part][slot]).filter(|score| *score >= 0.0)
            }
        }
    }
}

/// A row with its score: of equal scores the earlier row is better.
#[derive(Debug, Clone, Copy)]
struct ScoredRow {
    score: f64,
    row: i64,
}

impl Scored for ScoredRow {
    type Score = f64;
    const LOWEST: f64 = 0.0;

    fn score(&self) -> f64 {
        self.score
    }

    fn order(&self, other: &Self) -> Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then_with(|| self.row.cmp(&other.row))
    }
}

/// The sparse vectors of one state, to be searched.
#[derive(Clone, Copy)]
pub(crate) struct SparseSearch<'a> {
    pub lists: &'a Arc<SparseLists>,
    /// The paths of the chunks, if hits are grouped by path.
    pub paths: Option<&'a Paths>,
}

impl SparseSearch<'_> {
    /// Return the best rows of a selection by their dot products with the query. `passing` are the rows that
    /// pass the filters; None means all rows.
    pub fn best(
        &self,
        query: &SparseVector,
        selection: &Selection<'_>,
        passing: Option<&RowSet>,
    ) -> Result<SparseRows> {
        check_limit(selection.limit)?;
        let mut scores = Vec::with_capacity(self.lists.parts().len());
        for part in self.lists.parts() {
            let mut of_part = part.segment.scores(query)?;
            for slot in part.deleted.iter() {
                of_part[slot as usize] = NO_SCORE;
            }
            if let Some(passing) = passing {
                for (score, row) in of_part.iter_mut().zip(part.segment.rows()) {
                    if !passing.contains(*row) {
                        *score = NO_SCORE;
                    }
                }
            }
            scores.push(of_part);
        }
        match self.paths {
            None => self.best_rows(scores, selection),
            Some(paths) => self.best_groups(&scores, selection, paths),
        }
    }

    /// Each row that has a sparse vector and passes, with its score.
    fn scored<'s>(
        &'s self,
        scores: &'s [Vec<f64>],
    ) -> impl Iterator<Item = ScoredRow> + Clone + 's {
        let parts = self.lists.parts().iter().zip(scores);
        let rows = parts.flat_map(|(part, scores)| part.segment.rows().iter().zip(scores));
        let passing = rows.filter(|(_, score)| **score >= 0.0);
        passing.map(|(row, score)| ScoredRow {
            row: *row,
            score: *score,
        })
    }

    fn best_rows(&self, scores: Vec<Vec<f64>>, selection: &Selection<'_>) -> Result<SparseRows> {
        let mut best = TopK::new(selection.limit);
        let mut count = 0;
        let mut pace = CancelTicker::default();
        for scored in self.scored(&scores) {
            pace.step(1)?;
            count += 1;
            if scored.score > 0.0 {
                best.offer(scored);
            }
        }
        let stats = if selection.statistics {
            let positive = self.scored(&scores).map(|scored| scored.score);
            ScoreStats::of(count, positive.filter(|score| *score > 0.0))
        } else {
            ScoreStats::default()
        };
        let key = |scored: &ScoredRow| scored.row;
        Ok(SparseRows {
            rows: ranked(best.finish(), selection.limit, key)?,
            stats,
            scores: Scores::Rows(Arc::clone(self.lists), scores),
        })
    }

    fn best_groups(
        &self,
        scores: &[Vec<f64>],
        selection: &Selection<'_>,
        paths: &Paths,
    ) -> Result<SparseRows> {
        let mut groups: HashMap<i64, ScoredRow, DefaultHashBuilder> = HashMap::default();
        let mut pace = CancelTicker::default();
        for scored in self.scored(scores) {
            pace.step(1)?;
            let Some(key) = group_key(Some(paths), scored.row) else {
                continue;
            };
            let best = groups.entry(key).or_insert(scored);
            if scored.order(best).is_lt() {
                *best = scored;
            }
        }
        let positive = groups.values().map(|best| best.score);
        let positive = positive.filter(|score| *score > 0.0);
        let stats = if selection.statistics {
            ScoreStats::of(groups.len(), positive)
        } else {
            ScoreStats::default()
        };
        let best = groups.values().copied().filter(|best| best.score > 0.0);
        let key = |scored: &ScoredRow| group_key(Some(paths), scored.row).unwrap_or(scored.row);
        Ok(SparseRows {
            rows: ranked(best.collect(), selection.limit, key)?,
            stats,
            scores: Scores::Groups(
                groups
                    .into_iter()
                    .map(|(key, best)| (key, best.score))
                    .collect(),
            ),
        })
    }
}

/// The first `limit` of some rows, best first.
fn ranked(
    mut best: Vec<ScoredRow>,
    limit: usize,
    key: impl Fn(&ScoredRow) -> i64,
) -> Result<Vec<RankedRow>> {
    crate::top_k::select(&mut best, limit, ScoredRow::order);
    interrupt::sort(&mut best, ScoredRow::order)?;
    let ranked = best.iter().map(|scored| RankedRow {
        row: scored.row,
        key: key(scored),
        score: scored.score,
    });
    Ok(ranked.collect())
}
