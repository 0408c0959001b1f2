//! The best of what passes the filters.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};

use rusqlite::{Connection, params_from_iter};

use super::scored_row::{MATCHED, ScoredRow};
use crate::chunks::{Filters, Paths};
use crate::top_k::Scored;

/// Rows in the first batch of checks; each later batch is twice as large.
const FIRST: usize = 128;
/// If the named paths have fewer chunks than this, all rows that pass are read together.
const FEW: usize = 1024;

/// The best `limit` of these that pass the filters, in order; with `paths`, the best of each of the best
/// paths.
pub(super) fn best(
    connection: &Connection,
    filters: &Filters,
    mut found: Vec<ScoredRow>,
    limit: usize,
    paths: Option<&Paths>,
) -> rusqlite::Result<Vec<ScoredRow>> {
    let mut cursor = paths.map(Paths::cursor);
    let mut seen = HashSet::new();
    let mut is_first = |found: &ScoredRow| {
        let number = cursor
            .as_mut()
            .map(|paths| paths.number(found.row, MATCHED));
        number
            .transpose()
            .map(|number| number.is_none_or(|number| seen.insert(number)))
    };
    let mut passed = Vec::new();
    if let Some(allowed) = of_few_paths(connection, filters)? {
        found.retain(|found| allowed.contains(&found.row));
        found.sort_unstable_by(Scored::order);
        for found in found {
            if passed.len() < limit && is_first(&found)? {
                passed.push(found);
            }
        }
        return Ok(passed);
    }
    // From the best on, as many are checked as needed.
    let mut ahead: BinaryHeap<Ahead> = found.into_iter().map(Ahead).collect();
    let mut size = FIRST;
    while passed.len() < limit && !ahead.is_empty() {
        let next = std::iter::from_fn(|| ahead.pop())
            .take(size)
            .map(|ahead| ahead.0);
        let next: Vec<ScoredRow> = next.collect();
        let allowed = allowed(connection, filters, &next)?;
        for found in next {
            if allowed.contains(&found.row) && is_first(&found)? {
                passed.push(found);
            }
        }
        size = size.saturating_mul(2);
    }
    passed.truncate(limit);
    Ok(passed)
}

/// All rows that pass, where the filters name paths and these have few chunks: there is an index
/// on paths.
fn of_few_paths(
    connection: &Connection,
    filters: &Filters,
) -> rusqlite::Result<Option<HashSet<i64>>> {
    if filters.paths.is_empty() {
        return Ok(None);
    }
    let conditions = filters.conditions()?;
    let sql = format!(
        "SELECT chunk.row FROM knowledge_chunks AS chunk WHERE TRUE{} LIMIT {FEW}",
        conditions.sql()
    );
    let rows: HashSet<i64> = connection
        .prepare_cached(&sql)?
        .query_map(params_from_iter(&conditions.values), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Some(rows).filter(|rows| rows.len() < FEW))
}

/// Return the rows that pass.
fn allowed(
    connection: &Connection,
    filters: &Filters,
    found: &[ScoredRow],
) -> rusqlite::Result<HashSet<i64>> {
    let mut rows: Vec<i64> = found.iter().map(|found| found.row).collect();
    rows.sort_unstable();
    Ok(filters.rows_among(connection, rows)?.into_iter().collect())
}

/// In a heap, the best comes first.
struct Ahead(ScoredRow);

impl Ord for Ahead {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.order(&self.0)
    }
}

impl PartialOrd for Ahead {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ahead {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ahead {}
