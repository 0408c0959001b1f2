//! The backend that ranks, memory or FTS5, and the reason: for `stats()` and the log.

use super::Ranking;
use super::estimate::{Estimate, size};
use crate::storage::{NoticeLevel, Notices};
use crate::sync::atomic::{AtomicU8, Ordering};
use crate::sync::{Mutex, MutexGuard, lock};

/// The last event that decided the backend of ranking.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum LoadOutcome {
    #[default]
    NoSearch,
    OneSearch,
    /// The index is being read.
    Loading,
    /// A snapshot answered.
    Loaded,
    /// The snapshot would exceed the limit of `auto`.
    TooLarge,
    /// No snapshot can be made, for this reason.
    NotLoadable(String),
}

/// The status of ranking in memory.
pub(super) struct BackendStatus {
    ranking: Ranking,
    known: Mutex<LoadState>,
    /// A bit for each kind of outcome that was reported, and one for each that is the last.
    reported: AtomicU8,
    last: AtomicU8,
}

#[derive(Default)]
struct LoadState {
    outcome: LoadOutcome,
    estimate: Option<Estimate>,
}

impl LoadOutcome {
    /// SQLite could not read the index.
    pub fn unreadable(error: &rusqlite::Error) -> Self {
        Self::NotLoadable(unreadable(error))
    }

    /// Return a bit for the kind; an equal outcome is not reported again.
    fn bit(&self) -> u8 {
        match self {
            Self::NoSearch => 1,
            Self::OneSearch => 2,
            Self::Loading => 4,
            Self::Loaded => 8,
            Self::TooLarge => 16,
            Self::NotLoadable(_) => 32,
        }
    }
}

/// The reason for an index that SQLite could not read.
pub(super) fn unreadable(error: &rusqlite::Error) -> String {
    format!("the index cannot be read: {error}")
}

impl BackendStatus {
    pub fn new(ranking: Ranking) -> Self {
        Self {
            ranking,
            known: Mutex::default(),
            reported: AtomicU8::new(0),
            last: AtomicU8::new(LoadOutcome::NoSearch.bit()),
        }
    }

    /// Note what an index takes.
    pub fn estimated(&self, estimate: Estimate) {
        self.known().estimate = Some(estimate);
    }

    /// Note what happened; what users should know is reported the first time.
    pub fn note(&self, outcome: LoadOutcome, bytes: impl FnOnce() -> usize, notices: &Notices) {
        let bit = outcome.bit();
        // Nearly always: nothing is locked for it.
        if self.last.load(Ordering::Relaxed) == bit {
            return;
        }
        let level = match &outcome {
            LoadOutcome::NotLoadable(_) => Some(NoticeLevel::Warning),
            LoadOutcome::Loaded | LoadOutcome::TooLarge if self.ranking == Ranking::Auto => {
                Some(NoticeLevel::Info)
            }
            _ => None,
        };
        self.last.store(bit, Ordering::Relaxed);
        self.known().outcome = outcome;
        if let Some(level) = level
            && self.reported.fetch_or(bit, Ordering::Relaxed) & bit == 0
        {
            notices.report(level, format!("BM25 is ranked by {}", self.text(bytes())));
        }
    }

    /// Return the backend and the reason, for a snapshot of this number of bytes.
    pub fn text(&self, bytes: usize) -> String {
        if self.ranking == Ranking::Fts5 {
            return "fts5: asked for".to_owned();
        }
        let known = self.known();
        let estimate = known.estimate.unwrap_or(Estimate {
            kept: 0,
            building: 0,
        });
        let building = size(estimate.building);
        let is_auto = self.ranking == Ranking::Auto;
        match &known.outcome {
            LoadOutcome::NoSearch => "fts5: no search yet".to_owned(),
            LoadOutcome::OneSearch => {
                "fts5: one search so far; memory takes over after the second".to_owned()
            }
            LoadOutcome::Loading if is_auto => format!(
                "fts5: memory is being filled, with {} of at most 1 GiB, {building} while it is built",
                size(estimate.kept)
            ),
            LoadOutcome::Loading => "fts5: memory is being filled".to_owned(),
            LoadOutcome::Loaded if is_auto => format!(
                "memory: {}, {building} while it is built, of at most 1 GiB",
                size(bytes as u64)
            ),
            LoadOutcome::Loaded => format!("memory: asked for; {}", size(bytes as u64)),
            LoadOutcome::TooLarge => format!(
                "fts5: building would take {building}, more than 1 GiB; use ranking=\"memory\""
            ),
            LoadOutcome::NotLoadable(why) => format!("fts5: {why}"),
        }
    }

    fn known(&self) -> MutexGuard<'_, LoadState> {
        lock(&self.known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_who_ranks_and_is_reported_once() {
        let (notices, reason) = (Notices::default(), BackendStatus::new(Ranking::Auto));
        reason.estimated(Estimate {
            kept: 80_000_000,
            building: 190_000_000,
        });
        let unfit = || LoadOutcome::NotLoadable("the index is damaged".to_owned());
        let outcomes = [
            (LoadOutcome::NoSearch, "fts5: no search yet"),
            (
                LoadOutcome::OneSearch,
                "fts5: one search so far; memory takes over after the second",
            ),
            (
                LoadOutcome::Loading,
                "fts5: memory is being filled, with 80 MB of at most 1 GiB, 190 MB while it is built",
            ),
            (
                LoadOutcome::Loaded,
                "memory: 81 MB, 190 MB while it is built, of at most 1 GiB",
            ),
            (
                LoadOutcome::TooLarge,
                "fts5: building would take 190 MB, more than 1 GiB; use ranking=\"memory\"",
            ),
            (unfit(), "fts5: the index is damaged"),
        ];
        for _ in 0..2 {
            for (outcome, expected) in &outcomes {
                reason.note(outcome.clone(), || 80_500_000, &notices);
                assert_eq!(reason.text(80_500_000), *expected);
            }
        }
        let taken = notices.take();
        let messages: Vec<(NoticeLevel, &str)> = taken
            .iter()
            .map(|notice| (notice.level, &*notice.message))
            .collect();
        let expected = outcomes[3..]
            .iter()
            .map(|(_, text)| format!("BM25 is ranked by {text}"));
        let expected: Vec<String> = expected.collect();
        assert_eq!(
            messages,
            [
                (NoticeLevel::Info, &*expected[0]),
                (NoticeLevel::Info, &*expected[1]),
                (NoticeLevel::Warning, &*expected[2]),
            ]
        );
    }

    #[test]
    fn who_asked_for_memory_is_told_of_failures_alone() {
        let (notices, reason) = (Notices::default(), BackendStatus::new(Ranking::Memory));
        reason.note(LoadOutcome::Loading, || 0, &notices);
        assert_eq!(reason.text(0), "fts5: memory is being filled");
        reason.note(LoadOutcome::Loaded, || 1, &notices);
        assert_eq!(reason.text(1_000_000), "memory: asked for; 1 MB");
        assert_eq!(notices.take(), []);
        let why = "the index is damaged".to_owned();
        reason.note(LoadOutcome::NotLoadable(why), || 0, &notices);
        assert_eq!(notices.take().len(), 1);
        assert_eq!(BackendStatus::new(Ranking::Fts5).text(0), "fts5: asked for");
    }
}
