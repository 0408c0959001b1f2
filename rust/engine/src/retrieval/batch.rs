//! Parallel searches, on separate threads.

use std::num::NonZeroUsize;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::request::{Request, Setup};
use super::search::{SearchResult, search_together};
use crate::error::Result;
use crate::interrupt;

/// The most searches that share a pass over the vectors.
const TOGETHER: usize = 32;
/// Blocks per thread, so that no thread waits long for the last one.
const BLOCKS_PER_THREAD: usize = 4;

/// Run every search, on at most `threads` threads; the answers are in the order of the requests.
///
/// Each is what [`search()`] gives. Once `stop` is set no further search begins, and those under way
/// end soon; those that were not run have no answer.
///
/// [`search()`]: super::search()
pub fn search_many(
    setup: &Setup<'_>,
    requests: &[Request<'_>],
    threads: NonZeroUsize,
    stop: &Arc<AtomicBool>,
) -> Vec<Option<Result<SearchResult>>> {
    let parts = threads.get().saturating_mul(BLOCKS_PER_THREAD);
    let together = requests.len().div_ceil(parts).clamp(1, TOGETHER);
    let blocks: Vec<&[Request<'_>]> = requests
        .chunk_by(may_share)
        .flat_map(|same| same.chunks(together))
        .collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut answers = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(block) = blocks.get(nth) else {
                break;
            };
            let stopped = Arc::clone(stop);
            let is_unwanted = move || stopped.load(Ordering::Relaxed);
            let found = interrupt::with_cancellation(is_unwanted, || search_together(setup, block));
            answers.push((nth, found));
        }
        answers
    };
    let threads = threads.get().min(blocks.len());
    let answered = if threads < 2 {
        work()
    } else {
        thread::scope(|scope| {
            // If the system refuses threads, the others do the work.
            let spawn = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
            let others: Vec<_> = (1..threads).map_while(spawn).collect();
            let mut answered = work();
            for other in others {
                match other.join() {
                    Ok(more) => answered.extend(more),
                    // The panic is raised again in the caller, as on one thread.
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            answered
        })
    };
    let mut of_blocks: Vec<_> = blocks
        .iter()
        .map(|block| block.iter().map(|_| None).collect())
        .collect();
    for (nth, found) in answered {
        of_blocks[nth] = found;
    }
    of_blocks.into_iter().flatten().collect()
}

/// Whether two requests have the same selection, so that one pass serves both.
fn may_share(left: &Request<'_>, right: &Request<'_>) -> bool {
    ptr::eq(left.filters, right.filters)
        && left.candidate_k == right.candidate_k
        && left.group_by == right.group_by
}
