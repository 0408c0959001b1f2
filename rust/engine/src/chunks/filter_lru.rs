//! The rows that passed the filters used last, within a limit of memory.

use std::sync::Arc;

use hashlink::LruCache;

use super::row_set::RowSet;

/// The most memory that the rows of all filters take.
const MAX_BYTES: usize = 16 << 20;
/// The most filters whose rows are kept.
const MAX_FILTERS: usize = 1024;
/// The rows of a filter with more bytes of JSON than this are not kept.
const MAX_FILTER_BYTES: usize = 1 << 16;

/// Rows by the filter as JSON; the filter used last at the end.
#[derive(Default)]
pub(super) struct FilterLru {
    rows: Option<LruCache<String, CachedFilter>>,
    bytes: usize,
}

/// The rows that passed a filter.
#[derive(Clone)]
pub(super) struct CachedFilter {
    pub generation: i64,
    pub rows: Arc<RowSet>,
}

impl FilterLru {
    pub fn get(&mut self, key: &str) -> Option<CachedFilter> {
        self.rows.as_mut()?.get(key).cloned()
    }

    /// Keep the rows of a filter, unless newer ones are kept, and drop those used least recently.
    pub fn put(&mut self, key: &str, cached: CachedFilter) {
        if key.len() > MAX_FILTER_BYTES {
            return;
        }
        let rows = self.rows.get_or_insert_with(LruCache::new_unbounded);
        let bytes = |key: &str, cached: &CachedFilter| key.len() + cached.rows.bytes();
        if rows
            .peek(key)
            .is_some_and(|before| before.generation > cached.generation)
        {
            return;
        }
        self.bytes += bytes(key, &cached);
        if let Some(before) = rows.insert(key.to_owned(), cached) {
            self.bytes -= bytes(key, &before);
        }
        while rows.len() > MAX_FILTERS || self.bytes > MAX_BYTES {
            let Some((key, cached)) = rows.remove_lru() else {
                return;
            };
            self.bytes -= bytes(&key, &cached);
        }
    }

    /// The memory of the rows in bytes, by estimate.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
