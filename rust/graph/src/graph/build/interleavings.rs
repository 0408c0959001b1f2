//! A slow result is computed once for all that wait, and a failure does not stop the next: `make interleavings`.

use hedgerow_engine::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use hedgerow_engine::sync::explore::explore;

use super::*;
use crate::graph::Store;

/// Builds of numbers that wait for no edges.
#[derive(Clone)]
struct Numbers {
    store: Arc<Store>,
    build: Arc<Build<i64>>,
    count: Arc<AtomicUsize>,
    /// Computations that will fail.
    panics: Arc<AtomicUsize>,
}

impl Numbers {
    fn new(panics: usize) -> Self {
        Self {
            store: Arc::new(Store::in_memory().unwrap()),
            build: Arc::default(),
            count: Arc::default(),
            panics: Arc::new(AtomicUsize::new(panics)),
        }
    }

    fn of(&self, generation: i64, wait: bool) -> Result<(i64, bool)> {
        let mut edges = Edges::new(0, &[]);
        edges.generation = generation;
        let (count, panics) = (Arc::clone(&self.count), Arc::clone(&self.panics));
        let make = move |edges: &Edges| {
            count.fetch_add(1, SeqCst);
            let less = |left: usize| left.checked_sub(1);
            if panics.fetch_update(SeqCst, SeqCst, less).is_ok() {
                thread::panic_as_planned();
            }
            interrupt::check()?;
            Ok(edges.generation)
        };
        let background = self.store.index().database().background();
        let found = (self.build).of(&Arc::new(edges), wait, background, "numbers", make)?;
        Ok((*found.0, found.1))
    }

    fn asking(
        &self,
        generation: i64,
        wait: bool,
        check: fn(Result<(i64, bool)>),
    ) -> thread::JoinHandle<()> {
        let numbers = self.clone();
        thread::spawn(move || check(numbers.of(generation, wait)))
    }

    fn end(&self) {
        while self.build.lock().running {
            thread::sleep(Duration::ZERO);
        }
    }
}

fn joined(threads: impl IntoIterator<Item = thread::JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn each_result_is_computed_once_and_given_to_all_that_wait() {
    explore(|| {
        let numbers = Numbers::new(0);
        let one = |found: Result<(i64, bool)>| assert_eq!(found.unwrap(), (1, false));
        let two = |found: Result<(i64, bool)>| assert_eq!(found.unwrap(), (2, false));
        let ones = [(); 2].map(|()| numbers.asking(1, true, one));
        joined(ones.into_iter().chain([numbers.asking(2, true, two)]));
        numbers.end();
        assert_eq!(numbers.count.load(SeqCst), 2);
        // The last result, of whatever generation, until the next is there.
        let (last, is_stale) = numbers.of(3, false).unwrap();
        assert_eq!((last, is_stale), (2, true));
        numbers.end();
        assert_eq!(numbers.of(3, false).unwrap(), (3, false));
    });
}

#[test]
fn a_panic_reaches_those_that_wait_and_the_next_computation_succeeds() {
    explore(|| {
        let numbers = Numbers::new(1);
        let check = |found: Result<(i64, bool)>| match found {
            Ok(found) => assert_eq!(found, (1, false)),
            Err(error) => assert_eq!(error.code(), ErrorCode::EnginePanic),
        };
        joined([(); 3].map(|()| numbers.asking(1, true, check)));
        numbers.end();
        assert_eq!(numbers.of(1, true).unwrap(), (1, false));
    });
}

#[test]
fn a_thread_that_cannot_start_fails_one_caller_alone() {
    explore(|| {
        let numbers = Numbers::new(0);
        thread::refuse(1);
        let check = |found: Result<(i64, bool)>| match found {
            Ok(found) => assert_eq!(found, (1, false)),
            Err(error) => assert_eq!(error.code(), ErrorCode::EngineFault),
        };
        joined([(); 2].map(|()| numbers.asking(1, true, check)));
        assert_eq!(numbers.of(1, true).unwrap(), (1, false));
    });
}
