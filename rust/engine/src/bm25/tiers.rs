//! The parts of a snapshot to merge, and the time to merge them.
//!
//! Each part should have several times the chunks of all smaller ones: then a chunk is merged
//! seldom, and a search has few parts to look into. Quick merges are done by the search that adds a
//! part, the rest in the background ([`super::merging`]). Meanwhile at most [`MAX_PARTS`] parts
//! wait while others are merged.

use super::load_error::LoadError;
use super::segment_view::SegmentView;

/// A part is merged with smaller ones unless it has more than this number of times their chunks.
const GROWTH: usize = 4;
/// A search merges parts of this number of chunks together.
const INLINE_CHUNKS: usize = 64;
/// A snapshot has at most this number of parts outside a merge. A search that adds another merges
/// the smallest until half remain. Usually the background is faster.
pub(super) const MAX_PARTS: usize = 16;

/// The parts that nobody merges, the largest first.
fn idle(parts: &[SegmentView]) -> Vec<&SegmentView> {
    let mut idle: Vec<&SegmentView> = parts.iter().filter(|part| !part.is_merging()).collect();
    idle.sort_by_key(|part| std::cmp::Reverse(part.rows));
    idle
}

/// The index from which on parts, the largest first, are to be merged: as many as have no more
/// than `most` chunks together.
fn tail(parts: &[&SegmentView], most: usize) -> usize {
    let mut from = parts.len();
    let (mut rows, mut chunks) = (0, 0);
    for (index, part) in parts.iter().enumerate().rev() {
        chunks += part.segment.len();
        if chunks > most {
            break;
        }
        if rows * GROWTH >= part.rows || part.is_sparse() {
            from = index;
        }
        rows += part.rows;
    }
    from
}

/// Whether anything is to be merged in the background.
pub(super) fn is_due(parts: &[SegmentView]) -> bool {
    let idle = idle(parts);
    tail(&idle, usize::MAX) < idle.len()
}

/// The parts that are to be merged in the background; none where all is as it should be.
pub(super) fn due(parts: &[SegmentView]) -> Vec<SegmentView> {
    let idle = idle(parts);
    let due = &idle[tail(&idle, usize::MAX)..];
    due.iter().map(|part| (*part).clone()).collect()
}

/// Merge what takes no time, and what must not wait.
pub(super) fn tidy(parts: Vec<SegmentView>) -> Result<Vec<SegmentView>, LoadError> {
    let idle = idle(&parts);
    let mut from = tail(&idle, INLINE_CHUNKS);
    if from + usize::from(from < idle.len()) > MAX_PARTS {
        from = MAX_PARTS / 2 - 1;
    }
    let tail = &idle[from..];
    if tail.is_empty() {
        return Ok(parts);
    }
    let tail: Vec<SegmentView> = tail.iter().map(|part| (*part).clone()).collect();
    let merged = SegmentView::merge(&tail)?;
    let is_merged = |part: &SegmentView| tail.iter().any(|merged| merged.is(part));
    let mut parts = parts;
    parts.retain(|part| !is_merged(part));
    if merged.rows > 0 {
        parts.push(merged);
    }
    Ok(parts)
}
