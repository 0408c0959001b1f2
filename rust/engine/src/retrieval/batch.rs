//! Many searches at once, on threads of their own.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::request::{Request, Setup};
use super::search::{Found, search};
use crate::error::Result;

/// Run every search, on at most `threads` threads; the answers stand as the requests do.
///
/// Each is what [`search()`] gives. Once `stop` is set no further search begins; those that were
/// not run have no answer.
pub fn search_many(
    setup: &Setup<'_>,
    requests: &[Request<'_>],
    threads: NonZeroUsize,
    stop: &AtomicBool,
) -> Vec<Option<Result<Found>>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut answers = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(request) = requests.get(place) else {
                break;
            };
            answers.push((place, search(setup, request)));
        }
        answers
    };
    let threads = threads.get().min(requests.len());
    let answered = if threads < 2 {
        work()
    } else {
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut answered = work();
            for other in others {
                match other.join() {
                    Ok(more) => answered.extend(more),
                    // The panic goes on to whoever called, as it would on one thread.
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            answered
        })
    };
    let mut answers: Vec<Option<Result<Found>>> = requests.iter().map(|_| None).collect();
    for (place, answer) in answered {
        answers[place] = Some(answer);
    }
    answers
}
