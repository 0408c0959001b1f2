//! Readers share versions of the generation that they see, whoever loads, derives or replaces them.

use super::*;
use crate::interrupt;
use crate::storage::cache::{Cache, Version};
use crate::sync::explore::explore;

/// The number of loads that go wrong before one succeeds, and how.
#[derive(Default)]
struct Loads {
    begun: AtomicUsize,
    panics: AtomicUsize,
    failures: AtomicUsize,
    interrupts: AtomicUsize,
    /// Versions in memory, and the most there were.
    live: Arc<AtomicUsize>,
    most: AtomicUsize,
}

/// A version that counts how often it was revised.
struct Counted {
    generation: i64,
    revised: usize,
    live: Arc<AtomicUsize>,
}

impl Counted {
    fn new(loads: &Loads, generation: i64, revised: usize) -> Self {
        let live = loads.live.fetch_add(1, SeqCst) + 1;
        loads.most.fetch_max(live, SeqCst);
        Self {
            generation,
            revised,
            live: Arc::clone(&loads.live),
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.live.fetch_sub(1, SeqCst);
    }
}

/// Whether one of `count` is left, which is taken.
fn one_of(count: &AtomicUsize) -> bool {
    let less = |left: usize| left.checked_sub(1);
    count.fetch_update(SeqCst, SeqCst, less).is_ok()
}

impl Version<FakeConnection> for Counted {
    type Source = Loads;
    const NAME: &'static str = "numbers";

    fn generation(&self) -> i64 {
        self.generation
    }

    fn load(loads: &Loads, connection: &FakeConnection) -> rusqlite::Result<Self> {
        loads.begun.fetch_add(1, SeqCst);
        if one_of(&loads.panics) {
            thread::panic_as_planned();
        }
        if one_of(&loads.failures) {
            return Err(rusqlite::Error::QueryReturnedNoRows);
        }
        if one_of(&loads.interrupts) {
            return interrupt::with_cancellation(|| true, interrupt::check_reading)
                .map(|()| unreachable!());
        }
        interrupt::check_reading()?;
        let generation = connection.generation.get().unwrap();
        Ok(Self::new(loads, generation, 0))
    }

    fn next(
        self: &Arc<Self>,
        loads: &Loads,
        connection: &FakeConnection,
        generation: i64,
    ) -> rusqlite::Result<Option<Self>> {
        assert!(generation > self.generation);
        assert_eq!(connection.generation.get(), Some(generation));
        Ok(Some(Self::new(loads, generation, self.revised)))
    }
}

/// A handle with a cache.
#[derive(Clone)]
struct Cached {
    handle: Handle,
    cache: Arc<Cache<Counted, FakeFile>>,
}

impl Cached {
    fn new(loads: Loads) -> Self {
        let handle = Handle::open(FakeFile::default());
        let cache = Arc::new(Cache::new(handle.background.clone(), loads));
        Self { handle, cache }
    }

    /// The version of the generation that a reader sees, as a search gets it. None once closed.
    fn search(&self) -> Result<Option<Arc<Counted>>> {
        let mut missed = None;
        for can_wait in [true, true, false] {
            if can_wait {
                self.cache.wait_for_newer(missed)?;
            }
            let found = self.handle.read(|connection, generation| {
                let found = self.cache.current(connection, generation, can_wait);
                found.map(|found| (found, generation))
            });
            match found
                .transpose()
                .map_err(|error| self.handle.file.error(&error))?
            {
                None => return Ok(None),
                Some((Some(version), generation)) => {
                    assert_eq!(version.generation, generation);
                    return Ok(Some(version));
                }
                Some((None, generation)) => missed = Some(generation - 1),
            }
        }
        unreachable!("the last attempt does not wait")
    }

    fn ended(&self) -> &Loads {
        until(|| !self.cache.is_loading());
        self.cache.source()
    }
}

fn searches(cached: &Cached, count: usize, each: fn(&Cached)) -> Vec<Box<dyn FnOnce() + Send>> {
    let cached = cached.clone();
    times(count, move |_| each(&cached))
}

#[test]
fn a_reader_never_sees_an_older_version_than_a_finished_write() {
    explore(|| {
        let cached = Cached::new(Loads::default());
        let written = Arc::new(AtomicI64::new(0));
        let (reader, finished) = (cached.clone(), Arc::clone(&written));
        let mut threads = times(2, move |_| {
            let mut seen = 0;
            for _ in 0..2 {
                let least = finished.load(SeqCst).max(seen);
                seen = reader.search().unwrap().unwrap().generation;
                assert!(seen >= least, "{seen} after {least}");
            }
        });
        let writer = cached.handle.clone();
        threads.extend(times(1, move |_| {
            for _ in 0..3 {
                let generation = writer.write(0).unwrap();
                written.store(generation, SeqCst);
            }
        }));
        together(threads);
        assert_eq!(cached.search().unwrap().unwrap().generation, 3);
        // Four are kept, two readers hold one each, and one is derived while another is read.
        let most = cached.cache.source().most.load(SeqCst);
        assert!(most <= 8, "{most} versions were in memory");
        cached.cache.clear();
        assert_eq!(cached.ended().live.load(SeqCst), 0, "versions leak");
        cached.handle.close();
    });
}

#[test]
fn a_load_beside_searches_never_takes_the_cache_back() {
    explore(|| {
        let cached = Cached::new(Loads::default());
        cached.search().unwrap();
        let mut threads = searches(&cached, 2, |cached| {
            cached.handle.write(0).unwrap();
            let seen = cached.search().unwrap().unwrap().generation;
            let newest = cached.cache.newest().unwrap().generation;
            assert!(newest >= seen, "{newest} after {seen}");
        });
        threads.extend(searches(&cached, 1, |cached| {
            cached.cache.load_in_background().unwrap();
        }));
        together(threads);
        cached.ended();
        assert_eq!(cached.cache.newest().unwrap().generation, 2);
        cached.handle.close();
    });
}

#[test]
fn no_more_versions_are_kept_than_recent_ones() {
    explore(|| {
        let cached = Cached::new(Loads::default());
        cached.search().unwrap();
        let user = cached.clone();
        together(times(2, move |_| {
            for _ in 0..4 {
                user.handle.write(0).unwrap();
                user.search().unwrap();
            }
        }));
        let live = cached.ended().live.load(SeqCst);
        assert!(live <= 4, "{live} versions are kept");
        cached.cache.drop_before(8);
        assert_eq!(cached.cache.source().live.load(SeqCst), 1);
        cached.handle.close();
    });
}

#[test]
fn everything_is_read_once_for_all_that_wait() {
    explore(|| {
        let cached = Cached::new(Loads::default());
        together(searches(&cached, 3, |cached| {
            assert!(cached.search().unwrap().is_some());
        }));
        assert_eq!(cached.ended().begun.load(SeqCst), 1);
        cached.handle.close();
    });
}

#[test]
fn no_revision_is_lost() {
    explore(|| {
        let cached = Cached::new(Loads::default());
        cached.search().unwrap();
        let mut threads = searches(&cached, 2, |cached| {
            cached.cache.replace_newest(|newest| {
                let (loads, generation) = (cached.cache.source(), newest.generation);
                Some(Counted::new(loads, generation, newest.revised + 1))
            });
        });
        threads.extend(searches(&cached, 2, |cached| {
            cached.handle.write(0).unwrap();
            cached.search().unwrap();
        }));
        together(threads);
        // Derived from the newest, unless a reader of an earlier generation had to load.
        let loads = cached.ended().begun.load(SeqCst);
        let newest = cached.cache.newest().unwrap();
        assert_eq!(newest.generation, 2);
        assert!(newest.revised == 2 || loads > 1, "{} of 2", newest.revised);
        cached.handle.close();
    });
}

#[test]
fn a_panic_of_a_load_reaches_all_that_wait_and_the_next_load_succeeds() {
    explore(|| {
        let cached = Cached::new(Loads {
            panics: AtomicUsize::new(1),
            ..Loads::default()
        });
        together(searches(&cached, 3, |cached| {
            if let Err(error) = cached.search() {
                assert_eq!(error.code(), ErrorCode::EnginePanic);
            }
        }));
        assert!(cached.search().unwrap().is_some());
        cached.handle.close();
    });
}

#[test]
fn a_failed_load_reaches_all_that_wait_and_the_next_load_succeeds() {
    explore(|| {
        let cached = Cached::new(Loads {
            failures: AtomicUsize::new(1),
            ..Loads::default()
        });
        together(searches(&cached, 3, |cached| {
            if let Err(error) = cached.search() {
                assert_eq!(error.code(), ErrorCode::IndexIo);
            }
        }));
        assert!(cached.search().unwrap().is_some());
        assert_eq!(cached.handle.background.notices().take().len(), 1);
        cached.handle.close();
    });
}

#[test]
fn an_interrupted_load_is_repeated_for_all_that_wait() {
    explore(|| {
        let cached = Cached::new(Loads {
            interrupts: AtomicUsize::new(2),
            ..Loads::default()
        });
        together(searches(&cached, 3, |cached| {
            assert!(cached.search().unwrap().is_some());
        }));
        assert_eq!(cached.ended().begun.load(SeqCst), 3);
        cached.handle.close();
    });
}

#[test]
fn a_thread_that_cannot_start_is_an_error_and_the_next_one_starts() {
    explore(|| {
        let cached = Cached::new(Loads::default());
        thread::refuse(1);
        let failed = Arc::new(AtomicUsize::new(0));
        let (searching, failures) = (cached.clone(), Arc::clone(&failed));
        together(times(3, move |_| {
            if let Err(error) = searching.search() {
                assert_eq!(error.code(), ErrorCode::EngineFault);
                failures.fetch_add(1, SeqCst);
            }
        }));
        assert_eq!(
            failed.load(SeqCst),
            1,
            "the caller whose thread did not start"
        );
        cached.handle.close();
    });
}

#[test]
fn closing_ends_loads_and_all_that_wait_for_them() {
    explore(|| {
        let cached = Cached::new(Loads::default());
        let mut threads = searches(&cached, 2, |cached| {
            // A search ends with a version, or finds the handle closed.
            assert!(cached.search().is_ok());
        });
        threads.extend(searches(&cached, 1, |cached| {
            cached.handle.close();
            assert_eq!(cached.handle.file.0.open.load(SeqCst), 0);
        }));
        together(threads);
        cached.ended();
        cached.cache.clear();
        assert_eq!(cached.cache.source().live.load(SeqCst), 0);
    });
}

#[test]
fn a_fork_ends_a_load_and_all_that_wait_get_the_next_one() {
    explore(|| {
        let cached = Cached::new(Loads::default());
        let mut threads = searches(&cached, 2, |cached| {
            assert!(cached.search().unwrap().is_some());
        });
        threads.extend(searches(&cached, 1, |cached| {
            gate::before_fork();
            assert_eq!(cached.handle.file.0.open.load(SeqCst), 0);
            gate::after_fork();
        }));
        together(threads);
        cached.handle.close();
    });
}
