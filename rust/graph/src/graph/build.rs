//! Results that are slow to compute from the edges, cached for the next query.
//!
//! The result for a small graph is computed again whenever its edges change. For a large graph,
//! queries use the last result until the next is ready, and only the first computation blocks. A
//! separate thread computes it once for all waiting callers, and continues when one of them is
//! cancelled. No lock is held meanwhile.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::edges::Edges;
use hedgerow_engine::error::{Error, ErrorCode, Result};
use hedgerow_engine::interrupt;
use hedgerow_engine::storage::{Background, NoticeLevel};
use hedgerow_engine::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, lock, thread};

/// Up to this number of nodes, a query waits for the current result.
pub(super) const SMALL: usize = 5000;
/// Cached results. A query that began before the edges changed again still waits for its own
/// result.
const RECENT: usize = 3;
/// How long a caller waits before it asks whether to go on.
const MOMENT: Duration = Duration::from_millis(20);

/// The last results, and whether the next is on its way.
#[derive(Debug)]
pub(super) struct Build<T> {
    state: Mutex<State<T>>,
    ended: Condvar,
}

#[derive(Debug)]
struct State<T> {
    /// Each with the generation of its edges, in the order in which they were ready.
    recent: VecDeque<(i64, Arc<T>)>,
    running: bool,
    /// The generation whose attempt failed last, and why.
    failure: Option<(i64, Error)>,
}

impl<T> Default for Build<T> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                recent: VecDeque::new(),
                running: false,
                failure: None,
            }),
            ended: Condvar::new(),
        }
    }
}

impl<T> State<T> {
    fn of(&self, generation: i64) -> Option<Arc<T>> {
        let found = self.recent.iter().find(|(of, _)| *of == generation);
        found.map(|(_, value)| Arc::clone(value))
    }

    fn newest(&self) -> Option<Arc<T>> {
        let newest = self.recent.iter().max_by_key(|(of, _)| *of);
        newest.map(|(_, value)| Arc::clone(value))
    }
}

impl<T: Send + Sync + 'static> Build<T> {
    /// Return the result of `make` for these edges, or for earlier edges; the second value is the
    /// generation of those edges.
    pub fn of(
        self: &Arc<Self>,
        edges: &Arc<Edges>,
        wait: bool,
        background: &Background,
        what: &'static str,
        make: impl Fn(&Edges) -> Result<T> + Clone + Send + 'static,
    ) -> Result<(Arc<T>, bool)> {
        let generation = edges.generation;
        let mut state = self.lock();
        // A computation that failed before is tried again.
        let mut tried = false;
        loop {
            if let Some(value) = state.of(generation) {
                return Ok((value, false));
            }
            let last = state.newest().filter(|_| !wait);
            if !state.running {
                let failed = state.failure.take_if(|(of, _)| *of == generation);
                if let Some((_, error)) = failed.filter(|_| tried) {
                    return Err(error);
                }
                tried = true;
                state.running = self.start(edges, background, what, make.clone());
                if !state.running && last.is_none() {
                    let message = format!(
                        "no thread could be started to work out the {what}; raise the limit on \
                         threads or memory"
                    );
                    return Err(Error::new(ErrorCode::EngineFault, message));
                }
            }
            if let Some(last) = last {
                return Ok((last, true));
            }
            let waited = self.ended.wait_timeout(state, MOMENT);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            interrupt::check()?;
        }
    }

    /// Start the computation on a new thread. Returns false if no thread could be started.
    fn start(
        self: &Arc<Self>,
        edges: &Arc<Edges>,
        background: &Background,
        what: &'static str,
        make: impl Fn(&Edges) -> Result<T> + Send + 'static,
    ) -> bool {
        let (build, edges, background) = (Arc::clone(self), Arc::clone(edges), background.clone());
        let work = move || {
            let closing = background.clone();
            let result = interrupt::with_cancellation(
                move || closing.is_closing(),
                || catch_unwind(AssertUnwindSafe(|| make(&edges))),
            );
            let result = result.unwrap_or_else(|_| {
                let message = format!("working out the {what} panicked; please report this");
                Err(Error::new(ErrorCode::EnginePanic, message))
            });
            if let Err(error) = &result
                && error.code() != ErrorCode::Interrupted
            {
                let message = format!("working out the {what} failed: {error}");
                background.notices().report(NoticeLevel::Warning, message);
            }
            build.end(edges.generation, result);
        };
        let thread = thread::Builder::new().name(format!("hedgerow-{what}"));
        thread.spawn(work).is_ok()
    }

    fn end(&self, generation: i64, result: Result<T>) {
        let mut state = self.lock();
        state.running = false;
        let dropped = match result {
            Ok(value) => {
                state.recent.push_back((generation, Arc::new(value)));
                (state.recent.len() > RECENT).then(|| state.recent.pop_front())
            }
            Err(error) => {
                state.failure = Some((generation, error));
                None
            }
        };
        drop(state);
        // Freed after the lock is released.
        drop(dropped);
        self.ended.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        lock(&self.state)
    }
}

#[cfg(all(test, feature = "shuttle"))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod interleavings;

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::graph::Store;
    use hedgerow_engine::storage::Notice;

    fn edges(generation: i64) -> Arc<Edges> {
        let mut edges = Edges::new(0, &[]);
        edges.generation = generation;
        Arc::new(edges)
    }

    fn background() -> Background {
        Store::in_memory()
            .unwrap()
            .index()
            .database()
            .background()
            .clone()
    }

    #[test]
    fn a_large_graph_has_its_last_result_until_the_next_is_there() {
        let (build, background) = (Arc::new(Build::default()), background());
        let of = |generation, wait| {
            let make = |edges: &Edges| Ok(edges.generation);
            let of = build.of(&edges(generation), wait, &background, "numbers", make);
            of.map(|(value, stale)| (*value, stale)).unwrap()
        };
        assert_eq!(of(1, false), (1, false));
        assert_eq!(of(2, false), (1, true));
        while of(2, false).1 {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(of(2, false), (2, false));
        assert_eq!(of(3, true), (3, false));
        assert_eq!(of(2, true), (2, false), "of a query that began earlier");
        assert_eq!(of(9, false), (3, true), "the newest");
    }

    #[test]
    fn it_is_worked_out_once_and_goes_on_when_nobody_waits_any_more() {
        let (build, background) = (Arc::new(Build::default()), background());
        let count = Arc::new(AtomicUsize::new(0));
        let (go, may_go) = mpsc::channel::<()>();
        let may_go = Arc::new(Mutex::new(may_go));
        let make = || {
            let (count, may_go) = (Arc::clone(&count), Arc::clone(&may_go));
            move |edges: &Edges| {
                count.fetch_add(1, Ordering::Relaxed);
                let _ = may_go.lock().unwrap().recv();
                Ok(edges.generation)
            }
        };
        let of = || build.of(&edges(1), true, &background, "numbers", make());
        let error = interrupt::with_cancellation(|| true, of).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Interrupted);
        thread::scope(|scope| {
            let others = [(); 3].map(|()| scope.spawn(|| *of().unwrap().0));
            go.send(()).unwrap();
            for other in others {
                assert_eq!(other.join().unwrap(), 1);
            }
        });
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_failure_is_told_who_waits_reported_once_and_tried_again() {
        let (build, background) = (Arc::new(Build::default()), background());
        let of = |generation, wait, make: fn(&Edges) -> Result<i32>| {
            let of = build.of(&edges(generation), wait, &background, "numbers", make);
            of.map(|(value, stale)| (*value, stale))
        };
        let fails: fn(&Edges) -> Result<i32> = |_| panic!("on purpose");
        let panicked = "working out the numbers panicked; please report this";
        for _ in 0..2 {
            assert_eq!(of(1, false, fails).unwrap_err().message(), panicked);
        }
        let notice = Notice {
            level: NoticeLevel::Warning,
            message: format!("working out the numbers failed: {panicked}"),
        };
        assert_eq!(background.notices().take(), [notice]);
        assert_eq!(of(1, false, |_| Ok(1)).unwrap(), (1, false));
        // A background build reports only by the notice.
        assert_eq!(of(2, false, fails).unwrap(), (1, true));
        while of(2, false, |_| Ok(2)).unwrap().1 {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(of(2, false, |_| Ok(3)).unwrap(), (2, false));
        assert_eq!(background.notices().take(), []);
    }
}
