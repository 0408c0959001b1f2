//! Why there is no snapshot.

/// What is to be read is damaged, or more than a snapshot can count: FTS5 must rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unfit;

/// Why nothing was made.
#[derive(Debug)]
pub(super) enum Failure {
    Sqlite(rusqlite::Error),
    Unfit,
    Stopped,
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
