//! The files that SQLite keeps beside a database: it names them after the file itself, also where that
//! is opened through a link.

use std::fs;
use std::path::{Path, PathBuf};

/// The write-ahead log.
pub(super) const LOG: &str = "-wal";
/// What the connections to a file share of its write-ahead log.
pub(super) const SHARED: &str = "-shm";
/// The rollback journal of a file without a write-ahead log.
pub(super) const JOURNAL: &str = "-journal";

/// The file of this suffix beside a database.
pub(super) fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = followed(file).into_os_string();
    name.push(suffix);
    PathBuf::from(name)
}

/// The file that a path leads to; the path itself where there is none.
pub(super) fn followed(file: &Path) -> PathBuf {
    fs::canonicalize(file).unwrap_or_else(|_| file.to_owned())
}
