//! A segment in a snapshot.

use super::build;
use super::deleted::DeletedChunks;
use super::load_error::LoadError;
use super::segment::Segment;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, Ordering};

/// Chunks scored together: their scores fit into the first-level cache. Few in tests, so that small corpora have
/// several windows.
pub(super) const WINDOW: u32 = if cfg!(test) { 16 } else { 4096 };

/// A segment, and which of its chunks have another form in a later part, or none any more.
#[derive(Debug, Clone)]
pub(super) struct SegmentView {
    pub segment: Arc<Segment>,
    pub deleted: DeletedChunks,
    /// The least length of the chunks of each window.
    pub shortest: Arc<[u32]>,
    /// The numbers of live chunks and of their tokens.
    pub rows: usize,
    pub tokens: u64,
    /// Whether a thread in the background merges it into another; the same for all versions.
    merging: Arc<AtomicBool>,
}

impl SegmentView {
    pub fn new(segment: Segment) -> Self {
        let windows = segment.lengths().chunks(WINDOW as usize);
        let shortest = windows.map(|lengths| lengths.iter().copied().min().unwrap_or_default());
        Self {
            shortest: shortest.collect(),
            deleted: DeletedChunks::default(),
            rows: segment.len(),
            tokens: segment.lengths().iter().copied().map(u64::from).sum(),
            segment: Arc::new(segment),
            merging: Arc::default(),
        }
    }

    /// Merge several parts into one, without deleted chunks.
    pub fn merge(parts: &[Self]) -> Result<Self, LoadError> {
        let segments: Vec<&Segment> = parts.iter().map(|part| &*part.segment).collect();
        let merged = build::merge(&segments, |part, chunk| parts[part].deleted.contains(chunk))?;
        Ok(Self::new(merged))
    }

    /// Whether both are of one segment.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.segment, &other.segment)
    }

    /// A row has another form elsewhere from now on, or none any more.
    pub fn delete_row(&mut self, row: i64) {
        if let Some(chunk) = self.segment.chunk(row) {
            self.delete(chunk);
        }
    }

    /// [`Self::delete_row`] for rows that ascend.
    pub fn delete_rows(&mut self, rows: impl Iterator<Item = i64>) {
        let segment = Arc::clone(&self.segment);
        for chunk in segment.chunks_of(rows) {
            self.delete(chunk);
        }
    }

    fn delete(&mut self, chunk: u32) {
        if self.deleted.insert(chunk) {
            self.rows -= 1;
            self.tokens -= u64::from(self.segment.lengths()[chunk as usize]);
        }
    }

    /// Whether so much is deleted that rebuilding it pays.
    pub fn is_sparse(&self) -> bool {
        self.rows * 2 < self.segment.len()
    }

    /// Whether a thread in the background merges it into another.
    pub fn is_merging(&self) -> bool {
        self.merging.load(Ordering::Relaxed)
    }

    /// Say whether one does.
    pub fn set_merging(&self, merging: bool) {
        self.merging.store(merging, Ordering::Relaxed);
    }

    /// Return the bytes of memory in use.
    pub fn bytes(&self) -> usize {
        self.segment.bytes() + self.deleted.bytes()
    }
}
