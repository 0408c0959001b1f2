//! The paths that stand for all when it is measured how similarities are spread.

use std::ops::Range;
use std::sync::Arc;

use crate::chunks::Paths;

/// The slots of some paths, path after path, and where each ends.
#[derive(Debug, Clone, Default)]
pub(super) struct Members {
    pub slots: Vec<usize>,
    ends: Vec<usize>,
}

impl Members {
    pub fn of(slots: impl Iterator<Item = Vec<usize>>) -> Self {
        let mut members = Self::default();
        for of_path in slots {
            members.slots.extend(of_path);
            members.ends.push(members.slots.len());
        }
        members
    }

    /// Where the slots of each path are.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| *start..*end)
    }
}

/// The members of a sample of paths, in the slots of the matrix that keeps it.
#[derive(Debug, Clone)]
pub(super) struct PathSample {
    pub paths: Arc<Paths>,
    pub members: Members,
}
