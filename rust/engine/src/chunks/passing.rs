//! Which rows pass a filter, kept in memory for the next search with the same one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashlink::LruCache;
use rusqlite::Connection;

use super::columns::{Answer, Columns};
use super::filters::{Filters, to_json};
use super::metadata_index::declared;
use super::row_set::RowSet;
use crate::storage::generations;

/// The most memory that the rows of all filters take.
const MOST_BYTES: usize = 16 << 20;
/// How many filters are kept at most.
const MOST_FILTERS: usize = 1024;
/// A filter of more bytes than this is not kept.
const LARGEST_FILTER: usize = 1 << 16;
/// After how many changed rows the columns are read anew, since each new filter looks at these rows.
const CHANGED_ROWS: usize = 512;

/// What a handle knows of filters.
#[derive(Default)]
pub(crate) struct Passing {
    kept: Mutex<Kept>,
    columns: Mutex<Option<Current>>,
}

/// The columns, and the generation that they are of.
#[derive(Clone)]
struct Current {
    generation: i64,
    columns: Arc<Columns>,
}

#[derive(Default)]
struct Kept {
    /// By the filter as JSON; the one that was used last at the end.
    rows: Option<LruCache<String, Known>>,
    bytes: usize,
}

/// What is known of one filter.
#[derive(Clone, Default)]
struct Known {
    generation: i64,
    /// None where it was asked for once, and looking at all rows was not worth it.
    rows: Option<Arc<RowSet>>,
}

/// One filter in the state that a connection sees.
struct Asked<'a> {
    connection: &'a Connection,
    generation: i64,
    filters: &'a Filters,
    key: String,
}

impl Passing {
    /// The rows that pass.
    pub fn rows(
        &self,
        connection: &Connection,
        generation: i64,
        filters: &Filters,
    ) -> rusqlite::Result<Arc<RowSet>> {
        let asked = Asked::of(connection, generation, filters)?;
        if let Some(rows) = self.followed(&asked)? {
            return Ok(rows);
        }
        let answer = self.answer(&asked)?;
        self.found(&asked, answer)
    }

    /// The rows that pass, where they are known, quickly found, or asked for a second time. A search that
    /// need only know of a few rows does without the others the first time.
    pub fn rows_at_hand(
        &self,
        connection: &Connection,
        generation: i64,
        filters: &Filters,
    ) -> rusqlite::Result<Option<Arc<RowSet>>> {
        let asked = Asked::of(connection, generation, filters)?;
        if let Some(rows) = self.followed(&asked)? {
            return Ok(Some(rows));
        }
        let answer = self.answer(&asked)?;
        let told = answer.as_ref().is_some_and(|answer| answer.exact);
        if !told && self.lock().known(&asked.key).is_none() {
            self.keep(&asked, None);
            return Ok(None);
        }
        self.found(&asked, answer).map(Some)
    }

    /// About how many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        let columns = lock(&self.columns)
            .as_ref()
            .map_or(0, |known| known.columns.bytes());
        columns + self.lock().bytes
    }

    /// Let go of everything.
    pub fn clear(&self) {
        *self.lock() = Kept::default();
        *lock(&self.columns) = None;
    }

    /// The rows that were kept, with what changed since.
    fn followed(&self, asked: &Asked<'_>) -> rusqlite::Result<Option<Arc<RowSet>>> {
        let known = self.lock().known(&asked.key);
        let Some((generation, rows)) = known.and_then(|k| Some((k.generation, k.rows?))) else {
            return Ok(None);
        };
        if generation == asked.generation {
            return Ok(Some(rows));
        }
        let Some(changed) =
            asked.changed_since(generation, generations::max_incremental_rows(0))?
        else {
            return Ok(None);
        };
        let rows = Arc::new(asked.with_changed((*rows).clone(), changed)?);
        self.keep(asked, Some(&rows));
        Ok(Some(rows))
    }

    /// What the columns tell; None where they tell nothing.
    fn answer(&self, asked: &Asked<'_>) -> rusqlite::Result<Option<Answer>> {
        let conditions: Vec<_> = asked.filters.compiled().collect();
        if conditions.is_empty() || declared(asked.connection)?.is_empty() {
            return Ok(None);
        }
        let (columns, changed) = self.columns(asked)?;
        let answers: Vec<Option<Answer>> = conditions
            .iter()
            .map(|condition| columns.answer(condition))
            .collect();
        let exact = !asked.filters.has_other_conditions()
            && answers
                .iter()
                .all(|answer| answer.as_ref().is_some_and(|a| a.exact));
        let mut answers = answers.into_iter().flatten();
        let Some(mut answer) = answers.next() else {
            return Ok(None);
        };
        answers.for_each(|other| answer.rows.intersect(&other.rows));
        answer.exact = exact;
        answer.rows = asked.with_changed(answer.rows, changed)?;
        Ok(Some(answer))
    }

    /// The columns, and the few rows that have changed since they were read.
    fn columns(&self, asked: &Asked<'_>) -> rusqlite::Result<(Arc<Columns>, Vec<i64>)> {
        let known = lock(&self.columns).clone();
        if let Some(known) = known
            && known.columns.keys() == declared(asked.connection)?
            && let Some(changed) = asked.changed_since(known.generation, CHANGED_ROWS)?
        {
            return Ok((known.columns, changed));
        }
        let loaded = Current {
            generation: asked.generation,
            columns: Arc::new(Columns::load(asked.connection)?),
        };
        let mut columns = lock(&self.columns);
        let newest = columns.as_ref().map(|known| known.generation);
        if newest <= Some(loaded.generation) {
            *columns = Some(loaded.clone());
        }
        Ok((loaded.columns, Vec::new()))
    }

    /// All rows that pass, by what the columns leave.
    fn found(&self, asked: &Asked<'_>, answer: Option<Answer>) -> rusqlite::Result<Arc<RowSet>> {
        let rows = match answer {
            Some(answer) if answer.exact => answer.rows,
            Some(answer) => {
                let left = asked
                    .filters
                    .rows_among(asked.connection, answer.rows.iter())?;
                left.into_iter().collect()
            }
            None => asked.filters.rows(asked.connection)?.into_iter().collect(),
        };
        let rows = Arc::new(rows);
        self.keep(asked, Some(&rows));
        Ok(rows)
    }

    fn keep(&self, asked: &Asked<'_>, rows: Option<&Arc<RowSet>>) {
        let known = Known {
            generation: asked.generation,
            rows: rows.cloned(),
        };
        if asked.key.len() <= LARGEST_FILTER {
            self.lock().put(&asked.key, known);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        lock(&self.kept)
    }
}

impl<'a> Asked<'a> {
    fn of(
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

    /// The rows that changed after a generation; None when they are too many, or the generation
    /// is a later one.
    fn changed_since(&self, known: i64, most: usize) -> rusqlite::Result<Option<Vec<i64>>> {
        if known == self.generation {
            return Ok(Some(Vec::new()));
        }
        let changed = generations::since(self.connection, known, most)?;
        Ok(changed.map(|rows| rows.iter().collect()))
    }

    /// The rows after some of them were looked at again.
    fn with_changed(&self, mut rows: RowSet, changed: Vec<i64>) -> rusqlite::Result<RowSet> {
        if changed.is_empty() {
            return Ok(rows);
        }
        for row in &changed {
            rows.remove(*row);
        }
        let passing = self.filters.rows_among(self.connection, changed)?;
        for row in passing {
            rows.insert(row);
        }
        Ok(rows)
    }
}

impl Kept {
    fn known(&mut self, key: &str) -> Option<Known> {
        self.rows.as_mut()?.get(key).cloned()
    }

    /// Keep what is known of a filter, unless something newer is, and drop what was used least recently.
    fn put(&mut self, key: &str, known: Known) {
        let rows = self.rows.get_or_insert_with(LruCache::new_unbounded);
        let bytes = |key: &str, known: &Known| {
            key.len() + known.rows.as_ref().map_or(0, |rows| rows.bytes())
        };
        if rows
            .peek(key)
            .is_some_and(|before| before.generation > known.generation)
        {
            return;
        }
        self.bytes += bytes(key, &known);
        if let Some(before) = rows.insert(key.to_owned(), known) {
            self.bytes -= bytes(key, &before);
        }
        while rows.len() > MOST_FILTERS || self.bytes > MOST_BYTES {
            let Some((key, known)) = rows.remove_lru() else {
                return;
            };
            self.bytes -= bytes(&key, &known);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
