//! The part of a file that its connections, background threads and caches need.

use std::time::Duration;

use rusqlite::{Connection, ErrorCode as SqliteCode, Transaction, TransactionBehavior};

use super::location::Location;
use super::subject::{Maintenance, Subjects};
use crate::error::{Error, Result};

/// Opens, uses and closes the connections of a handle: a [`Location`], or a fake without a file in tests of
/// interleavings.
pub trait Connector: Clone + Send + Sync + 'static {
    /// A connection. It serves one thread at a time.
    type Connection: Send + 'static;

    /// Whether readers and a writer must take turns. SQLite lets them work at the same time in a file.
    fn takes_turns(&self) -> bool;

    /// Open a read connection.
    fn connect(&self) -> Result<Self::Connection>;

    /// Whether a connection has no open transaction, so that another caller can use it.
    fn is_idle(connection: &Self::Connection) -> bool;

    /// Call `work` in a read transaction, or with the error if none can begin.
    fn in_transaction(
        &self,
        connection: &Self::Connection,
        work: impl FnOnce(Result<&Self::Connection>),
    );

    /// Do one step of maintenance on the write connection. Does not wait for other processes.
    fn maintain(&self, writer: &Self::Connection) -> Result<Progress>;

    /// Move the write-ahead log into the file. Waits neither for readers nor for a writer.
    fn checkpoint(&self) -> Result<()>;

    /// Close all connections of a handle.
    fn close(&self, connections: Vec<Self::Connection>);

    /// The error of SQLite as an error of this file.
    fn error(&self, error: &rusqlite::Error) -> Error;
}

/// The result of an attempt at a step of maintenance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// A step was done, and another one is left to do.
    Unfinished,
    /// Nothing is left to do.
    Finished,
    /// Another thread or process writes.
    Waiting,
    /// The handle is closed, has no write connection or its file was replaced.
    Ended,
}

impl Connector for Location {
    type Connection = Connection;

    fn takes_turns(&self) -> bool {
        self.path().is_none()
    }

    fn connect(&self) -> Result<Connection> {
        self.connection(true)
    }

    fn is_idle(connection: &Connection) -> bool {
        connection.is_autocommit()
    }

    fn in_transaction(&self, connection: &Connection, work: impl FnOnce(Result<&Connection>)) {
        match Transaction::new_unchecked(connection, TransactionBehavior::Deferred) {
            Ok(transaction) => work(Ok(&transaction)),
            Err(error) => work(Err(self.error(&error))),
        }
    }

    fn maintain(&self, writer: &Connection) -> Result<Progress> {
        if self.check_file().is_err() {
            return Ok(Progress::Ended);
        }
        match step(self.subjects(), writer) {
            Ok(true) => Ok(Progress::Unfinished),
            Ok(false) => Ok(Progress::Finished),
            Err(error) => match error.sqlite_error_code() {
                Some(SqliteCode::DatabaseBusy) => Ok(Progress::Waiting),
                _ => Err(self.error(&error)),
            },
        }
    }

    fn checkpoint(&self) -> Result<()> {
        self.check_file()?;
        let made = self
            .connect()?
            .execute_batch("PRAGMA wal_checkpoint(PASSIVE)");
        made.map_err(|error| self.error(&error))
    }

    /// Pages in the write-ahead log belong in the file that they were written for.
    fn close(&self, connections: Vec<Connection>) {
        if !self.is_replaced() {
            for connection in &connections {
                // The next process that opens the file reads the rest of the log from there.
                let _ = self.keep_log(connection, false);
            }
        }
    }

    fn error(&self, error: &rusqlite::Error) -> Error {
        self.error(error)
    }
}

/// Do one step of each subject in a transaction. Returns whether another step is left to do.
fn step(subjects: Subjects, connection: &Connection) -> rusqlite::Result<bool> {
    let transaction = begin(connection)?;
    let mut is_unfinished = false;
    for maintenance in maintained(subjects) {
        is_unfinished |= (maintenance.step)(&transaction)?;
    }
    transaction.commit()?;
    Ok(is_unfinished)
}

/// Begin a write transaction without waiting for another process.
fn begin(connection: &Connection) -> rusqlite::Result<Transaction<'_>> {
    let timeout = connection.query_row("PRAGMA busy_timeout", [], |row| row.get(0))?;
    connection.busy_timeout(Duration::ZERO)?;
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate);
    // Later writes of this connection wait as long as before.
    connection.busy_timeout(Duration::from_millis(timeout))?;
    transaction
}

/// The maintenance of all subjects that have some.
pub(super) fn maintained(subjects: Subjects) -> impl Iterator<Item = &'static Maintenance> {
    subjects
        .iter()
        .filter_map(|subject| subject.maintenance.as_ref())
}
