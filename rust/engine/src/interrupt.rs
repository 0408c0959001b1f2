//! Stopping a call that takes long.
//!
//! A call asks its caller every now and then whether to go on. One that stops fails with
//! [`crate::ErrorCode::Interrupted`], and a write leaves nothing behind.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::rc::Rc;

use rusqlite::ffi;

use crate::error::{Error, ErrorCode, Result};
use crate::sync::thread_local;

type Check = Rc<dyn Fn() -> bool>;

thread_local! {
    /// The cancellation check of the call running on this thread.
    static CHECK: RefCell<Option<Check>> = const { RefCell::new(None) };
}

/// Do `work`, unless `is_unwanted`, asked every now and then, says that nobody waits for it.
pub fn with_cancellation<T>(
    is_unwanted: impl Fn() -> bool + 'static,
    work: impl FnOnce() -> T,
) -> T {
    let _before = Before(CHECK.with(|check| check.replace(Some(Rc::new(is_unwanted)))));
    work()
}

/// Puts back who was asked before.
struct Before(Option<Check>);

impl Drop for Before {
    fn drop(&mut self) {
        CHECK.with(|check| check.replace(self.0.take()));
    }
}

/// Whether the call running on this thread was cancelled.
pub fn is_due() -> bool {
    let check = CHECK.with(|check| check.borrow().clone());
    check.is_some_and(|is_unwanted| is_unwanted())
}

/// Return an error if the call running on this thread was cancelled.
pub fn check() -> Result<()> {
    if is_due() {
        let sentence = "a call was interrupted and changed nothing; call again";
        return Err(Error::new(ErrorCode::Interrupted, sentence));
    }
    Ok(())
}

/// [`check`] among statements: fails as SQLite does when it is interrupted.
pub fn check_reading() -> rusqlite::Result<()> {
    if is_due() {
        return Err(interrupted());
    }
    Ok(())
}

/// Return the result of work between statements. Only an interruption can have ended it early.
pub fn among_statements<T>(done: Result<T>) -> rusqlite::Result<T> {
    done.map_err(|_| interrupted())
}

fn interrupted() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None)
}

/// Steps of a long loop between two checks.
const STRIDE: usize = if cfg!(any(test, feature = "testing")) {
    1 << 8
} else {
    1 << 16
};

/// Steps that a loop counts together, because counting each would cost too much.
pub const BATCH: usize = STRIDE / 16;

/// [`check`] for a long loop that counts its steps.
#[derive(Debug, Default)]
pub struct CancelTicker {
    steps: usize,
}

impl CancelTicker {
    /// Advance by `steps`. Fails if the call was cancelled.
    pub fn step(&mut self, steps: usize) -> Result<()> {
        if self.is_over(steps) { check() } else { Ok(()) }
    }

    /// Like `step`, between statements.
    pub fn read(&mut self, steps: usize) -> rusqlite::Result<()> {
        if self.is_over(steps) {
            check_reading()
        } else {
            Ok(())
        }
    }

    fn is_over(&mut self, steps: usize) -> bool {
        self.steps += steps;
        let over = self.steps >= STRIDE;
        if over {
            self.steps = 0;
        }
        over
    }
}

/// Sort many items, and keep equal ones in their order, unless nobody waits for it.
pub fn sort<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) -> Result<()> {
    for run in items.chunks_mut(STRIDE) {
        check()?;
        run.sort_by(&compare);
    }
    // Sorted runs are merged in one pass.
    let mut sorted = STRIDE;
    while sorted < items.len() {
        sorted *= 2;
        for run in items.chunks_mut(sorted) {
            check()?;
            run.sort_by(&compare);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::bm25::Ranking;
    use crate::chunks::{Chunk, Filters};
    use crate::index::Index;
    use crate::query::{MatchOptions, parse};
    use crate::text::tokenizer::TokenizerKind;

    #[test]
    fn the_innermost_watch_counts_and_none_is_left_behind() {
        assert!(!is_due());
        with_cancellation(
            || true,
            || {
                with_cancellation(|| false, || assert!(!is_due()));
                assert!(is_due());
            },
        );
        assert!(!is_due());
    }

    #[test]
    fn a_loop_is_asked_for_at_its_pace() {
        let asked = Rc::new(Cell::new(0));
        let counted = Rc::clone(&asked);
        let is_unwanted = move || counted.replace(counted.get() + 1) > 0;
        with_cancellation(is_unwanted, || {
            let mut pace = CancelTicker::default();
            for _ in 1..2 * STRIDE {
                pace.step(1).unwrap();
            }
            assert_eq!(asked.get(), 1);
            let error = pace.step(1).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Interrupted);
            assert_eq!(
                error.message(),
                "a call was interrupted and changed nothing; call again"
            );
        });
    }

    #[test]
    fn many_items_are_sorted_as_few_are_and_sorting_ends_on_the_way() {
        let count = 3 * STRIDE + 17;
        let items: Vec<(usize, usize)> = (0..count).map(|n| (n * 7919 % 1000, n)).collect();
        let mut expected = items.clone();
        expected.sort_by_key(|(key, _)| *key);
        let mut sorted = items.clone();
        let by_key = |one: &(usize, usize), other: &(usize, usize)| one.0.cmp(&other.0);
        sort(&mut sorted, by_key).unwrap();
        assert_eq!(sorted, expected);
        for asks in 0..6 {
            let asked = Cell::new(0);
            let after_some = move || asked.replace(asked.get() + 1) == asks;
            let error =
                with_cancellation(after_some, || sort(&mut items.clone(), by_key)).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Interrupted);
        }
    }

    #[test]
    fn searches_and_writes_stop_and_leave_nothing_behind() {
        let query = parse(&"oak elm ".repeat(2000)).unwrap();
        let chunks: Vec<Chunk> = (0..2000)
            .map(|n| Chunk {
                id: n.to_string(),
                content: "oak elm".to_owned(),
                ..Chunk::default()
            })
            .collect();
        let chunks: Vec<&Chunk> = chunks.iter().collect();
        for ranking in Ranking::ALL {
            let index = Index::in_memory_with(TokenizerKind::Porter, *ranking).unwrap();
            let error = with_cancellation(|| true, || index.upsert(&chunks)).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Interrupted, "{error}");
            assert_eq!(index.len().unwrap(), 0);
            index.upsert(&chunks).unwrap();
            let search = || {
                let filters = Filters::default();
                index.search_bm25(&query, 10, &filters, &MatchOptions::default())
            };
            search().unwrap();
            // At first nothing is to stop, so that it stops on the way.
            let asked = Cell::new(0);
            let after_some = move || asked.replace(asked.get() + 1) > 3;
            let error = with_cancellation(after_some, search).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Interrupted, "{ranking:?}: {error}");
            assert_eq!(search().unwrap().len(), 10);
        }
    }
}
