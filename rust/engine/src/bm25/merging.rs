//! Merging segments in the background, while searches use the unmerged ones.

use super::load_error::LoadError;
use super::segment_view::SegmentView;
use super::snapshot::Snapshot;
use super::tiers;
use crate::storage::Background;
use crate::storage::cache::Cache;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, Ordering};

/// Parts that are merged into one. Nobody else merges them meanwhile.
pub(super) struct Merge {
    /// The parts when the merge began.
    parts: Vec<SegmentView>,
}

impl Merge {
    /// Take the parts to merge; None if no merge is due.
    pub fn begin(snapshots: &Cache<Snapshot>) -> Option<Self> {
        let mut begun = None;
        snapshots.replace_newest(|newest| {
            let parts = tiers::due(newest.parts());
            if !parts.is_empty() {
                for part in &parts {
                    part.set_merging(true);
                }
                begun = Some(Self { parts });
            }
            None
        });
        begun
    }

    /// Merge the parts, as they were when the merge began, into one.
    pub fn run(&self) -> Result<SegmentView, LoadError> {
        SegmentView::merge(&self.parts)
    }

    /// Replace the parts by the merged part, unless they are gone.
    pub fn publish(self, snapshots: &Cache<Snapshot>, merged: SegmentView) {
        snapshots.replace_newest(|newest| newest.with_merged(&self.parts, merged));
    }

    /// Leave the parts as they are for good, since together they are more than a segment can count.
    fn give_up(mut self) {
        self.parts.clear();
    }
}

impl Drop for Merge {
    fn drop(&mut self) {
        for part in &self.parts {
            part.set_merging(false);
        }
    }
}

/// Merge until nothing is left to merge, in the background, unless a thread does.
pub(super) fn start(
    snapshots: &Arc<Cache<Snapshot>>,
    running: &Arc<AtomicBool>,
    background: &Background,
) {
    if running.load(Ordering::Relaxed) || running.swap(true, Ordering::AcqRel) {
        return;
    }
    let (snapshots, running) = (Arc::clone(snapshots), Running(Arc::clone(running)));
    background.compute("merging", move || {
        let _running = running;
        while let Some(merge) = Merge::begin(&snapshots) {
            match merge.run() {
                Ok(merged) => merge.publish(&snapshots, merged),
                Err(LoadError::NotLoadable(_)) => merge.give_up(),
                // The handle closes or the process forks; a later search starts again.
                Err(LoadError::Sqlite(_)) => return,
            }
        }
    });
}

/// Lets the next thread merge when it is dropped, however this one ends.
struct Running(Arc<AtomicBool>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
