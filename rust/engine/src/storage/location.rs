//! Where an index is, how its connections are opened, and its SQLite errors in our words.

use std::fmt::{self, Display, Formatter};
use std::path::{self, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode as SqliteCode, FileControl, OpenFlags, vtab::array};

use super::damage;
use super::read_only;
use super::subject::Subjects;
use crate::error::{Error, ErrorCode, Result};
use crate::interrupt;
use crate::text::tokenizer;

/// How long a connection waits for a lock that another process holds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// After how many steps SQLite asks whether to go on.
const STEPS: i32 = 1000;
/// The largest database in memory: SQLite allocates it in one piece of less than 2 GiB.
const MEMORY_LIMIT: i64 = 0x7fff_f000;

/// Where a database is, and what its connections know of it.
#[derive(Debug, Clone)]
pub struct Location {
    medium: Medium,
    subjects: Subjects,
}

#[derive(Debug, Clone)]
enum Medium {
    File(PathBuf),
    /// A file where nothing can be written, read as one that nobody changes.
    Immutable(PathBuf),
    /// A database in memory that all connections of one handle share, by its number.
    Memory(u64),
}

impl Location {
    /// An index file, which must exist to be opened read-only.
    pub fn file(path: &Path, read_only: bool, subjects: Subjects) -> Result<Self> {
        let io = |message: String| Error::new(ErrorCode::IndexIo, message);
        // An absolute path is never taken for a URI, and outlives a change of directory.
        let absolute = path::absolute(path).map_err(|error| {
            io(format!(
                "the path {} cannot be used: {error}",
                path.display()
            ))
        })?;
        if absolute.is_dir() {
            return Err(io(format!(
                "{} is a folder; give the path of a file in it",
                absolute.display()
            )));
        }
        if read_only && !absolute.exists() {
            return Err(Error::new(
                ErrorCode::IndexNotFound,
                format!(
                    "there is no index at {}; check the path, or open it without read_only to \
                     make one",
                    absolute.display()
                ),
            ));
        }
        match absolute.parent() {
            Some(folder) if !folder.is_dir() => Err(io(format!(
                "the folder {} does not exist; create it first",
                folder.display()
            ))),
            _ => Ok(Self {
                medium: Medium::File(absolute),
                subjects,
            }),
        }
    }

    /// A database in memory with a name of its own.
    pub fn memory(subjects: Subjects) -> Self {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        Self {
            medium: Medium::Memory(COUNTER.fetch_add(1, Ordering::Relaxed)),
            subjects,
        }
    }

    /// The absolute path of the file.
    pub fn path(&self) -> Option<&PathBuf> {
        match &self.medium {
            Medium::File(path) | Medium::Immutable(path) => Some(path),
            Medium::Memory(_) => None,
        }
    }

    /// What the file holds, as far as this handle knows.
    pub fn subjects(&self) -> Subjects {
        self.subjects
    }

    /// The connection a handle starts with; to write, it makes the file when there is none.
    ///
    /// To read where nothing can be written, all connections of the handle take the file for one
    /// that nobody changes.
    pub fn first_connection(&mut self, read_only: bool) -> Result<Connection> {
        if !read_only {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
            return self
                .try_reading(flags, false)
                .map_err(|error| self.unwritable(&error));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let opened = self.try_reading(flags, true);
        let (error, path) = match (opened, &self.medium) {
            (Ok(connection), _) => return Ok(connection),
            (Err(error), Medium::File(path)) => (error, path.clone()),
            (Err(error), _) => return Err(self.error(&error)),
        };
        if !(read_only::may_explain(&error) && read_only::is_folder_read_only(&path)) {
            return Err(self.error(&error));
        }
        if let Some(log) = read_only::log_of(&path) {
            return Err(self.has_log(&log));
        }
        self.medium = Medium::Immutable(path);
        self.connect(flags, true)
    }

    /// A connection that has read the file: only then it is known whether it can.
    fn try_reading(&self, flags: OpenFlags, read_only: bool) -> rusqlite::Result<Connection> {
        let connection = self.try_connect(flags, read_only)?;
        connection.query_row("PRAGMA schema_version", [], |_| Ok(()))?;
        Ok(connection)
    }

    /// One more connection. A file that was removed meanwhile is not made again.
    pub fn connection(&self, read_only: bool) -> Result<Connection> {
        // Not SQLITE_OPEN_READ_ONLY: such a connection leaves the files of the write-ahead log
        // behind. Where there is no permission to write, SQLite reads all the same.
        self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE, read_only)
    }

    fn connect(&self, flags: OpenFlags, read_only: bool) -> Result<Connection> {
        self.try_connect(flags, read_only)
            .map_err(|error| self.error(&error))
    }

    fn try_connect(&self, flags: OpenFlags, read_only: bool) -> rusqlite::Result<Connection> {
        tokenizer::prepare();
        // A connection serves one thread at a time, so it needs no mutex of its own.
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let mut connection = match &self.medium {
            Medium::File(path) => Connection::open_with_flags(path, flags)?,
            Medium::Immutable(path) => Connection::open_with_flags(
                read_only::immutable_uri(path),
                flags | OpenFlags::SQLITE_OPEN_URI,
            )?,
            Medium::Memory(number) => Connection::open_with_flags(
                format!("file:/hedgerow-{number}?vfs=memdb"),
                flags | OpenFlags::SQLITE_OPEN_URI,
            )?,
        };
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.execute_batch(
            "PRAGMA synchronous = NORMAL;
             PRAGMA trusted_schema = OFF;
             PRAGMA journal_size_limit = 67108864;",
        )?;
        if read_only {
            connection.execute_batch("PRAGMA query_only = ON")?;
        }
        if let Medium::Memory(_) = self.medium {
            let mut limit = MEMORY_LIMIT;
            connection.file_control(None::<&str>, FileControl::SizeLimit(&mut limit))?;
        }
        connection.set_prepared_statement_cache_capacity(32);
        array::load_module(&connection)?;
        // Whoever waits for the call is asked every so many steps of SQLite's machine.
        connection.progress_handler(STEPS, Some(interrupt::is_due))?;
        for subject in self.subjects {
            (subject.register)(&connection)?;
        }
        Ok(connection)
    }

    /// Switch a file to a write-ahead log, so that readers and a writer do not wait for each other.
    ///
    /// SQLite does not wait for its lock here, so two processes that make one file together would
    /// fail at once.
    pub fn write_ahead(&self, connection: &Connection) -> Result<()> {
        const ATTEMPTS: u32 = 200;
        const PAUSE: Duration = Duration::from_millis(25);
        if self.path().is_none() {
            return Ok(());
        }
        for _ in 0..ATTEMPTS {
            let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| {
                row.get::<_, String>(0)
            });
            match mode {
                Ok(mode) if mode == "wal" => return Ok(()),
                Ok(mode) => {
                    return Err(Error::new(
                        ErrorCode::IndexIo,
                        format!(
                            "{self} cannot have a write-ahead log (journal mode {mode}); put it \
                             on a local disk"
                        ),
                    ));
                }
                Err(error) if error.sqlite_error_code() == Some(SqliteCode::DatabaseBusy) => {
                    thread::sleep(PAUSE);
                }
                Err(error) => return Err(self.error(&error)),
            }
        }
        Err(Error::new(
            ErrorCode::IndexBusy,
            format!("{self} was locked by another process for too long; try again"),
        ))
    }

    /// What SQLite reported, in our words.
    pub fn error(&self, error: &rusqlite::Error) -> Error {
        match error {
            rusqlite::Error::NulError(_) | rusqlite::Error::InvalidPath(_) => {
                return Error::new(
                    ErrorCode::IndexIo,
                    format!("{self} cannot be opened: its path holds a NUL character; remove it"),
                );
            }
            _ if damage::is_told_by(error) => return self.damaged(&error.to_string()),
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
                SqliteCode::SystemIoFailure
                | SqliteCode::CannotOpen
                | SqliteCode::PermissionDenied
                | SqliteCode::OutOfMemory,
            ) => (ErrorCode::IndexIo, self.refused(error)),
            _ if self.is_unsound() => return self.damaged(&error.to_string()),
            _ => (
                ErrorCode::EngineFault,
                format!("SQLite refused a statement on {self} ({error}); please report this"),
            ),
        };
        Error::new(code, sentence)
    }

    /// Whether SQLite finds damage in the file. This reads all of it, so it is asked last.
    fn is_unsound(&self) -> bool {
        if let Medium::Memory(_) = self.medium {
            return false;
        }
        let found = self
            .try_connect(OpenFlags::SQLITE_OPEN_READ_WRITE, true)
            .and_then(|connection| {
                let sql = "PRAGMA integrity_check(1)";
                connection.query_row(sql, [], |row| row.get::<_, String>(0))
            });
        match found {
            Ok(found) => found != "ok",
            Err(error) => damage::is_told_by(&error),
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
        Error::new(
            ErrorCode::IndexDamaged,
            format!(
                "{self} is damaged ({what}); restore a backup, or make a new index and upsert \
                 the chunks again"
            ),
        )
    }

    /// The error that the file is not ours.
    pub fn not_an_index(&self) -> Error {
        Error::new(
            ErrorCode::NotAnIndex,
            format!("{self} is not a hedgerow index and was left as it is; give another path"),
        )
    }

    /// What kept a handle from opening the file to write.
    fn unwritable(&self, error: &rusqlite::Error) -> Error {
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
    fn has_log(&self, log: &Path) -> Error {
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

impl Display for Location {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.medium {
            Medium::File(path) | Medium::Immutable(path) => {
                write!(f, "the index {}", path.display())
            }
            Medium::Memory(_) => f.write_str("the index in memory"),
        }
    }
}
