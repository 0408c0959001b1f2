//! Neighbors: the chunks before and after a chunk in its path count for it (spec/retrieval.md,
//! "Neighbors").

use std::collections::{BTreeMap, HashMap};

use super::collection::{Reader, Step};
use super::fused::{Beside, Document, Fused};
use super::order;
use crate::chunks::{Filters, Side};
use crate::error::Result;

/// The shares of the best totals at distances 1 and 2 that are added to a document.
pub(super) const SHARES: [f64; 2] = [0.4, 0.2];

/// The candidates, and the neighbors of each.
pub(super) struct Surroundings {
    /// For each candidate the rows at distance 1, and those at distance 2; the row before it first.
    candidates: BTreeMap<i64, RowsBeside>,
}

/// The neighbors of a row.
struct RowsBeside {
    distances: [Vec<i64>; 2],
    /// The row before it.
    before: Option<i64>,
}

impl Surroundings {
    /// The surroundings of the documents that the legs found. These are candidates, and so are the rows
    /// next to them. Chunks that do not pass the filters are skipped as if they did not exist.
    pub fn of(reader: &dyn Reader, filters: &Filters, found: &[i64]) -> Result<Self> {
        let mut step = reader.beside(filters, found)?;
        let mut candidates = BTreeMap::new();
        for row in found {
            let beside = RowsBeside::of(&mut step, *row);
            for near in beside.distances[0].iter().chain([row]) {
                candidates
                    .entry(*near)
                    .or_insert_with(|| RowsBeside::of(&mut step, *near));
            }
        }
        Ok(Self { candidates })
    }

    /// All rows whose totals are needed, ascending.
    pub fn rows(&self) -> Vec<i64> {
        let beside = self.candidates.values();
        let beside = beside.flat_map(|one| one.distances.iter().flatten());
        let mut rows: Vec<i64> = self.candidates.keys().chain(beside).copied().collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// Add to the total of each candidate its shares of its neighbors' totals, or of their [gains](gain) if
    /// paths are ranked, and drop rows that are not candidates.
    pub fn raise<'a>(&self, fused: Fused<'a>, by_path: bool) -> Fused<'a> {
        let documents = fused.0;
        let of_row = |document: &Document<'_>| Some((document.key?, document.explanation.fused));
        let totals: HashMap<i64, f64> = documents.iter().filter_map(of_row).collect();
        let raised = documents.into_iter().filter_map(|mut document| {
            let Some(row) = document.key else {
                // The document is from outside the index.
                return Some(document);
            };
            let beside = self.candidates.get(&row)?;
            document.before =
                (beside.before).and_then(|before| Some((before, *totals.get(&before)?)));
            for (rows, (distance, share)) in beside.distances.iter().zip((1..).zip(SHARES)) {
                if let Some((row, total)) = best(rows, &totals) {
                    let counted = if by_path {
                        gain(total, document.explanation.fused)
                    } else {
                        total
                    };
                    let contribution = share * counted;
                    if contribution == 0.0 {
                        continue;
                    }
                    document.explanation.score += contribution;
                    document.neighbors.push(Beside {
                        row,
                        distance,
                        total,
                        contribution,
                    });
                }
            }
            Some(document)
        });
        Fused(raised.collect())
    }
}

/// Return the part of a neighbor's total that counts for a chunk when paths are ranked: the excess over half
/// of the chunk's own. The rest is treated as a repetition, such as a title that every passage of a path
/// repeats, which would raise long texts above short ones.
pub(super) fn gain(total: f64, own: f64) -> f64 {
    (total - own.max(0.0) / 2.0).max(0.0)
}

/// The row of the greatest total, the first of equals.
fn best(rows: &[i64], totals: &HashMap<i64, f64>) -> Option<(i64, f64)> {
    let known = rows
        .iter()
        .filter_map(|row| Some((*row, *totals.get(row)?)));
    known.reduce(|best, other| {
        if order::descending(best.1, other.1).is_gt() {
            other
        } else {
            best
        }
    })
}

impl RowsBeside {
    /// The rows at distance 1 of a row, and those at distance 2; the row before it first.
    fn of(step: &mut Step<'_>, row: i64) -> Self {
        let mut distances = [Vec::new(), Vec::new()];
        let mut before = None;
        for side in Side::BOTH {
            let mut at = Some(row);
            for rows in &mut distances {
                at = at.and_then(|row| step(row, side));
                rows.extend(at);
            }
            if side == Side::Before {
                before = distances[0].first().copied();
            }
        }
        Self { distances, before }
    }
}
