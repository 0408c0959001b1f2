//! Neighbors: the chunks before and after a chunk in its path count for it (spec/retrieval.md,
//! "Neighbors").

use std::collections::HashMap;

use hashlink::DefaultHashBuilder;

use super::candidates::ScoredCandidates;
use super::collection::{Reader, Step};
use super::fused::NeighborContribution;
use super::order;
use super::request::SHARES;
use crate::chunks::{Filters, Side};
use crate::error::Result;

/// Bounds are raised by this, so that rounding leaves no candidate out. Totals are far below 1,000.
const SLACK: f64 = 1e-9;

/// The candidates: the documents that the legs found, and the rows next to them.
pub(super) struct NeighborCandidates<'r> {
    step: Step<'r>,
    /// The candidates, and the rows whose totals may count for them.
    near: Vec<NearRow>,
    /// The position of each row in `near`.
    positions: HashMap<i64, usize, DefaultHashBuilder>,
}

/// A row, and the documents near it that the legs found.
struct NearRow {
    row: i64,
    /// The total of the row, if known.
    total: Option<f64>,
    /// The best totals that the legs found at distances 1 and 2; negative infinity without one.
    best: [f64; 2],
    is_candidate: bool,
}

/// The neighbors of a row at distance 1, and those at distance 2; the row before it first.
#[derive(Clone, Copy)]
struct AdjacentRows([[Option<i64>; 2]; 2]);

impl<'r> NeighborCandidates<'r> {
    /// The candidates around the documents with these totals. Chunks that do not pass the filters are skipped
    /// as if they did not exist.
    pub fn of(
        reader: &'r dyn Reader,
        filters: &Filters,
        totals: &[(Option<i64>, f64)],
    ) -> Result<Self> {
        let rows: Vec<i64> = totals.iter().filter_map(|(row, _)| *row).collect();
        let mut candidates = Self {
            step: reader.adjacent_rows(filters, &rows)?,
            near: Vec::with_capacity(5 * rows.len()),
            positions: HashMap::default(),
        };
        candidates.positions.reserve(5 * rows.len());
        for (row, total) in totals {
            if let Some(row) = row {
                candidates.add_found(*row, *total);
            }
        }
        Ok(candidates)
    }

    fn add_found(&mut self, row: i64, total: f64) {
        let own = self.near(row);
        own.total = Some(total);
        own.is_candidate = true;
        let adjacent = AdjacentRows::of(&mut self.step, row);
        for (distance, rows) in adjacent.0.into_iter().enumerate() {
            for row in rows.into_iter().flatten() {
                let other = self.near(row);
                other.best[distance] = other.best[distance].max(total);
                other.is_candidate |= distance == 0;
            }
        }
    }

    fn near(&mut self, row: i64) -> &mut NearRow {
        let next = self.near.len();
        let position = *self.positions.entry(row).or_insert(next);
        if position == next {
            self.near.push(NearRow {
                row,
                total: None,
                best: [f64::NEG_INFINITY; 2],
                is_candidate: false,
            });
        }
        &mut self.near[position]
    }

    /// The rows of the candidates, ascending.
    pub fn rows(&self) -> Vec<i64> {
        let candidates = self.near.iter().filter(|near| near.is_candidate);
        let mut rows: Vec<i64> = candidates.map(|near| near.row).collect();
        rows.sort_unstable();
        rows
    }

    /// The upper bound of the score of each candidate, highest first, if no row that the legs did not find has
    /// a total above `others`.
    fn bounds(&self, others: f64, by_path: bool) -> Vec<(f64, i64)> {
        // A row without a vector has a total of 0.
        let others = others.max(0.0);
        let bound = |near: &NearRow| {
            let own = near.total.unwrap_or(others);
            let share = |(share, best): (f64, f64)| share * counted(best.max(others), own, by_path);
            let shares: f64 = SHARES.into_iter().zip(near.best).map(share).sum();
            (own + shares + SLACK, near.row)
        };
        let candidates = self.near.iter().filter(|near| near.is_candidate);
        let mut bounds: Vec<(f64, i64)> = candidates.map(bound).collect();
        bounds.sort_unstable_by(|left, right| {
            order::descending(left.0, right.0).then(left.1.cmp(&right.1))
        });
        bounds
    }

    /// Some candidates with their neighbors, by row.
    fn select(&mut self, mut rows: Vec<i64>) -> Vec<(i64, AdjacentRows)> {
        rows.sort_unstable();
        let with_neighbors = |row| (row, AdjacentRows::of(&mut self.step, row));
        rows.into_iter().map(with_neighbors).collect()
    }

    /// The rows whose totals are needed and not known, ascending.
    fn unknown(&self, selected: &[(i64, AdjacentRows)]) -> Vec<i64> {
        let mut rows = Vec::with_capacity(5 * selected.len());
        for (row, adjacent) in selected {
            let needed = adjacent.0.iter().flatten().flatten().chain([row]);
            rows.extend(needed.filter(|row| self.total(**row).is_none()));
        }
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    fn total(&self, row: i64) -> Option<f64> {
        self.near[*self.positions.get(&row)?].total
    }

    /// The score of each selected candidate: its total and its shares of its neighbors' totals, or of their
    /// [gains](gain) if paths are ranked. `totals` has the row and the total of each document; a document without
    /// a row is from outside the index, and keeps its total.
    fn raise(
        &self,
        selected: &[(i64, AdjacentRows)],
        totals: &[(Option<i64>, f64)],
        by_path: bool,
    ) -> Vec<NeighborGains> {
        let raised = totals.iter().enumerate().filter_map(|(at, (row, own))| {
            let mut raised = NeighborGains::new(at, *own);
            let Some(row) = row else {
                return Some(raised);
            };
            let found = selected.binary_search_by_key(row, |(row, _)| *row);
            let adjacent = selected[found.ok()?].1;
            let before = adjacent.0[0][0];
            raised.before = before.and_then(|before| Some((before, self.total(before)?)));
            for (nth, (distance, share)) in (1..).zip(SHARES).enumerate() {
                let Some((row, total)) = self.best(&adjacent.0[nth]) else {
                    continue;
                };
                let contribution = share * counted(total, *own, by_path);
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

    /// The row of the greatest total, the first of equals.
    fn best(&self, rows: &[Option<i64>]) -> Option<(i64, f64)> {
        let known = rows.iter().flatten();
        let known = known.filter_map(|row| Some((*row, self.total(*row)?)));
        known.reduce(|best, other| {
            if order::descending(best.1, other.1).is_gt() {
                other
            } else {
                best
            }
        })
    }
}

/// The scores of candidates with the shares of their neighbors.
pub(super) struct NeighborScores<'s, 'a, 'r, C> {
    pub neighbors: NeighborCandidates<'r>,
    /// The documents that the legs found.
    pub scored: &'s mut ScoredCandidates<'a>,
    /// Computes the cosines of rows that no leg found.
    pub cosines: C,
    /// Whether paths are ranked.
    pub by_path: bool,
}

impl<C: Fn(&[i64]) -> Result<Vec<Option<f64>>>> NeighborScores<'_, '_, '_, C> {
    /// The scores of all candidates that can be among the first `wanted`, or the best of the first `wanted`
    /// groups, and of some others. No row that the legs did not find has a total above `others`; None if that
    /// is unknown, so that all candidates are scored.
    pub fn of_best(
        &mut self,
        wanted: usize,
        others: Option<f64>,
        group_of: impl Fn(i64) -> Option<i64>,
    ) -> Result<Vec<NeighborGains>> {
        let all = self.neighbors.rows();
        let Some(others) = others.filter(|_| (1..all.len()).contains(&wanted)) else {
            return self.of(all);
        };
        let bounds = self.neighbors.bounds(others, self.by_path);
        let mut best: HashMap<(Option<i64>, i64), f64> = HashMap::new();
        let group = |row: i64| group_of(row).map_or((None, row), |group| (Some(group), 0));
        // Of twice as many as wanted the best make a higher threshold.
        let promising = bounds.iter().take_while(|(_, row)| {
            best.insert(group(*row), f64::NEG_INFINITY);
            best.len() <= wanted.saturating_mul(2)
        });
        let promising = promising.map(|(_, row)| *row).collect();
        for raised in self.of(promising)? {
            if let Some(row) = self.scored.key(raised.at) {
                let best = best.entry(group(row)).or_insert(raised.score);
                *best = best.max(raised.score);
            }
        }
        let mut best: Vec<f64> = best.into_values().collect();
        if best.len() < wanted {
            return self.of(all);
        }
        let (_, threshold, _) =
            best.select_nth_unstable_by(wanted - 1, |left, right| order::descending(*left, *right));
        let count = bounds.partition_point(|(bound, _)| bound >= threshold);
        self.of(bounds[..count].iter().map(|(_, row)| *row).collect())
    }

    fn of(&mut self, rows: Vec<i64>) -> Result<Vec<NeighborGains>> {
        let selected = self.neighbors.select(rows);
        let others = self.neighbors.unknown(&selected);
        let cosines = (self.cosines)(&others)?;
        for (row, total) in self.scored.add(&others, &cosines) {
            self.neighbors.near(row).total = Some(total);
        }
        let totals = self.scored.totals();
        Ok(self.neighbors.raise(&selected, &totals, self.by_path))
    }
}

/// A document by its position, and what neighbors gave it.
pub(super) struct NeighborGains {
    pub at: usize,
    pub score: f64,
    /// The neighbors that counted, by distance.
    pub neighbors: [Option<NeighborContribution>; 2],
    /// The row before it in its path, and the total of that.
    pub before: Option<(i64, f64)>,
}

impl NeighborGains {
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

/// Return the part of a neighbor's total that counts for a chunk with the total `own`.
fn counted(total: f64, own: f64, by_path: bool) -> f64 {
    if by_path { gain(total, own) } else { total }
}

/// Return the part of a neighbor's total that counts for a chunk when paths are ranked: the excess over half
/// of the chunk's own. The rest is treated as a repetition, such as a title that every passage of a path
/// repeats, which would raise long texts above short ones.
pub(super) fn gain(total: f64, own: f64) -> f64 {
    (total - own.max(0.0) / 2.0).max(0.0)
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
