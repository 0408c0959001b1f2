//! Neighbors: the chunks before and after a chunk in its path count for it (spec/retrieval.md,
//! "Neighbors").

use std::collections::HashMap;

use hashlink::DefaultHashBuilder;

use super::collection::{Reader, Step};
use super::fused::NeighborContribution;
use super::order;
use crate::chunks::{Filters, Side};
use crate::error::Result;

/// The shares of the best totals at distances 1 and 2 that are added to a document.
pub(super) const SHARES: [f64; 2] = [0.4, 0.2];

/// The candidates, and the neighbors of each.
pub(super) struct NeighborScores {
    /// The candidates, ascending.
    candidates: Vec<(i64, AdjacentRows)>,
}

/// The neighbors of a row at distance 1, and those at distance 2; the row before it first.
#[derive(Clone, Copy)]
struct AdjacentRows([[Option<i64>; 2]; 2]);

impl NeighborScores {
    /// The surroundings of the documents that the legs found. These are candidates, and so are the rows
    /// next to them. Chunks that do not pass the filters are skipped as if they did not exist.
    pub fn of(reader: &dyn Reader, filters: &Filters, found: &[i64]) -> Result<Self> {
        let mut step = reader.adjacent_rows(filters, found)?;
        let mut rows = Vec::with_capacity(3 * found.len());
        for row in found {
            rows.push(*row);
            rows.extend(Side::BOTH.iter().filter_map(|side| step(*row, *side)));
        }
        rows.sort_unstable();
        rows.dedup();
        let with_neighbors = |row| (row, AdjacentRows::of(&mut step, row));
        Ok(Self {
            candidates: rows.into_iter().map(with_neighbors).collect(),
        })
    }

    /// All rows whose totals are needed, ascending.
    pub fn rows(&self) -> Vec<i64> {
        let mut rows: Vec<i64> = Vec::with_capacity(5 * self.candidates.len());
        for (row, adjacent) in &self.candidates {
            rows.push(*row);
            rows.extend(adjacent.0.iter().flatten().flatten());
        }
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// The neighbors of a candidate; None for another row.
    fn adjacent(&self, row: i64) -> Option<AdjacentRows> {
        let found = self.candidates.binary_search_by_key(&row, |(row, _)| *row);
        found.ok().map(|at| self.candidates[at].1)
    }

    /// The score of each candidate: its total and its shares of its neighbors' totals, or of their [gains](gain)
    /// if paths are ranked. Rows that are not candidates are left out. `totals` has the row and the total of each
    /// document; a document without a row is from outside the index.
    pub fn raise(&self, totals: &[(Option<i64>, f64)], by_path: bool) -> Vec<Raised> {
        let with_row = |(row, total): &(Option<i64>, f64)| Some(((*row)?, *total));
        let by_row: Totals = totals.iter().filter_map(with_row).collect();
        let raised = totals.iter().enumerate().filter_map(|(at, (row, own))| {
            let mut raised = Raised::new(at, *own);
            let Some(row) = row else {
                return Some(raised);
            };
            let adjacent = self.adjacent(*row)?;
            let before = adjacent.0[0][0];
            raised.before = before.and_then(|before| Some((before, *by_row.get(&before)?)));
            for (nth, (distance, share)) in (1..).zip(SHARES).enumerate() {
                let Some((row, total)) = best(&adjacent.0[nth], &by_row) else {
                    continue;
                };
                let counted = if by_path { gain(total, *own) } else { total };
                let contribution = share * counted;
                if contribution != 0.0 {
                    raised.score += contribution;
                    raised.neighbors[nth] = Some(NeighborContribution {
                        row,
                        distance,
                        total,
                        contribution,
                    });
                }
            }
            Some(raised)
        });
        raised.collect()
    }
}

/// The totals by row.
type Totals = HashMap<i64, f64, DefaultHashBuilder>;

/// A document by its position, and what neighbors gave it.
pub(super) struct Raised {
    pub at: usize,
    pub score: f64,
    /// The neighbors that counted, by distance.
    pub neighbors: [Option<NeighborContribution>; 2],
    /// The row before it in its path, and the total of that.
    pub before: Option<(i64, f64)>,
}

impl Raised {
    /// A document to which no neighbor gave anything.
    pub fn new(at: usize, score: f64) -> Self {
        Self {
            at,
            score,
            neighbors: [None, None],
            before: None,
        }
    }
}

/// Return the part of a neighbor's total that counts for a chunk when paths are ranked: the excess over half
/// of the chunk's own. The rest is treated as a repetition, such as a title that every passage of a path
/// repeats, which would raise long texts above short ones.
pub(super) fn gain(total: f64, own: f64) -> f64 {
    (total - own.max(0.0) / 2.0).max(0.0)
}

/// The row of the greatest total, the first of equals.
fn best(rows: &[Option<i64>], totals: &Totals) -> Option<(i64, f64)> {
    let known = rows
        .iter()
        .flatten()
        .filter_map(|row| Some((*row, *totals.get(row)?)));
    known.reduce(|best, other| {
        if order::descending(best.1, other.1).is_gt() {
            other
        } else {
            best
        }
    })
}

impl AdjacentRows {
    fn of(step: &mut Step<'_>, row: i64) -> Self {
        let mut adjacent = Self([[None; 2]; 2]);
        for (nth, side) in Side::BOTH.into_iter().enumerate() {
            let mut at = Some(row);
            for rows in &mut adjacent.0 {
                at = at.and_then(|row| step(row, side));
                rows[nth] = at;
            }
        }
        adjacent
    }
}
