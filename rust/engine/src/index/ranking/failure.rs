//! Why there is no snapshot.

use rusqlite::ErrorCode;

/// What is to be read is damaged, or more than a snapshot can count: FTS5 must rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unfit;

/// Why nothing was made.
#[derive(Debug)]
pub(super) enum Failure {
    Sqlite(rusqlite::Error),
    Unfit,
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Unfit> for Failure {
    fn from(_: Unfit) -> Self {
        Self::Unfit
    }
}

/// Whether SQLite, or one of our loops, stopped because nobody waits any more.
pub(super) fn is_interrupt(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted)
}
