//! The best of what passes the filters.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};
use std::rc::Rc;

use rusqlite::types::Value;
use rusqlite::{Connection, ToSql, params_from_iter};

use super::best::Scored;
use crate::index::filters::Filters;

/// How many are looked at first; each time twice as many as before.
const FIRST: usize = 128;

/// The best `limit` of these that pass the filters, in order: from the best on, as many are looked
/// at as needed.
pub(super) fn best(
    connection: &Connection,
    filters: &Filters,
    found: Vec<Scored>,
    limit: usize,
) -> rusqlite::Result<Vec<Scored>> {
    let mut ahead: BinaryHeap<Ahead> = found.into_iter().map(Ahead).collect();
    let (mut passed, mut size) = (Vec::new(), FIRST);
    while passed.len() < limit && !ahead.is_empty() {
        let next = std::iter::from_fn(|| ahead.pop())
            .take(size)
            .map(|ahead| ahead.0);
        let next: Vec<Scored> = next.collect();
        let allowed = allowed(connection, filters, &next)?;
        passed.extend(
            next.into_iter()
                .filter(|found| allowed.contains(&found.row)),
        );
        size = size.saturating_mul(2);
    }
    passed.truncate(limit);
    Ok(passed)
}

/// Those of the rows that pass.
fn allowed(
    connection: &Connection,
    filters: &Filters,
    found: &[Scored],
) -> rusqlite::Result<HashSet<i64>> {
    let mut rows: Vec<i64> = found.iter().map(|found| found.row).collect();
    rows.sort_unstable();
    let rows: Vec<Value> = rows.into_iter().map(Value::Integer).collect();
    let rows = Rc::new(rows);
    let conditions = filters.conditions()?;
    // CROSS JOIN looks each row up, in order, whatever there is an index on.
    let sql = format!(
        "SELECT chunk.row FROM rarray(?) AS wanted
          CROSS JOIN knowledge_chunks AS chunk ON chunk.row = wanted.value WHERE TRUE{}",
        conditions.sql()
    );
    let values =
        std::iter::once(&rows as &dyn ToSql).chain(conditions.values.iter().map(AsRef::as_ref));
    connection
        .prepare_cached(&sql)?
        .query_map(params_from_iter(values), |row| row.get(0))?
        .collect()
}

/// In a heap, the best comes first.
struct Ahead(Scored);

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
