//! The paths that stand for all when the similarities of paths are summed up.

use std::sync::Arc;

use crate::chunks::Paths;

/// The slots of some paths, path after path, and where each ends.
#[derive(Debug, Clone, Default)]
pub(super) struct Members {
    pub slots: Vec<usize>,
    pub ends: Vec<usize>,
}

/// The members of a sample of paths, in the slots of the matrix that keeps it.
#[derive(Debug, Clone)]
pub(super) struct PathSample {
    pub paths: Arc<Paths>,
    pub members: Members,
}
