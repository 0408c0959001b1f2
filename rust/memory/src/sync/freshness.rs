//! Whether an index has read every file of a root as it is now. Takes no lock of the root.

use std::path::PathBuf;

use hedgerow_engine::Result;
use hedgerow_engine::index::Index;
use hedgerow_engine::sync::{Arc, Condvar, Mutex, PoisonError, lock};

use crate::folder::watch::Watch;
use crate::folder::{Listing, Rules, list};
use crate::skip::Skip;
use crate::sync::ledger::Ledger;

/// A check of the files of a root against one state of its index. Threads may share one.
#[derive(Debug)]
pub struct FileCheck {
    /// The ledger of the index.
    ledger: Ledger,
    /// The folder whose files are read, and the rules for that.
    folder: PathBuf,
    rules: Arc<Rules>,
    looks: Looks<FreshnessCheck>,
}

/// The result of a look at the files of a root.
#[derive(Debug, Clone)]
pub struct FreshnessCheck {
    /// Whether the index has read all files as they are.
    pub is_current: bool,
    /// What could not be listed.
    pub skips: Vec<Skip>,
    /// The files as they were listed; None if the index is current.
    pub listing: Option<Arc<Listing>>,
}

impl FileCheck {
    /// Check the files below `folder` that the rules take, against the ledger of an index.
    pub fn new(ledger: Ledger, folder: PathBuf, rules: Arc<Rules>) -> Self {
        Self {
            ledger,
            folder,
            rules,
            looks: Looks::default(),
        }
    }

    /// Whether the index still has the ledger of this check, and that is about the root.
    pub fn is_same(&self, index: &Index) -> Result<bool> {
        Ok(self.ledger.is_current() && index.sources_generation()? == self.ledger.generation())
    }

    /// Look at the files. Threads that call at about the same time share a look, which takes most of the
    /// time of a recall.
    ///
    /// With a watch, the last result holds while the watch has seen no change.
    pub fn look(&self, watch: Option<&Watch>) -> FreshnessCheck {
        let changes = watch.and_then(Watch::changes);
        let is_current = |looked: &FreshnessCheck| looked.is_current;
        self.looks.result(changes, || self.looked(), is_current)
    }

    /// The number of looks begun.
    pub fn looks(&self) -> u64 {
        lock(&self.looks.shared.turns).begun
    }

    fn looked(&self) -> FreshnessCheck {
        let listing = list(&self.folder, &self.rules, false);
        let is_current = self.ledger.has_read(&listing, &self.folder);
        FreshnessCheck {
            is_current,
            skips: listing.skips.clone(),
            listing: (!is_current).then(|| Arc::new(listing)),
        }
    }
}

/// The results of looks at a folder.
#[derive(Debug)]
struct Looks<T> {
    shared: Shared<T>,
    /// The changes that a watch had seen before a look that found everything current, and that look.
    unchanged: Mutex<Option<(u64, T)>>,
}

impl<T> Default for Looks<T> {
    fn default() -> Self {
        Self {
            shared: Shared::default(),
            unchanged: Mutex::default(),
        }
    }
}

impl<T: Clone> Looks<T> {
    /// Return the result of a look that began after this call, or of an earlier look that found everything
    /// current when a watch had seen the same number of `changes`. None if no watch can tell.
    fn result(
        &self,
        changes: Option<u64>,
        look: impl FnOnce() -> T,
        is_current: impl FnOnce(&T) -> bool,
    ) -> T {
        let Some(changes) = changes else {
            return self.shared.result(look);
        };
        if let Some((seen, looked)) = &*lock(&self.unchanged)
            && *seen == changes
        {
            return looked.clone();
        }
        let looked = self.shared.result(look);
        if is_current(&looked) {
            *lock(&self.unchanged) = Some((changes, looked.clone()));
        }
        looked
    }
}

/// Does work once for all threads that request it at about the same time.
///
/// A result is always of work that began after it was requested: threads that request it while work is
/// going on wait until it ends. Then one of them does it again for all of them.
#[derive(Debug)]
struct Shared<T> {
    turns: Mutex<Turns<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Turns<T> {
    is_working: bool,
    /// The count of works begun.
    begun: u64,
    /// The number of the last work that ended, and its result.
    done: Option<(u64, T)>,
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        let turns = Turns {
            is_working: false,
            begun: 0,
            done: None,
        };
        Self {
            turns: Mutex::new(turns),
            changed: Condvar::new(),
        }
    }
}

impl<T: Clone> Shared<T> {
    fn result(&self, work: impl FnOnce() -> T) -> T {
        let mut turns = lock(&self.turns);
        let wanted = turns.begun + 1;
        loop {
            if let Some((number, result)) = &turns.done
                && *number >= wanted
            {
                return result.clone();
            }
            if !turns.is_working {
                break;
            }
            let woken = self.changed.wait(turns);
            turns = woken.unwrap_or_else(PoisonError::into_inner);
        }
        turns.is_working = true;
        turns.begun += 1;
        let number = turns.begun;
        drop(turns);
        let mut turn = Turn {
            shared: self,
            done: None,
        };
        let result = work();
        turn.done = Some((number, result.clone()));
        result
    }
}

/// The turn of the thread that works, which ends even if the thread panics.
struct Turn<'a, T> {
    shared: &'a Shared<T>,
    done: Option<(u64, T)>,
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        let mut turns = lock(&self.shared.turns);
        turns.is_working = false;
        turns.done = self.done.take();
        drop(turns);
        self.shared.changed.notify_all();
    }
}

#[cfg(all(test, feature = "shuttle"))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod interleavings;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread::{self, ScopedJoinHandle};
    use std::time::Duration;

    use super::*;

    /// Work that reports its number when it begins, and ends when it is told to.
    struct Work {
        begun: Mutex<u32>,
        report: Mutex<Sender<u32>>,
        go_on: Mutex<Receiver<bool>>,
    }

    impl Work {
        fn new() -> (Self, Receiver<u32>, Sender<bool>) {
            let ((report, reports), (go, go_on)) = (channel(), channel());
            let work = Self {
                begun: Mutex::default(),
                report: Mutex::new(report),
                go_on: Mutex::new(go_on),
            };
            (work, reports, go)
        }

        fn run(&self) -> u32 {
            let number = {
                let mut begun = lock(&self.begun);
                *begun += 1;
                *begun
            };
            lock(&self.report).send(number).unwrap();
            assert!(lock(&self.go_on).recv().unwrap(), "the work fails");
            number
        }
    }

    /// Give other threads time to wait.
    fn pause() {
        thread::sleep(Duration::from_millis(200));
    }

    fn joined(threads: Vec<ScopedJoinHandle<'_, u32>>) -> Vec<u32> {
        threads.into_iter().map(|one| one.join().unwrap()).collect()
    }

    #[test]
    fn requests_during_work_share_the_next_one() {
        let shared = Shared::default();
        let (work, reports, go) = Work::new();
        thread::scope(|scope| {
            let request = || scope.spawn(|| shared.result(|| work.run()));
            let first = request();
            assert_eq!(reports.recv().unwrap(), 1);
            let others = (0..8).map(|_| request()).collect();
            pause();
            go.send(true).unwrap();
            assert_eq!(reports.recv().unwrap(), 2);
            // It begins after the second work, so it needs a third.
            let last = request();
            pause();
            go.send(true).unwrap();
            assert_eq!(joined(others), [2; 8]);
            assert_eq!(reports.recv().unwrap(), 3);
            go.send(true).unwrap();
            assert_eq!(joined(vec![first, last]), [1, 3]);
        });
        assert_eq!(lock(&shared.turns).begun, 3);
    }

    #[test]
    fn a_panic_ends_the_turn() {
        let shared = Shared::default();
        let (work, reports, go) = Work::new();
        thread::scope(|scope| {
            let first = scope.spawn(|| shared.result(|| work.run()));
            assert_eq!(reports.recv().unwrap(), 1);
            let other = scope.spawn(|| shared.result(|| 7));
            pause();
            go.send(false).unwrap();
            assert!(first.join().is_err());
            assert_eq!(other.join().unwrap(), 7);
        });
    }
}
