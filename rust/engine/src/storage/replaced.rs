//! A handle rejects a file that replaced its file (spec/index.md, "Replacing the file").

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode as SqliteCode, OpenFlags};

use super::identity::{FileRecord, Stamp, has_moved, recorded, try_identify};
use super::location::Location;
use super::read_only;
use super::sidecar::{LOG, SHARED, sidecar};
use crate::error::{Error, ErrorCode, Result};
use crate::sync::atomic::Ordering;
use crate::sync::thread;

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
        let [log, shared] = [LOG, SHARED].map(|suffix| sidecar(path, suffix));
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
        *self.watch.known() = stamp.map(|stamp| FileRecord { stamp, identity });
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

    /// Return an error if the file of the handle was replaced. Callers with connections call it
    /// after reading and before returning.
    ///
    /// It costs one look at the file, unless the file was written since the last one.
    pub(super) fn check_file(&self) -> Result<()> {
        let Some(path) = self.path() else {
            return Ok(());
        };
        if self.watch.replaced.load(Ordering::Relaxed) {
            return Err(self.replaced());
        }
        // A missing file was removed: data read from it is still valid.
        let Some(stamp) = Stamp::of(path) else {
            return Ok(());
        };
        let identity = match self.watch.known().as_ref() {
            None => return Ok(()),
            Some(known) if known.stamp == stamp => return Ok(()),
            Some(known) if known.stamp.file != stamp.file => return Err(self.replaced()),
            Some(known) => known.identity.clone(),
        };
        if identity.is_some() && self.identity_now(path)? != identity {
            return Err(self.replaced());
        }
        if let Some(known) = self.watch.known().as_mut() {
            known.stamp = stamp;
        }
        Ok(())
    }

    /// Return the current identity of the file; None if it is damaged, or not an index.
    ///
    /// While another file is copied over it, or a checkpoint is written into it, reading may fail
    /// in any way. Such failures are retried.
    fn identity_now(&self, path: &Path) -> Result<Option<String>> {
        const ATTEMPTS: u32 = 20;
        const PAUSE: Duration = Duration::from_millis(10);
        for _ in 0..ATTEMPTS {
            if let Some(found) = identity_in(path) {
                return Ok(Some(found));
            }
            thread::sleep(PAUSE);
        }
        match self.identity_with_log() {
            Err(error)
                if matches!(
                    error.code(),
                    ErrorCode::IndexDamaged | ErrorCode::NotAnIndex
                ) =>
            {
                Ok(None)
            }
            found => found,
        }
    }

    /// The identity as the write-ahead log has it, or else the file.
    ///
    /// The transaction that made it may be in the log alone; and without its log a file cannot be
    /// read whose checkpoint a full disk ended. But the log may be that of a file that is just being
    /// replaced: this is asked only when nothing could be read from the file itself for a while.
    fn identity_with_log(&self) -> Result<Option<String>> {
        let connection = self.connection(true)?;
        let found = recorded(&connection).map_err(|error| self.error(&error))?;
        Ok(found.0)
    }

    /// Whether there is another file where that of the handle was.
    pub fn is_replaced(&self) -> bool {
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

/// The identity in the file itself, whatever its write-ahead log holds; none where its parts do not
/// agree, as while a checkpoint writes old pages among those that are copied over them.
fn identity_in(path: &Path) -> Option<String> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(read_only::immutable_uri(path), flags);
    let (in_file, in_settings) = opened.and_then(|connection| recorded(&connection)).ok()?;
    (in_file == in_settings).then_some(in_file).flatten()
}
