//! What takes long to work out from the edges, kept for the next query.
//!
//! Small graphs are worked out anew whenever their edges change. For a large one the last result
//! is used until the next, which a thread of its own works out; only the first is waited for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::edges::Edges;
use crate::error::Result;

/// Up to how many nodes a query waits for what is new.
pub(super) const SMALL: usize = 5000;

/// The last result, and whether the next is on its way.
#[derive(Debug)]
pub(super) struct Build<T>(Mutex<State<T>>);

#[derive(Debug)]
struct State<T> {
    /// Of which generation of the edges, and what.
    last: Option<(i64, Arc<T>)>,
    running: bool,
}

impl<T> Default for Build<T> {
    fn default() -> Self {
        Self(Mutex::new(State {
            last: None,
            running: false,
        }))
    }
}

impl<T: Send + Sync + 'static> Build<T> {
    /// What `make` says of these edges, or of earlier ones: then the second is true.
    pub fn of(
        self: &Arc<Self>,
        edges: &Arc<Edges>,
        wait: bool,
        make: impl Fn(&Edges) -> Result<T> + Send + 'static,
    ) -> Result<(Arc<T>, bool)> {
        let mut state = self.lock();
        match &state.last {
            Some((generation, last)) if *generation == edges.generation => {
                return Ok((Arc::clone(last), false));
            }
            Some((_, last)) if !wait => {
                let last = Arc::clone(last);
                if !state.running {
                    state.running = self.start(edges, make);
                }
                return Ok((last, true));
            }
            _ => {}
        }
        // Under the lock, so that nobody else works it out too.
        let value = Arc::new(make(edges)?);
        state.last = Some((edges.generation, Arc::clone(&value)));
        Ok((value, false))
    }

    /// Work it out on a thread of its own; the answer is whether one could be had.
    fn start(
        self: &Arc<Self>,
        edges: &Arc<Edges>,
        make: impl Fn(&Edges) -> Result<T> + Send + 'static,
    ) -> bool {
        let (build, edges) = (Arc::clone(self), Arc::clone(edges));
        let work = move || {
            let value = catch_unwind(AssertUnwindSafe(|| make(&edges)));
            let mut state = build.lock();
            state.running = false;
            // Nobody interrupts a thread of its own; what failed is tried again by the next query.
            if let Ok(Ok(value)) = value {
                state.last = Some((edges.generation, Arc::new(value)));
            }
        };
        thread::Builder::new().spawn(work).is_ok()
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn edges(generation: i64) -> Arc<Edges> {
        let mut edges = Edges::new(0, &[]);
        edges.generation = generation;
        Arc::new(edges)
    }

    #[test]
    fn a_large_graph_has_its_last_result_until_the_next_is_there() {
        let build = Arc::new(Build::default());
        let make = |edges: &Edges| Ok(edges.generation);
        assert_eq!(
            build.of(&edges(1), false, make).unwrap(),
            (Arc::new(1), false)
        );
        assert_eq!(
            build.of(&edges(2), false, make).unwrap(),
            (Arc::new(1), true)
        );
        while build.of(&edges(2), false, make).unwrap().1 {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(
            build.of(&edges(2), false, make).unwrap(),
            (Arc::new(2), false)
        );
        assert_eq!(
            build.of(&edges(3), true, make).unwrap(),
            (Arc::new(3), false)
        );
    }

    #[test]
    fn a_failure_beside_the_query_is_tried_again() {
        let build = Arc::new(Build::default());
        build.of(&edges(1), true, |_| Ok(1)).unwrap();
        let fails = |_: &Edges| -> Result<i32> { panic!("on purpose") };
        assert_eq!(
            build.of(&edges(2), false, fails).unwrap(),
            (Arc::new(1), true)
        );
        while build.of(&edges(2), false, |_| Ok(2)).unwrap().1 {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(*build.of(&edges(2), false, |_| Ok(3)).unwrap().0, 2);
    }
}
