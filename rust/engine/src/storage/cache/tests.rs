//! The protocol of versions, with a version that only counts calls.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::*;
use crate::chunks::Chunk;
use crate::index::Index;
use crate::storage::generations;
use crate::text::tokenizer::TokenizerKind;

/// The number of reads of a version, and the result of the next read.
#[derive(Default)]
struct Events {
    loads: AtomicUsize,
    held: AtomicBool,
    fails: AtomicBool,
}

impl Events {
    fn failure(&self) -> rusqlite::Result<()> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(rusqlite::Error::QueryReturnedNoRows);
        }
        Ok(())
    }
}

struct Counted(i64);

impl Version for Counted {
    type Source = Arc<Events>;
    const NAME: &'static str = "counted";

    fn generation(&self) -> i64 {
        self.0
    }

    fn load(events: &Arc<Events>, connection: &Connection) -> rusqlite::Result<Self> {
        events.loads.fetch_add(1, Ordering::Relaxed);
        while events.held.load(Ordering::Relaxed) {
            interrupt::check_reading()?;
            thread::sleep(Duration::from_millis(1));
        }
        events.failure()?;
        generations::generation(connection).map(Self)
    }

    fn next(
        self: &Arc<Self>,
        events: &Arc<Events>,
        _: &Connection,
        generation: i64,
    ) -> rusqlite::Result<Option<Self>> {
        events.failure()?;
        Ok(Some(Self(generation)))
    }
}

fn cache() -> (Index, Arc<Events>, Cache<Counted>) {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    let events = Arc::new(Events::default());
    let cache = Cache::new(index.database.background().clone(), Arc::clone(&events));
    (index, events, cache)
}

fn write(index: &Index) {
    let chunk = Chunk {
        id: index.len().unwrap().to_string(),
        ..Chunk::default()
    };
    index.upsert(&[&chunk]).unwrap();
}

/// Return the generation of the cached version for the current index; None if it is stale.
fn current(index: &Index, cache: &Cache<Counted>) -> Result<Option<i64>> {
    index.database().read(|connection| {
        let generation = generations::generation(connection)?;
        Ok(match cache.get(connection, generation)? {
            Lookup::Hit(version) => Some(version.generation()),
            Lookup::Newer | Lookup::Miss => None,
        })
    })
}

#[test]
fn everything_is_read_once_however_many_ask() {
    let (index, events, cache) = cache();
    events.held.store(true, Ordering::Relaxed);
    thread::scope(|scope| {
        let waiters: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| cache.wait_for_newer(None)))
            .collect();
        while events.loads.load(Ordering::Relaxed) == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        events.held.store(false, Ordering::Relaxed);
        assert!(
            waiters
                .into_iter()
                .all(|waiter| waiter.join().unwrap().is_ok())
        );
    });
    assert_eq!(events.loads.load(Ordering::Relaxed), 1);
    assert_eq!(current(&index, &cache).unwrap(), Some(0));
}

#[test]
fn a_caller_who_gives_up_does_not_end_what_others_wait_for() {
    let (index, events, cache) = cache();
    events.held.store(true, Ordering::Relaxed);
    let given_up = interrupt::with_cancellation(|| true, || cache.wait_for_newer(None));
    assert_eq!(given_up.unwrap_err().code(), ErrorCode::Interrupted);
    events.held.store(false, Ordering::Relaxed);
    cache.wait_for_newer(None).unwrap();
    assert_eq!(events.loads.load(Ordering::Relaxed), 1);
    assert_eq!(current(&index, &cache).unwrap(), Some(0));
}

#[test]
fn what_fails_is_told_to_those_who_wait_and_leaves_what_there_is() {
    let (index, events, cache) = cache();
    events.fails.store(true, Ordering::Relaxed);
    for _ in 0..2 {
        let error = cache.wait_for_newer(None).unwrap_err();
        assert!(
            error.message().contains("Query returned no rows"),
            "{error}"
        );
    }
    let notices = index.take_notices();
    let [notice] = notices.as_slice() else {
        panic!("{notices:?}")
    };
    assert!(notice.message.starts_with("reading the counted failed: "));
    events.fails.store(false, Ordering::Relaxed);
    cache.wait_for_newer(None).unwrap();
    write(&index);
    events.fails.store(true, Ordering::Relaxed);
    assert!(current(&index, &cache).is_err());
    assert_eq!(cache.newest().map(|kept| kept.generation()), Some(0));
    events.fails.store(false, Ordering::Relaxed);
    assert_eq!(current(&index, &cache).unwrap(), Some(1));
    assert_eq!(events.loads.load(Ordering::Relaxed), 3);
}

#[test]
fn a_search_that_began_a_little_earlier_has_its_own_version() {
    let (index, _, cache) = cache();
    cache.wait_for_newer(None).unwrap();
    for generation in 1..=6 {
        write(&index);
        assert_eq!(current(&index, &cache).unwrap(), Some(generation));
    }
    let known = |generation| {
        let found = index
            .database()
            .read(|connection| cache.get(connection, generation));
        matches!(found.unwrap(), Lookup::Hit(version) if version.generation() == generation)
    };
    let known: Vec<i64> = (0..=6).filter(|generation| known(*generation)).collect();
    assert_eq!(known, [3, 4, 5, 6]);
    cache.clear();
    assert_eq!(current(&index, &cache).unwrap(), None);
}
