//! Work on many items, on several threads.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use hedgerow_engine::sync::parallelism;

const MOST_THREADS: usize = 8;
/// The items that a thread takes at once.
const SHARE: usize = 8;

/// Apply `of` to each item, on as many threads as there are processors. The results are in the order of the items.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let shares: Vec<&[T]> = items.chunks(SHARE).collect();
    if shares.len() < 2 {
        return items.iter().map(of).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        while let Some((number, share)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            shares.get(number).map(|share| (number, *share))
        } {
            made.push((number, share.iter().map(&of).collect::<Vec<R>>()));
        }
        made
    };
    let mut made = thread::scope(|scope| {
        // If no further thread can be started, one does all the work.
        let helpers: Vec<_> = (1..parallelism().min(MOST_THREADS).min(shares.len()))
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut made = work();
        for helper in helpers {
            made.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        made
    });
    made.sort_unstable_by_key(|(number, _)| *number);
    made.into_iter().flat_map(|(_, results)| results).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for count in [0_usize, 1, SHARE, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = items.iter().map(|one| 2 * one).collect();
            assert_eq!(map(&items, |one| 2 * one), doubled);
        }
    }
}
