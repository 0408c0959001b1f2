//! The sample of paths from which the statistics of similarities are computed.

use std::ops::Range;
use std::sync::Arc;

use super::slots::Slots;
use super::spread::SAMPLE;
use crate::chunks::Paths;

/// The slots of some paths, path after path, and where each ends.
#[derive(Debug, Clone, Default)]
pub(super) struct Members {
    pub slots: Vec<usize>,
    ends: Vec<usize>,
}

impl Members {
    pub fn of(slots: impl Iterator<Item = impl IntoIterator<Item = usize>>) -> Self {
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
    /// The members of the first [`SAMPLE`] paths, in the order of their first slots.
    pub first: Members,
    /// The members of as many more paths, for searches with a filter.
    more: Members,
}

impl PathSample {
    /// A sample of the members of the first `2 * SAMPLE` paths.
    pub fn new(paths: Arc<Paths>, members: &Members) -> Self {
        let mut slots = members.ranges().map(|range| &members.slots[range]);
        let mut first: Vec<&[usize]> = slots.by_ref().take(SAMPLE).collect();
        // A comparison reads codes faster in the order of memory.
        first.sort_unstable_by_key(|of_path| of_path.first());
        let first = Members::of(first.into_iter().map(|of_path| of_path.iter().copied()));
        let more = Members::of(slots.map(|of_path| of_path.iter().copied()));
        Self { paths, first, more }
    }

    /// The members of the first [`SAMPLE`] paths that have some among `slots`; None if the sample has too
    /// few paths to tell.
    pub fn filtered(&self, slots: Slots<'_>) -> Option<Members> {
        let of_paths = [&self.first, &self.more].into_iter().flat_map(|members| {
            let slots_of = |range: Range<usize>| members.slots[range].iter().copied();
            members.ranges().map(slots_of)
        });
        let passing =
            of_paths.map(|of_path| of_path.filter(|slot| slots.contains(*slot)).collect());
        let passing = passing.filter(|of_path: &Vec<usize>| !of_path.is_empty());
        let found = Members::of(passing.take(SAMPLE));
        let is_enough = found.ends.len() == SAMPLE || self.more.ends.len() < SAMPLE;
        is_enough.then_some(found)
    }
}
