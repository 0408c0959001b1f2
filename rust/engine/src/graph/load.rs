//! Reading the tables of a store, those of a large one on several threads.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::index::{Index, settings};
use crate::interrupt;

/// Up to how many ids a table is read in one piece.
const SMALL: i64 = 50_000;
/// In how many pieces a larger one is read.
const PIECES: i64 = 16;
/// More threads than this find nothing to do.
const MOST_THREADS: usize = 8;

/// A table in one state.
pub(super) struct Table<'s> {
    pub index: &'s Index,
    /// A connection that reads this state.
    pub connection: &'s Connection,
    /// The setting that counts the table's changes, and what it says in this state.
    pub generation: (&'static str, i64),
}

impl Table<'_> {
    /// Read every piece, on this thread and on others; the answers stand as the pieces do.
    ///
    /// The others have connections of their own, and leave the work to the rest where these see
    /// another state.
    pub fn read<P: Sync, T: Send>(
        &self,
        pieces: &[P],
        read: impl Fn(&Connection, &P) -> rusqlite::Result<T> + Sync,
    ) -> rusqlite::Result<Vec<T>> {
        let next = AtomicUsize::new(0);
        let stop = Arc::new(AtomicBool::new(false));
        let work = |connection: &Connection| {
            let mut answers = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(piece) = pieces.get(place) else {
                    break;
                };
                let answer = read(connection, piece);
                stop.fetch_or(answer.is_err(), Ordering::Relaxed);
                answers.push((place, answer?));
            }
            Ok(answers)
        };
        let (index, generation) = (self.index, self.generation);
        let help = || {
            let stopped = Arc::clone(&stop);
            let is_unwanted = move || stopped.load(Ordering::Relaxed);
            interrupt::watched(is_unwanted, || in_state(index, generation, &work))
        };
        let mut answers = thread::scope(|scope| {
            let helpers: Vec<_> = (1..threads().min(pieces.len()))
                .filter_map(|_| thread::Builder::new().spawn_scoped(scope, help).ok())
                .collect();
            let mut answers = work(self.connection)?;
            for helper in helpers {
                answers.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic))?);
            }
            Ok::<_, rusqlite::Error>(answers)
        })?;
        answers.sort_unstable_by_key(|(place, _)| *place);
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    }
}

/// Do work on a connection of its own if that sees this state; without one there is none.
fn in_state<T>(
    index: &Index,
    (name, generation): (&str, i64),
    work: impl Fn(&Connection) -> rusqlite::Result<Vec<T>>,
) -> rusqlite::Result<Vec<T>> {
    let Ok(connection) = index.another_reader() else {
        return Ok(Vec::new());
    };
    let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Deferred)?;
    if settings::get(&transaction, name)? == Some(generation) {
        work(&transaction)
    } else {
        Ok(Vec::new())
    }
}

/// How many threads there is work for.
pub(super) fn threads() -> usize {
    thread::available_parallelism()
        .map_or(1, NonZeroUsize::get)
        .min(MOST_THREADS)
}

/// The ids from 1 to the last, in pieces: above the first of each, up to the second.
pub(super) fn pieces(last: i64) -> Vec<(i64, i64)> {
    if last <= SMALL {
        return vec![(0, last)];
    }
    let end = |piece: i64| (i128::from(last) * i128::from(piece) / i128::from(PIECES)) as i64;
    (0..PIECES)
        .map(|piece| (end(piece), end(piece + 1)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_every_id_once() {
        for last in [0, 1, SMALL, SMALL + 1, 1_000_003, i64::MAX] {
            let pieces = pieces(last);
            assert_eq!((pieces[0].0, pieces[pieces.len() - 1].1), (0, last));
            assert!(
                pieces.windows(2).all(|pair| pair[0].1 == pair[1].0),
                "{last}"
            );
        }
    }
}
