//! The rows that pass a filter, from columns in memory or from the last search with the same filter.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use rusqlite::Connection;

use super::columns::{ColumnNeeds, ColumnsAt};
use super::filter_lru::{CachedFilter, FilterLru};
use super::filters::{Filters, to_json};
use super::row_set::RowSet;
use crate::storage::Background;
use crate::storage::cache::{Cache, RowVersion};
use crate::storage::generations::{max_incremental_rows, since};
use crate::sync::atomic::AtomicU64;
use crate::sync::{Arc, Mutex, lock};

/// The most rows that a filter by paths finds with the index on paths while no column of paths exists. It is
/// faster than reading the column if nearly all rows are in other paths.
const MAX_INDEXED_ROWS: usize = 1024;
/// The most combinations of fields that are remembered for [`FilterCache::rows_if_cheap`].
const MAX_REQUESTS: usize = 1024;

/// The filters of a handle.
pub(crate) struct FilterCache {
    columns: Cache<ColumnsAt>,
    rows: Mutex<FilterLru>,
    /// The hashes of what columns filters needed once, of which some are missing.
    requests: Mutex<BTreeSet<u64>>,
}

/// A filter in the state that a connection sees.
struct FilterQuery<'a> {
    connection: &'a Connection,
    generation: i64,
    filters: &'a Filters,
    key: String,
}

impl FilterCache {
    pub fn new(background: Background) -> Self {
        Self {
            columns: Cache::new(background, AtomicU64::new(1)),
            rows: Mutex::default(),
            requests: Mutex::default(),
        }
    }

    /// The rows that pass.
    pub fn rows(
        &self,
        connection: &Connection,
        generation: i64,
        filters: &Filters,
    ) -> rusqlite::Result<Arc<RowSet>> {
        let query = FilterQuery::new(connection, generation, filters)?;
        let rows = self.find(&query, |_| Ok(true))?;
        rows.ok_or(rusqlite::Error::QueryReturnedNoRows)
    }

    /// The rows that pass. None if columns must be read that are not of declared keys and that no filter
    /// needed before: a search that checks a few rows is faster without them.
    pub fn rows_if_cheap(
        &self,
        connection: &Connection,
        generation: i64,
        filters: &Filters,
    ) -> rusqlite::Result<Option<Arc<RowSet>>> {
        let query = FilterQuery::new(connection, generation, filters)?;
        self.find(&query, |needs| {
            Ok(needs.are_declared(connection)? || self.is_repeated(needs))
        })
    }

    /// The memory of columns and rows in bytes, by estimate.
    pub fn bytes(&self) -> usize {
        let columns = self.columns.newest();
        columns.map_or(0, |columns| columns.bytes()) + lock(&self.rows).bytes()
    }

    /// Drop everything.
    pub fn clear(&self) {
        self.columns.clear();
        *lock(&self.rows) = FilterLru::default();
        lock(&self.requests).clear();
    }

    /// The rows that pass. None if columns must be read and `may_read` is false for them.
    fn find(
        &self,
        query: &FilterQuery<'_>,
        may_read: impl FnOnce(&ColumnNeeds) -> rusqlite::Result<bool>,
    ) -> rusqlite::Result<Option<Arc<RowSet>>> {
        let cached = lock(&self.rows).get(&query.key);
        if let Some(cached) = &cached
            && cached.generation == query.generation
        {
            return Ok(Some(Arc::clone(&cached.rows)));
        }
        let condition = query.filters.condition();
        let needs = ColumnNeeds::of(&condition);
        let columns = self.columns(query)?;
        if !columns.has_paths()
            && let Some(rows) = query.rows_of_paths()?
        {
            return Ok(Some(self.put(query, rows)));
        }
        if !columns.has(&needs) && !may_read(&needs)? {
            return Ok(None);
        }
        let columns = self.with_needs(columns, query, &needs)?;
        let rows = match columns.rows_with(&condition)? {
            Some(rows) => rows,
            None => query.without_columns(cached, RowVersion::rows(&*columns))?,
        };
        Ok(Some(self.put(query, rows)))
    }

    fn columns(&self, query: &FilterQuery<'_>) -> rusqlite::Result<Arc<ColumnsAt>> {
        let columns = self
            .columns
            .current(query.connection, query.generation, false)?;
        // A cache that may not wait always has one.
        columns.ok_or(rusqlite::Error::QueryReturnedNoRows)
    }

    /// The columns and all that are needed, which other searches share from then on.
    fn with_needs(
        &self,
        columns: Arc<ColumnsAt>,
        query: &FilterQuery<'_>,
        needs: &ColumnNeeds,
    ) -> rusqlite::Result<Arc<ColumnsAt>> {
        let uses = self.columns.source();
        if columns.has(needs) {
            columns.touch(needs, uses);
            return Ok(columns);
        }
        let all = columns.with(query.connection, needs)?;
        all.touch(needs, uses);
        self.columns.replace_newest(|newest| newest.joined(&all));
        Ok(Arc::new(all))
    }

    fn put(&self, query: &FilterQuery<'_>, rows: RowSet) -> Arc<RowSet> {
        let rows = Arc::new(rows);
        let cached = CachedFilter {
            generation: query.generation,
            rows: Arc::clone(&rows),
        };
        lock(&self.rows).put(&query.key, cached);
        rows
    }

    /// Whether a filter needed the same columns before.
    fn is_repeated(&self, needs: &ColumnNeeds) -> bool {
        let mut hasher = DefaultHasher::new();
        needs.hash(&mut hasher);
        let mut requests = lock(&self.requests);
        if requests.len() >= MAX_REQUESTS {
            requests.clear();
        }
        !requests.insert(hasher.finish())
    }
}

impl<'a> FilterQuery<'a> {
    fn new(
        connection: &'a Connection,
        generation: i64,
        filters: &'a Filters,
    ) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            generation,
            filters,
            key: to_json(filters)?,
        })
    }

    /// The rows that pass, found with the index on paths. None if the filter names no path or the paths
    /// have many rows.
    fn rows_of_paths(&self) -> rusqlite::Result<Option<RowSet>> {
        let rows = self
            .filters
            .rows_of_paths(self.connection, MAX_INDEXED_ROWS)?;
        let passing = rows.map(|rows| self.filters.rows_among(self.connection, rows));
        Ok(passing.transpose()?.map(RowSet::from_iter))
    }

    /// The rows that pass, read from the file: all rows, or those that changed since `cached`.
    fn without_columns(
        &self,
        cached: Option<CachedFilter>,
        rows: usize,
    ) -> rusqlite::Result<RowSet> {
        if let Some(cached) = cached
            && let Some(changed) = since(
                self.connection,
                cached.generation,
                max_incremental_rows(rows),
            )?
        {
            let mut rows = (*cached.rows).clone();
            rows.subtract(&changed.iter().collect());
            let passing = self.filters.rows_among(self.connection, changed.iter())?;
            rows.extend(passing);
            return Ok(rows);
        }
        Ok(self.filters.rows(self.connection)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests;
