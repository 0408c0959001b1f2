//! Which file a handle is on, so that it notices when another one is put in its place
//! (spec/index.md, "Replacing the file").
//!
//! SQLite does not notice. After a rename over the file, connections that are open read the old file
//! and those opened later read the new one. After a copy over it, pages of the new file are mixed
//! with those of the old one that are in memory and in the write-ahead log.
//!
//! So a handle knows its file by device and inode, and by a random identity. The identity is in a
//! table of its own, which is never written again and so is read from the file; and in `settings`,
//! which every transaction writes, so that it is read from the write-ahead log where that has any.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{
    Connection, ErrorCode as SqliteCode, FileControl, OptionalExtension, Transaction,
    TransactionBehavior,
};

use super::location::Location;
use super::settings::{self, IDENTITY};
use crate::error::{Error, ErrorCode, Result};

/// The file of a handle, as it was when it was last found to be the same.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// None in memory, and before the handle is open.
    known: Mutex<Option<Known>>,
    /// Whether the file was found to be another one. The handle is of no use from then on.
    replaced: AtomicBool,
}

#[derive(Debug)]
struct Known {
    stamp: Stamp,
    /// None for a file that an earlier hedgerow made and that was not opened for writing since.
    identity: Option<String>,
}

impl Watch {
    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the operating system says of a file. It stays the same until the file is written, which
/// hedgerow does at checkpoints only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    /// Device and inode.
    file: (u64, u64),
    size: u64,
    /// When it was last changed: seconds and nanoseconds.
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
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
fn recorded(connection: &Connection) -> rusqlite::Result<(Option<String>, Option<String>)> {
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

impl Location {
    /// Refuse a file with the write-ahead log of another one, which SQLite takes for its own.
    pub(super) fn check_log(&self, connection: &Connection) -> Result<()> {
        let Some(path) = self.path() else {
            return Ok(());
        };
        let found = recorded(connection).map_err(|error| self.error(&error))?;
        let (Some(in_file), Some(in_settings)) = found else {
            return Ok(());
        };
        if in_file == in_settings {
            return Ok(());
        }
        // Closing must not move that log into this file.
        self.keep_log(connection, true)?;
        let [log, shared] = beside(path);
        if fs::metadata(&log).map_or(0, |metadata| metadata.len()) == 0 {
            return Err(self.damaged("its identity is not the one in its settings"));
        }
        Err(Error::new(
            ErrorCode::IndexReplaced,
            format!(
                "{self} has beside it the write-ahead log of a file that it replaced; close it in \
                 every process, remove {} and {}, and open it again",
                log.display(),
                shared.display()
            ),
        ))
    }

    /// Give the file an identity, unless it has one or cannot be written.
    pub(super) fn identify(&self, connection: &Connection) -> Result<()> {
        if self.path().is_none() {
            return Ok(());
        }
        match try_identify(connection) {
            Err(error) if error.sqlite_error_code() != Some(SqliteCode::ReadOnly) => {
                Err(self.error(&error))
            }
            _ => Ok(()),
        }
    }

    /// Take the file that `connection` has open for that of the handle.
    pub(super) fn note_file(&self, connection: &Connection) -> Result<()> {
        let Some(path) = self.path() else {
            return Ok(());
        };
        let stamp = Stamp::of(path);
        let (identity, _) = recorded(connection).map_err(|error| self.error(&error))?;
        if has_moved(connection) {
            return Err(self.replaced());
        }
        *self.watch.known() = stamp.map(|stamp| Known { stamp, identity });
        Ok(())
    }

    /// Refuse a connection to another file than that of the handle.
    pub(super) fn check_connection(&self, connection: &Connection) -> Result<()> {
        let known = self.watch.known().as_ref().map(|known| known.stamp.file);
        let (Some(path), Some(known)) = (self.path(), known) else {
            return Ok(());
        };
        let is_other = Stamp::of(path).is_some_and(|stamp| stamp.file != known);
        if is_other || has_moved(connection) {
            return Err(self.replaced());
        }
        Ok(())
    }

    /// Fail when there is another file where that of the handle was. To be called by whoever may
    /// use connections, after reading and before answering.
    ///
    /// That is one look at the file, unless it was written since the last one.
    pub(super) fn check_file(&self) -> Result<()> {
        let Some(path) = self.path() else {
            return Ok(());
        };
        if self.watch.replaced.load(Ordering::Relaxed) {
            return Err(self.replaced());
        }
        // A file that is gone was removed: what is read from it is right all the same.
        let Some(stamp) = Stamp::of(path) else {
            return Ok(());
        };
        let identity = match self.watch.known().as_ref() {
            None => return Ok(()),
            Some(known) if known.stamp == stamp => return Ok(()),
            Some(known) if known.stamp.file != stamp.file => return Err(self.replaced()),
            Some(known) => known.identity.clone(),
        };
        if identity.is_some() {
            // A new connection, which has nothing of the file in memory.
            let found = self.connection(true).and_then(|connection| {
                let found = recorded(&connection).map_err(|error| self.error(&error))?;
                Ok(found.0)
            });
            match found {
                Ok(found) if found == identity => {}
                // A file that is being copied over ours, or is none of hedgerow's.
                Err(error)
                    if !matches!(
                        error.code(),
                        ErrorCode::IndexDamaged | ErrorCode::NotAnIndex
                    ) =>
                {
                    return Err(error);
                }
                _ => return Err(self.replaced()),
            }
        }
        if let Some(known) = self.watch.known().as_mut() {
            known.stamp = stamp;
        }
        Ok(())
    }

    /// Whether there is another file where that of the handle was.
    pub(super) fn is_replaced(&self) -> bool {
        let found = self.check_file();
        found.is_err_and(|error| error.code() == ErrorCode::IndexReplaced)
    }

    fn replaced(&self) -> Error {
        self.watch.replaced.store(true, Ordering::Relaxed);
        Error::new(
            ErrorCode::IndexReplaced,
            format!(
                "{self} was replaced by another file while it was open; close it and open it again"
            ),
        )
    }
}

fn try_identify(connection: &Connection) -> rusqlite::Result<()> {
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
/// none. SQLite knows for files on Unix.
fn has_moved(connection: &Connection) -> bool {
    let mut moved = 0;
    let known = connection.file_control(None::<&str>, FileControl::HasMoved(&mut moved));
    known.is_ok() && moved != 0
}

/// The two files that SQLite keeps beside one, whose name may be a link: the write-ahead log and
/// what its connections share of it.
pub(super) fn beside(path: &Path) -> [PathBuf; 2] {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    ["-wal", "-shm"].map(|ending| {
        let mut name = real.clone().into_os_string();
        name.push(ending);
        PathBuf::from(name)
    })
}
