//! The best vectors of a search, or the best of each path.

use super::slots::ScoredSlot;
use crate::top_k::{Scored as _, TopGroups, TopK};

/// A vector that can be among the nearest.
#[derive(Debug, Clone, Copy)]
pub(super) struct NearSlot {
    pub slot: usize,
    /// The number of its path; 0 if vectors are not grouped.
    pub path: u32,
    /// The upper bound of its similarity.
    pub highest: f32,
    /// The upper bound that is compared with other vectors of its path. At the first look by sign bits it
    /// is higher, since it has to be nearly certain: a path has few vectors to make up for a missed one.
    pub widest: f32,
}

/// The `limit` best slots that were offered, or the best slot of each of the `limit` best paths.
pub(super) enum BestSlots {
    OfAll(TopK<ScoredSlot>),
    OfPaths(TopGroups<ScoredSlot>),
}

impl BestSlots {
    pub fn new(limit: usize, by_path: bool) -> Self {
        if by_path {
            Self::OfPaths(TopGroups::new(limit))
        } else {
            Self::OfAll(TopK::new(limit))
        }
    }

    /// The similarity below which nothing is among the best.
    pub fn threshold(&self) -> f32 {
        match self {
            Self::OfAll(best) => best.threshold(),
            Self::OfPaths(best) => best.threshold(),
        }
    }

    /// The similarity below which no vector of a path is its best.
    pub fn of_path(&self, path: u32) -> f32 {
        match self {
            Self::OfAll(_) => ScoredSlot::LOWEST,
            Self::OfPaths(best) => best.best(path).map_or(ScoredSlot::LOWEST, |best| best.1),
        }
    }

    /// Whether a candidate can be among the best by its bounds.
    pub fn can_be_best(&self, candidate: &NearSlot) -> bool {
        candidate.highest >= self.threshold() && candidate.widest >= self.of_path(candidate.path)
    }

    pub fn offer(&mut self, path: u32, scored: ScoredSlot) {
        match self {
            Self::OfAll(best) => best.offer(scored),
            Self::OfPaths(best) => best.offer(path, scored),
        }
    }

    /// Drop what cannot be among the best, and raise the threshold.
    pub fn cut(&mut self) {
        match self {
            Self::OfAll(best) => best.cut(),
            Self::OfPaths(best) => best.cut(),
        }
    }
}

/// Of vectors with the numbers of their paths the `limit` best and all equals of the last, or by path the
/// best of each of the `limit` best paths with all their equals.
pub(super) fn select(
    mut scored: Vec<(u32, ScoredSlot)>,
    limit: usize,
    by_path: bool,
) -> Vec<ScoredSlot> {
    let mut best = BestSlots::new(limit, by_path);
    for (path, scored) in &scored {
        best.offer(*path, *scored);
    }
    best.cut();
    scored.retain(|(path, (_, similarity))| {
        *similarity >= best.threshold() && *similarity >= best.of_path(*path)
    });
    scored.into_iter().map(|(_, scored)| scored).collect()
}
