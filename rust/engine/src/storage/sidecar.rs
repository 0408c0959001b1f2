//! The files that SQLite keeps next to a database. SQLite names them after the file itself, also if the file
//! is opened through a link.

use std::fs;
use std::path::{Path, PathBuf};

/// The write-ahead log.
pub(super) const LOG: &str = "-wal";
/// The shared memory of the connections for the write-ahead log.
pub(super) const SHARED: &str = "-shm";
/// The rollback journal of a file without a write-ahead log.
pub(super) const JOURNAL: &str = "-journal";

/// Return the file with this suffix next to a database.
pub(super) fn sidecar(file: &Path, suffix: &str) -> PathBuf {
    let mut name = followed(file).into_os_string();
    name.push(suffix);
    PathBuf::from(name)
}

/// The file that a path leads to; the path itself where there is none.
pub(super) fn followed(file: &Path) -> PathBuf {
    fs::canonicalize(file).unwrap_or_else(|_| file.to_owned())
}
