//! The reasons for a missing snapshot.

use rusqlite::ErrorCode;

/// Why no segment can be made of what there is: FTS5 must rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotLoadable {
    /// The stored tables contradict each other.
    Damaged,
    /// The index exceeds the counters of a segment.
    TooLarge,
    /// Memory ran out.
    OutOfMemory,
}

impl NotLoadable {
    /// The message for users.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Damaged => {
                "the index is damaged: what it says of chunks and of words does not agree; look at \
                 check()"
            }
            Self::TooLarge => "the index has more than memory can count",
            Self::OutOfMemory => "there is not enough memory",
        }
    }
}

/// Why nothing was made.
#[derive(Debug)]
pub(super) enum LoadError {
    Sqlite(rusqlite::Error),
    NotLoadable(NotLoadable),
}

impl From<rusqlite::Error> for LoadError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<NotLoadable> for LoadError {
    fn from(unfit: NotLoadable) -> Self {
        Self::NotLoadable(unfit)
    }
}

/// Whether SQLite, or one of our loops, stopped because nobody waits any more.
pub(super) fn is_interrupt(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted)
}
