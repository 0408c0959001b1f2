//! Reading a large table in pieces, on several threads that see the same state.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::background::Background;
use super::settings;
use crate::interrupt;
use crate::sync::parallelism;

/// Up to this number of rows, a table is read in one piece.
const SMALL: i64 = if cfg!(any(test, feature = "testing")) {
    50
} else {
    20_000
};
/// The number of pieces of a larger table.
const PIECES: i64 = 16;
/// The most threads that read a table: with 16 pieces, more would save little.
const MOST_THREADS: usize = 8;

/// A table in one state.
#[derive(Clone, Copy)]
pub struct Table<'s> {
    /// Opens the connections of the other threads.
    pub background: &'s Background,
    /// A connection that reads this state.
    pub connection: &'s Connection,
    /// The setting that counts the table's changes, and its value in this state.
    pub generation: (&'static str, i64),
}

impl Table<'_> {
    /// Read every piece, on this thread and on others. The results are in the order of the pieces.
    ///
    /// The other threads open separate connections. They leave the work to this thread if they see
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
        let (background, generation) = (self.background, self.generation);
        let help = || {
            let stopped = Arc::clone(&stop);
            let is_unwanted = move || stopped.load(Ordering::Relaxed);
            interrupt::with_cancellation(is_unwanted, || in_state(background, generation, work))
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
        answers.sort_unstable_by_key(|(nth, _)| *nth);
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    }
}

/// Do `work` on another connection. Does nothing if no connection can be opened or if it sees another
/// state.
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

/// Return the number of threads that have work.
pub fn threads() -> usize {
    parallelism().min(MOST_THREADS)
}

/// Split the rows from 1 to `last` into ranges `(above, up to)`.
pub fn pieces(last: i64) -> Vec<(i64, i64)> {
    if last <= SMALL {
        return vec![(0, last)];
    }
    let end = |piece: i64| {
        let end = i128::from(last) * i128::from(piece) / i128::from(PIECES);
        i64::try_from(end).unwrap_or(last)
    };
    (0..PIECES)
        .map(|piece| (end(piece), end(piece + 1)))
        .collect()
}
