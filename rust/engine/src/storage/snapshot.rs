//! A state of a file that is read in several calls.

use std::process;

use rusqlite::Connection;

use super::connections::WorkError;
use super::database::Database;
use super::fork;
use super::generations::generation;
use super::location::Location;
use crate::error::{Error, ErrorCode, Result};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, PoisonError};

/// A read transaction that stays open between calls of [`Database::in_snapshot`]. While it lives, the
/// write-ahead log keeps later writes, so it should not live long.
///
/// The handle holds its connection, and closes it with the others: when the handle is closed, and before the
/// process forks.
pub struct ReadSnapshot {
    number: u64,
    process: u32,
    pool: fork::HandleConnections<Location>,
}

impl Database {
    /// Begin a snapshot of the current file. None in memory, where an open transaction would block all
    /// writers.
    pub fn snapshot(&self) -> Result<Option<ReadSnapshot>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if self.path().is_none() {
            return Ok(None);
        }
        let snapshot = ReadSnapshot {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            process: self.process,
            pool: Arc::clone(&self.pool),
        };
        // The state is fixed by the first statement that reads.
        let begin = |reader: &Connection| {
            reader.execute_batch("BEGIN")?;
            generation(reader)
        };
        self.with_reader(begin, |pool, reader| {
            pool.put_snapshot(snapshot.number, reader);
        })?;
        Ok(Some(snapshot))
    }

    /// Run `work` on the connection of a snapshot. A call that fails ends the snapshot.
    pub fn in_snapshot<T, E: Into<WorkError>>(
        &self,
        snapshot: &ReadSnapshot,
        work: impl FnOnce(&Connection) -> std::result::Result<T, E>,
    ) -> Result<T> {
        self.with_pool(|pool| {
            let Some(reader) = pool.take_snapshot(snapshot.number) else {
                return Err(Error::new(
                    ErrorCode::IndexClosed,
                    format!(
                        "the iteration over {} was ended by a fork or by an error; begin it again",
                        self.location
                    ),
                ));
            };
            let result = work(&reader).map_err(|error| self.map_error(error));
            if result.is_ok() {
                pool.put_snapshot(snapshot.number, reader);
            }
            self.answer(result)
        })
    }
}

impl Drop for ReadSnapshot {
    fn drop(&mut self) {
        // A forked child has no connection, and a dead thread may hold a lock.
        if process::id() != self.process {
            return;
        }
        let _gate = fork::enter();
        let pool = self.pool.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pool.as_ref()
            && let Some(reader) = pool.take_snapshot(self.number)
        {
            // A connection whose transaction does not end is closed.
            let _ = reader.execute_batch("ROLLBACK");
            pool.return_reader(reader);
        }
    }
}
