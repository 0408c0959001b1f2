//! Errors of SQLite, in our words.

use std::path::Path;

use rusqlite::{ErrorCode as SqliteCode, OpenFlags, ffi};

use super::damage;
use super::location::{Location, Medium};
use super::{read_only, schema};
use crate::error::{Error, ErrorCode};

/// Whether an error says that SQLite was refused memory, also to read or map a file.
fn is_memory(error: &rusqlite::Error) -> bool {
    let Some(ffi::Error {
        code,
        extended_code,
    }) = error.sqlite_error()
    else {
        return false;
    };
    match code {
        SqliteCode::OutOfMemory => true,
        _ => matches!(
            *extended_code,
            ffi::SQLITE_IOERR_NOMEM | ffi::SQLITE_IOERR_SHMMAP
        ),
    }
}

impl Location {
    /// Return an error of SQLite in our words.
    pub fn error(&self, error: &rusqlite::Error) -> Error {
        match error {
            rusqlite::Error::NulError(_) | rusqlite::Error::InvalidPath(_) => {
                return Error::new(
                    ErrorCode::IndexIo,
                    format!("{self} cannot be opened: its path holds a NUL character; remove it"),
                );
            }
            _ if is_memory(error) => return Error::out_of_memory(),
            _ if damage::is_reported_by(error) => return self.damaged(&error.to_string()),
            _ => {}
        }
        let (code, sentence) = match error.sqlite_error_code() {
            Some(SqliteCode::NotADatabase) => return self.not_an_index(),
            Some(SqliteCode::ReadOnly) => return self.refuse_write(),
            Some(SqliteCode::DatabaseBusy | SqliteCode::DatabaseLocked) => (
                ErrorCode::IndexBusy,
                format!("{self} was locked by another process for too long; try again"),
            ),
            Some(SqliteCode::OperationInterrupted) => (
                ErrorCode::Interrupted,
                format!("a call on {self} was interrupted and changed nothing; call again"),
            ),
            Some(SqliteCode::TooBig) => (
                ErrorCode::InvalidChunk,
                "a text is over SQLite's limit of 1,000,000,000 bytes; split the chunk".to_owned(),
            ),
            Some(SqliteCode::DiskFull) => (ErrorCode::IndexIo, self.full(error)),
            Some(
                SqliteCode::SystemIoFailure | SqliteCode::CannotOpen | SqliteCode::PermissionDenied,
            ) => (ErrorCode::IndexIo, self.refused(error)),
            _ if self.is_unsound() => return self.damaged(&error.to_string()),
            _ => (
                ErrorCode::EngineFault,
                format!("SQLite refused a statement on {self} ({error}); please report this"),
            ),
        };
        Error::new(code, sentence)
    }

    /// Return an error of a commit. The write may be in the log by then, as a whole, and be found there when the file is
    /// opened again: after a failed sync, for example. If the log could not be written, its end is missing, by which a
    /// reader knows a transaction.
    pub(super) fn commit_error(&self, error: &rusqlite::Error) -> Error {
        let found = self.error(error);
        let extended = error.sqlite_error().map(|error| error.extended_code);
        let is_unwritten = matches!(
            extended,
            Some(ffi::SQLITE_FULL | ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_READ)
        );
        if is_unwritten || !matches!(found.code(), ErrorCode::IndexIo | ErrorCode::OutOfMemory) {
            return found;
        }
        Error::new(
            found.code(),
            format!(
                "{self} could not be brought onto its disk ({error}), and it is not known whether this \
                 write was kept, all of it or nothing; check the disk, open the index again, and \
                 repeat the write, which does no harm if it is there"
            ),
        )
    }

    /// Whether SQLite finds damage in the file, or a definition in it is not ours. This reads all of
    /// it, so it is asked last.
    fn is_unsound(&self) -> bool {
        if let Medium::Memory(_) = self.medium {
            return false;
        }
        let found = self
            .try_connect(OpenFlags::SQLITE_OPEN_READ_WRITE, true)
            .and_then(|connection| {
                if !schema::changed_definitions(&connection, self)?.is_empty() {
                    return Ok(false);
                }
                let sql = "PRAGMA integrity_check(1)";
                let found = connection.query_row(sql, [], |row| row.get::<_, String>(0))?;
                Ok(found == "ok")
            });
        match found {
            Ok(sound) => !sound,
            Err(error) => damage::is_reported_by(&error),
        }
    }

    fn refused(&self, error: &rusqlite::Error) -> String {
        match &self.medium {
            Medium::File(_) | Medium::Immutable(_) => format!(
                "{self} cannot be read or written ({error}); check the path, its permissions \
                 and the space on its disk"
            ),
            Medium::Memory(_) => self.full(error),
        }
    }

    fn full(&self, error: &rusqlite::Error) -> String {
        match &self.medium {
            Medium::File(_) | Medium::Immutable(_) => format!(
                "{self} cannot grow ({error}), and nothing of this write was kept; call again \
                 after freeing some of the space on its disk"
            ),
            Medium::Memory(_) => {
                format!("{self} cannot grow ({error}); it holds at most 2 GiB: use Index.open")
            }
        }
    }

    /// The error that something in the file is not as we wrote it.
    pub fn damaged(&self, what: &str) -> Error {
        self.about(Error::new(
            ErrorCode::IndexDamaged,
            format!(
                "{self} is damaged ({what}); restore a backup, or make a new index and upsert \
                 the chunks again"
            ),
        ))
    }

    /// The error that the file is not ours.
    pub fn not_an_index(&self) -> Error {
        self.about(Error::new(
            ErrorCode::NotAnIndex,
            format!("{self} is not a hedgerow index and was left as it is; give another path"),
        ))
    }

    /// Return the error with the path of this file.
    fn about(&self, error: Error) -> Error {
        match self.path() {
            Some(path) => error.with_path(path),
            None => error,
        }
    }

    /// Return the reason that a handle could not open the file for writing.
    pub(super) fn unwritable(&self, error: &rusqlite::Error) -> Error {
        match &self.medium {
            Medium::File(path)
                if path.exists()
                    && read_only::may_explain(error)
                    && read_only::is_folder_read_only(path) =>
            {
                Error::new(
                    ErrorCode::IndexReadOnly,
                    format!(
                        "{self} cannot be written, since its folder is read-only; open it with \
                         read_only to search it, or get write permission on the folder"
                    ),
                )
            }
            _ => self.error(error),
        }
    }

    /// The error that a file cannot be read without its log, nor the log without writing.
    pub(super) fn has_log(&self, log: &Path) -> Error {
        Error::new(
            ErrorCode::IndexReadOnly,
            format!(
                "{self} has writes in {} that are not in the file yet, and reading them needs write \
                 permission on the folder; open it once without read_only where there is, or copy \
                 both files to such a folder",
                log.display()
            ),
        )
    }

    /// The error that the handle, or the file, is read-only.
    pub fn refuse_write(&self) -> Error {
        Error::new(
            ErrorCode::IndexReadOnly,
            format!(
                "{self} is open for reading only; open it without read_only, with write \
                 permission on the file and its folder"
            ),
        )
    }
}
