//! The fields that filters test, in memory as columns: for each distinct value the rows that have it.
//! A column is made for the first filter that needs it, and follows every change from then on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rusqlite::Connection;

use self::column::Column;
use self::column_id::ColumnId;
use self::read::{ColumnReading, MAX_BYTES};
use super::filters::Condition;
use super::metadata_index::declared;
use super::row_set::RowSet;
use crate::interrupt::CancelTicker;
use crate::storage::cache::RowVersion;
use crate::storage::generations::{self, RowRanges};
use crate::sync::atomic::{AtomicU64, Ordering};

mod column;
mod column_id;
mod evaluate;
mod marks;
mod read;
mod segment;
mod value_key;

/// The most columns that are kept: about as many as a filter may have conditions. With fewer, a filter of
/// more keys would read all its columns each time. Each change of a row is applied to all columns.
const MAX_COLUMNS: usize = if cfg!(test) { 6 } else { 1024 };

/// The columns of one generation of an index.
#[derive(Debug, Clone, Default)]
pub(super) struct ColumnsAt {
    generation: i64,
    /// Every row of the index. None before the first filter.
    rows: Option<Arc<RowSet>>,
    columns: BTreeMap<ColumnId, CachedColumn>,
}

#[derive(Debug, Clone)]
struct CachedColumn {
    /// None if the column did not fit into [`MAX_BYTES`].
    column: Option<Arc<Column>>,
    /// When it was used last, in uses of all columns of the handle. Versions share it.
    used: Arc<AtomicU64>,
}

/// The columns that a condition needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ColumnNeeds(BTreeSet<ColumnId>);

impl ColumnNeeds {
    pub fn of(condition: &Condition) -> Self {
        Self(ColumnId::of_condition(condition))
    }

    /// Whether all values are in the index of declared keys.
    pub fn are_declared(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let keys = declared(connection)?;
        let is_declared = |id: &ColumnId| keys.iter().any(|key| id.is_of(key));
        Ok(self.0.iter().all(is_declared))
    }
}

impl RowVersion for ColumnsAt {
    /// Counts the uses of columns.
    type Source = AtomicU64;
    const NAME: &'static str = "columns of filters";

    fn generation(&self) -> i64 {
        self.generation
    }

    fn rows(&self) -> usize {
        self.rows.as_ref().map_or(0, |rows| rows.len())
    }

    /// No column: each is read for the first filter that needs it.
    fn load(_: &AtomicU64, connection: &Connection) -> rusqlite::Result<Self> {
        let generation = generations::generation(connection)?;
        Ok(Self {
            generation,
            ..Self::default()
        })
    }

    fn apply_changes(
        self: &Arc<Self>,
        _: &AtomicU64,
        connection: &Connection,
        generation: i64,
        changed: &RowRanges,
    ) -> rusqlite::Result<Option<Self>> {
        let mut next = Self {
            generation,
            ..(**self).clone()
        };
        let Some(rows) = &mut next.rows else {
            return Ok(Some(next));
        };
        let reading = ColumnReading::some(connection, self.columns.keys(), changed.iter())?;
        let (existing, segments) = reading.finish()?;
        let changed: Arc<RowSet> = Arc::new(changed.iter().collect());
        let rows = Arc::make_mut(rows);
        rows.subtract(&changed);
        rows.union(&existing);
        let mut pace = CancelTicker::default();
        for (id, segment) in segments {
            pace.read(changed.len())?;
            if let Some(entry) = next.columns.get_mut(id)
                && let Some(column) = &entry.column
            {
                entry.column = segment.map(|segment| Arc::new(column.changed(segment, &changed)));
            }
        }
        next.evict();
        Ok(Some(next))
    }
}

impl ColumnsAt {
    /// Whether no needed column must be read.
    pub fn has(&self, needs: &ColumnNeeds) -> bool {
        self.rows.is_some() && needs.0.iter().all(|id| self.columns.contains_key(id))
    }

    /// Whether the column of paths need not be read.
    pub fn has_paths(&self) -> bool {
        self.columns.contains_key(&ColumnId::paths())
    }

    /// Every row of the index; none before the first filter.
    fn all_rows(&self) -> RowSet {
        self.rows.as_deref().cloned().unwrap_or_default()
    }

    /// Note that these columns are used.
    pub fn touch(&self, needs: &ColumnNeeds, uses: &AtomicU64) {
        let now = uses.fetch_add(1, Ordering::Relaxed);
        for id in &needs.0 {
            if let Some(entry) = self.columns.get(id) {
                entry.used.store(now, Ordering::Relaxed);
            }
        }
    }

    /// Return the columns with all needed ones, in the state that `connection` sees. It must be of the same
    /// generation.
    pub fn with(&self, connection: &Connection, needs: &ColumnNeeds) -> rusqlite::Result<Self> {
        let missing = needs.0.iter().filter(|id| !self.columns.contains_key(*id));
        let (rows, segments) = ColumnReading::all(connection, missing)?.finish()?;
        let mut with = self.clone();
        with.rows = Some(Arc::new(rows));
        for (id, segment) in segments {
            let entry = CachedColumn {
                column: segment.map(|segment| Arc::new(Column::new(segment))),
                used: Arc::default(),
            };
            with.columns.insert(id.clone(), entry);
        }
        Ok(with)
    }

    /// Return the columns with those of another version of the same generation, within the limits. None if
    /// the generations differ.
    pub fn joined(&self, other: &Self) -> Option<Self> {
        if self.generation != other.generation {
            return None;
        }
        let mut joined = self.clone();
        joined.rows.clone_from(&other.rows);
        for (id, entry) in &other.columns {
            let known = joined.columns.entry(id.clone());
            known.or_insert_with(|| entry.clone());
        }
        joined.evict();
        Some(joined)
    }

    /// The memory of the columns in bytes, by estimate.
    pub fn bytes(&self) -> usize {
        let rows = self.rows.as_ref().map_or(0, |rows| rows.bytes());
        rows + self
            .columns
            .values()
            .map(CachedColumn::bytes)
            .sum::<usize>()
    }

    /// Drop the columns that were used least recently until all are within the limits.
    fn evict(&mut self) {
        while self.columns.len() > MAX_COLUMNS || self.bytes() > MAX_BYTES {
            let used = |entry: &CachedColumn| entry.used.load(Ordering::Relaxed);
            let oldest = self.columns.iter().min_by_key(|(_, entry)| used(entry));
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else {
                return;
            };
            self.columns.remove(&oldest);
        }
    }
}

impl CachedColumn {
    fn bytes(&self) -> usize {
        self.column.as_ref().map_or(0, |column| column.bytes())
    }
}
