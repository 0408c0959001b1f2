//! Reading a large table in pieces, on several threads that see the same state.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::background::Background;
use super::settings;
use crate::interrupt;

/// More threads than this find nothing to do.
const MOST_THREADS: usize = 8;
/// In how many pieces a table is read that has more rows than [`SMALL`].
const PIECES: i64 = 16;
const SMALL: i64 = if cfg!(test) { 50 } else { 20_000 };

/// The numbers from 1 to the last, in pieces: above the first of each, up to the second.
pub(super) fn pieces(last: i64) -> Vec<(i64, i64)> {
    if last <= SMALL {
        return vec![(0, last)];
    }
    let end = |piece: i64| {
        let end = i128::from(last) * i128::from(piece) / i128::from(PIECES);
        i64::try_from(end).unwrap_or(last)
    };
    let piece = |piece| (end(piece), end(piece + 1));
    (0..PIECES).map(piece).collect()
}

/// Read every piece, on this thread and on others; the answers stand as the pieces do.
///
/// `generation` is a setting that counts the changes of what is read, and its value in the state
/// that `connection` sees. The others have connections of their own, and leave the work to the rest
/// where these see another state.
pub(super) fn read<P: Sync, T: Send>(
    background: &Background,
    connection: &Connection,
    generation: (&str, i64),
    pieces: &[P],
    read: impl Fn(&Connection, &P) -> rusqlite::Result<T> + Sync,
) -> rusqlite::Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let stop = Arc::new(AtomicBool::new(false));
    let work = |connection: &Connection| {
        let mut answers = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(nth) else {
                break;
            };
            let answer = read(connection, piece);
            stop.fetch_or(answer.is_err(), Ordering::Relaxed);
            answers.push((nth, answer?));
        }
        Ok(answers)
    };
    let help = || {
        let stopped = Arc::clone(&stop);
        let is_unwanted = move || stopped.load(Ordering::Relaxed);
        interrupt::watched(is_unwanted, || in_state(background, generation, work))
    };
    let mut answers = thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads().min(pieces.len()))
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, help).ok())
            .collect();
        let mut answers = work(connection);
        for helper in helpers {
            let more = helper.join().unwrap_or_else(|panic| resume_unwind(panic));
            if let Ok(answers) = &mut answers {
                answers.extend(more?);
            }
        }
        answers
    })?;
    answers.sort_unstable_by_key(|(nth, _)| *nth);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

/// Do work on a connection of its own if that sees this state; without one there is none.
fn in_state<T>(
    background: &Background,
    (name, generation): (&str, i64),
    work: impl Fn(&Connection) -> rusqlite::Result<Vec<T>>,
) -> rusqlite::Result<Vec<T>> {
    let Ok(connection) = background.connection() else {
        return Ok(Vec::new());
    };
    let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Deferred)?;
    if settings::get::<i64>(&transaction, name)?.unwrap_or_default() == generation {
        work(&transaction)
    } else {
        Ok(Vec::new())
    }
}

/// How many threads there is work for.
fn threads() -> usize {
    thread::available_parallelism()
        .map_or(1, NonZeroUsize::get)
        .min(MOST_THREADS)
}
