//! A look never misses a change that was reported before it: `make interleavings`.

use hedgerow_engine::sync::atomic::{AtomicU64, Ordering::SeqCst};
use hedgerow_engine::sync::explore::{explore, explore_all};
use hedgerow_engine::sync::{Arc, thread};

use super::*;
use crate::folder::watch::ReportedEvents;

/// A folder whose content is the number of writes to it. The index is current after an even number.
#[derive(Clone, Default)]
struct Folder {
    writes: Arc<AtomicU64>,
    /// Writes that the watch reported, as a change or as a loss.
    reported: Arc<AtomicU64>,
    events: Arc<ReportedEvents>,
    looks: Arc<Looks<u64>>,
    listings: Arc<AtomicU64>,
}

impl Folder {
    fn write(&self, is_lost: bool) {
        let writes = self.writes.fetch_add(1, SeqCst) + 1;
        if is_lost {
            self.events.note_loss();
        } else {
            self.events.note_change();
        }
        self.reported.store(writes, SeqCst);
    }

    fn list(&self) -> u64 {
        self.listings.fetch_add(1, SeqCst);
        self.writes.load(SeqCst)
    }

    /// Look as [`FileCheck::look`] does, and check that no reported write is missed.
    fn look(&self, list: impl FnOnce() -> u64) {
        let reported = self.reported.load(SeqCst);
        let is_current = |found: &u64| found.is_multiple_of(2);
        let found = self.looks.result(self.events.changes(), list, is_current);
        assert!(
            found >= reported,
            "write {reported} was missed after {found}"
        );
    }
}

fn joined(threads: Vec<thread::JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap();
    }
}

fn looking(folder: &Folder, times: usize) -> thread::JoinHandle<()> {
    let folder = folder.clone();
    thread::spawn(move || {
        for _ in 0..times {
            folder.look(|| folder.list());
        }
    })
}

#[test]
fn no_reported_write_is_missed() {
    explore(|| {
        let folder = Folder::default();
        let mut threads = vec![looking(&folder, 3), looking(&folder, 3)];
        let writing = folder.clone();
        threads.push(thread::spawn(move || {
            for _ in 0..4 {
                writing.write(false);
            }
        }));
        joined(threads);
    });
}

#[test]
fn every_write_is_seen_once_the_system_loses_events() {
    explore(|| {
        let folder = Folder::default();
        let mut threads = vec![looking(&folder, 3), looking(&folder, 2)];
        let writing = folder.clone();
        threads.push(thread::spawn(move || {
            for is_lost in [false, false, true, false] {
                writing.write(is_lost);
            }
        }));
        joined(threads);
        folder.look(|| folder.list());
    });
}

#[test]
fn an_unchanged_folder_is_listed_once_for_each_number_of_changes() {
    explore(|| {
        let folder = Folder::default();
        joined(vec![looking(&folder, 2), looking(&folder, 2)]);
        let listings = folder.listings.load(SeqCst);
        assert!(listings <= 2, "{listings} listings");
    });
}

#[test]
fn a_look_that_panics_leaves_the_work_to_those_that_wait() {
    explore(|| {
        let folder = Folder::default();
        let threads = vec![looking(&folder, 1), looking(&folder, 1)];
        let panicking = folder.clone();
        let panics = move || {
            panicking.look(|| {
                thread::panic_as_planned();
                0
            });
        };
        thread::Builder::new().spawn(panics).unwrap();
        joined(threads);
    });
}

#[test]
fn requests_share_work_that_began_after_them_in_every_interleaving() {
    explore_all(|| {
        let folder = Folder::default();
        let other = folder.clone();
        let requesting = thread::spawn(move || {
            let before = other.writes.load(SeqCst);
            assert!(other.looks.shared.result(|| other.list()) >= before);
        });
        folder.writes.fetch_add(1, SeqCst);
        assert!(folder.looks.shared.result(|| folder.list()) >= 1);
        requesting.join().unwrap();
    });
}
