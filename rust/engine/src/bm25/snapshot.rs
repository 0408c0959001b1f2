//! The postings of all chunks of one generation of an index.

use std::sync::Arc;

use rusqlite::Connection;

use super::backend_status::unreadable;
use super::build;
use super::counts::Counts;
use super::load;
use super::load_error::{LoadError, is_interrupt};
use super::segment::Segment;
use super::segment_view::SegmentView;
use super::tiers;
use crate::chunks::FullText;
use crate::storage::cache::RowVersion;
use crate::storage::generations::{self, RowRanges};

/// Everything that ranking needs of one generation. Generations share what did not change.
#[derive(Debug)]
pub(crate) struct Snapshot {
    generation: i64,
    parts: Vec<SegmentView>,
    /// The reason that the snapshot is empty and FTS5 must rank; None if it is complete.
    unfit: Option<String>,
    /// Whether there is something to merge in the background.
    is_merge_due: bool,
}

/// Hooks of the tests for loading snapshots.
#[derive(Default)]
pub(crate) struct LoadHooks {
    /// Called when a load begins, for tests.
    #[cfg(test)]
    pub on_load: std::sync::Mutex<Option<Arc<dyn Fn() + Send + Sync>>>,
}

impl LoadHooks {
    #[cfg(test)]
    fn note_load(&self) {
        let note = self.on_load.lock().unwrap().clone();
        if let Some(note) = note {
            note();
        }
    }

    #[cfg(not(test))]
    #[allow(clippy::unused_self, reason = "tests look at it")]
    fn note_load(&self) {}
}

impl RowVersion for Snapshot {
    type Source = LoadHooks;

    const NAME: &'static str = "ranking";

    fn generation(&self) -> i64 {
        self.generation
    }

    fn rows(&self) -> usize {
        self.parts.iter().map(|part| part.rows).sum()
    }

    fn load(source: &LoadHooks, connection: &Connection) -> rusqlite::Result<Self> {
        let generation = generations::generation(connection)?;
        source.note_load();
        match load::from_stored(connection) {
            Ok(segment) => Ok(Self::new(generation, segment)),
            Err(LoadError::Sqlite(error)) if is_interrupt(&error) => Err(error),
            // The failure is cached, so that later searches of this generation do not load again.
            Err(LoadError::NotLoadable(unfit)) => {
                Ok(Self::unfit(generation, unfit.reason().to_owned()))
            }
            Err(LoadError::Sqlite(error)) => Ok(Self::unfit(generation, unreadable(&error))),
        }
    }

    fn apply_changes(
        self: &Arc<Self>,
        _source: &LoadHooks,
        connection: &Connection,
        generation: i64,
        changed: &RowRanges,
    ) -> rusqlite::Result<Option<Self>> {
        if self.unfit.is_some() {
            return Ok(None);
        }
        let rows = changed.iter();
        let tokenizer = FullText::read(connection)?.tokenizer;
        let applied = build::from_texts(connection, tokenizer, rows)
            .and_then(|segment| self.after(generation, changed, segment));
        match applied {
            Ok(snapshot) => Ok(Some(snapshot)),
            Err(LoadError::Sqlite(error)) => Err(error),
            Err(LoadError::NotLoadable(_)) => Ok(None),
        }
    }
}

impl Snapshot {
    /// A snapshot of one segment.
    fn new(generation: i64, segment: Segment) -> Self {
        Self::of(generation, vec![SegmentView::new(segment)])
    }

    fn of(generation: i64, parts: Vec<SegmentView>) -> Self {
        Self {
            generation,
            unfit: None,
            is_merge_due: tiers::is_due(&parts),
            parts,
        }
    }

    /// Return an empty snapshot with the reason of its failure.
    fn unfit(generation: i64, why: String) -> Self {
        Self {
            generation,
            parts: Vec::new(),
            unfit: Some(why),
            is_merge_due: false,
        }
    }

    /// The reason that the snapshot cannot rank; None if it can.
    pub(super) fn why_unfit(&self) -> Option<&str> {
        self.unfit.as_deref()
    }

    /// Whether there is something to merge in the background.
    pub(super) fn is_merge_due(&self) -> bool {
        self.is_merge_due
    }

    /// A later generation, in which the changed rows have the texts in `segment`, or are deleted.
    fn after(
        &self,
        generation: i64,
        changed: &RowRanges,
        segment: Segment,
    ) -> Result<Self, LoadError> {
        let mut parts = self.parts.clone();
        for part in &mut parts {
            part.delete_rows(changed.iter());
        }
        parts.push(SegmentView::new(segment));
        // A running merge finds its part by identity after this change.
        parts.retain(|part| part.rows > 0 || part.is_merging());
        Ok(Self::of(generation, tiers::tidy(parts)?))
    }

    /// Return a snapshot of this generation with earlier parts replaced by their merged part; None
    /// if some of them are gone.
    pub(super) fn with_merged(
        &self,
        parts: &[SegmentView],
        mut merged: SegmentView,
    ) -> Option<Self> {
        for part in parts {
            let now = self.parts.iter().find(|now| now.is(part))?;
            for chunk in now.deleted.since(&part.deleted) {
                merged.delete_row(part.segment.row(chunk));
            }
        }
        let is_merged = |now: &SegmentView| parts.iter().any(|part| part.is(now));
        let mut kept: Vec<SegmentView> = self.parts.clone();
        kept.retain(|now| !is_merged(now));
        if merged.rows > 0 {
            kept.push(merged);
        }
        Some(Self::of(self.generation, kept))
    }

    pub(super) fn parts(&self) -> &[SegmentView] {
        &self.parts
    }

    /// Return the numbers of chunks and of their tokens.
    pub(super) fn counts(&self) -> Counts {
        Counts {
            rows: self.parts.iter().map(|part| part.rows as u64).sum(),
            tokens: self.parts.iter().map(|part| part.tokens).sum(),
            document_frequencies: Vec::new(),
        }
    }

    /// Return the bytes of memory in use.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(SegmentView::bytes).sum()
    }
}
