//! The identity of the file of a handle, by which it notices a replaced file (spec/index.md, "Replacing the
//! file").
//!
//! SQLite does not notice. After a rename over the file, open connections read the old file and later
//! connections read the new one. After a copy over it, pages of the new file are mixed with pages of the old
//! one in memory and in the write-ahead log.
//!
//! A handle therefore knows its file by device and inode, and by a random identity. A separate table has the
//! identity; it is never written again and so is read from the file. The table `settings` has it too; every
//! transaction writes it, so that it is read from the write-ahead log if the log has pages.

use std::fs::{self, Metadata};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::settings::{self, IDENTITY};
use crate::sync::atomic::AtomicBool;
use crate::sync::{Mutex, MutexGuard, lock};

/// The file of a handle at the last check.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// None in memory, and before the handle is open.
    known: Mutex<Option<FileRecord>>,
    /// Whether the file was replaced. The handle is unusable from then on.
    pub replaced: AtomicBool,
}

#[derive(Debug)]
pub(super) struct FileRecord {
    pub stamp: Stamp,
    /// None for a file that an earlier hedgerow made and that was not opened for writing since.
    pub identity: Option<String>,
}

impl Watch {
    pub(super) fn known(&self) -> MutexGuard<'_, Option<FileRecord>> {
        lock(&self.known)
    }
}

/// The signature of a file from the operating system. It changes only when the file is written,
/// which hedgerow does only at checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Device and inode.
    pub file: (u64, u64),
    size: u64,
    /// When it was last changed: seconds and nanoseconds.
    changed: (i64, i64),
}

impl Stamp {
    pub(super) fn of(path: &Path) -> Option<Self> {
        fs::metadata(path)
            .ok()
            .map(|metadata| Self::from(&metadata))
    }
}

impl From<&Metadata> for Stamp {
    #[cfg(unix)]
    fn from(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            file: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Windows does not rename over a file that SQLite has open.
    #[cfg(not(unix))]
    fn from(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok();
        let since = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let since = since.unwrap_or_default();
        Self {
            file: (0, 0),
            size: metadata.len(),
            changed: (
                i64::try_from(since.as_secs()).unwrap_or_default(),
                i64::from(since.subsec_nanos()),
            ),
        }
    }
}

/// Give a file a new identity.
pub(super) fn renew(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS identity (value TEXT NOT NULL) STRICT;
         DELETE FROM identity;
         INSERT INTO identity VALUES (lower(hex(randomblob(16))));
         INSERT OR REPLACE INTO settings SELECT 'identity', value FROM identity;",
    )
}

/// The identity as the file has it and as `settings` has it.
pub(super) fn recorded(
    connection: &Connection,
) -> rusqlite::Result<(Option<String>, Option<String>)> {
    let tables: u32 = connection.query_row(
        "SELECT count(*) FROM sqlite_schema WHERE name IN ('identity', 'settings')",
        [],
        |row| row.get(0),
    )?;
    if tables < 2 {
        return Ok((None, None));
    }
    let in_file = connection
        .query_row("SELECT value FROM identity", [], |row| row.get(0))
        .optional()?;
    Ok((in_file, settings::get(connection, IDENTITY)?))
}

pub(super) fn try_identify(connection: &Connection) -> rusqlite::Result<()> {
    let is_identified = |connection: &Connection| -> rusqlite::Result<bool> {
        Ok(matches!(recorded(connection)?, (Some(_), Some(_))))
    };
    if is_identified(connection)? {
        return Ok(());
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Another process may have been first while this one waited.
    if !is_identified(&transaction)? {
        renew(&transaction)?;
    }
    transaction.commit()?;
    // Out of the write-ahead log into the file, where a copy over the file replaces it.
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

/// Whether the name of the file that a connection has open is that of another one by now, or of
/// none.
#[cfg(unix)]
pub(super) fn has_moved(connection: &Connection) -> bool {
    let mut moved = 0;
    let known = connection.file_control(None::<&str>, rusqlite::FileControl::HasMoved(&mut moved));
    known.is_ok() && moved != 0
}

/// Windows neither renames nor replaces a file that is open.
#[cfg(not(unix))]
pub(super) const fn has_moved(_: &Connection) -> bool {
    false
}
