//! Where an index is, and how its connections are opened.

use std::fmt::{self, Display, Formatter};
use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode as SqliteCode, FileControl, OpenFlags, vtab::array};

use super::identity::Watch;
use super::read_only;
use super::subject::Subjects;
use crate::error::{Error, ErrorCode, Result};
use crate::interrupt;
use crate::named_enum;
use crate::text::tokenizer;

/// How long a connection waits for a lock that another process holds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// Steps of SQLite between two checks for cancellation.
const STEPS: i32 = 1000;
/// The largest database in memory: SQLite allocates it in one piece of less than 2 GiB.
const MEMORY_LIMIT: i64 = 0x7fff_f000;

named_enum! {
    /// What of the acknowledged writes is kept if the power fails. A killed process loses none in either case.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum Durability {
        /// All but the last transactions: a write does not wait for the disk.
        #[default]
        Normal = "normal",
        /// All of them: each write waits until it is on the disk.
        Full = "full",
    }
}

impl Durability {
    /// The statements that give a connection this durability. `fullfsync` is for macOS, whose fsync does not wait for the
    /// cache of the disk; other systems ignore it.
    pub(super) fn statements(self) -> &'static str {
        match self {
            Self::Normal => "PRAGMA synchronous = NORMAL;",
            Self::Full => {
                "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;
                 PRAGMA checkpoint_fullfsync = ON;"
            }
        }
    }
}

/// Where a database is, and what its connections know of it.
#[derive(Debug, Clone)]
pub struct Location {
    pub(super) medium: Medium,
    subjects: Subjects,
    durability: Durability,
    /// The identity of the file. Clones share it.
    pub(super) watch: Arc<Watch>,
}

#[derive(Debug, Clone)]
pub(super) enum Medium {
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
        if path.as_os_str().is_empty() {
            return Err(io("the path is empty; give the path of a file".to_owned()));
        }
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
                durability: Durability::default(),
                watch: Arc::default(),
            }),
        }
    }

    /// Return the same place with a durability of the connections opened from now on.
    #[must_use]
    pub fn with_durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// Return the durability of writes through this handle.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// Return a database in memory with a unique name.
    pub fn memory(subjects: Subjects) -> Self {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        Self {
            medium: Medium::Memory(COUNTER.fetch_add(1, Ordering::Relaxed)),
            subjects,
            durability: Durability::default(),
            watch: Arc::default(),
        }
    }

    /// The absolute path of the file.
    pub fn path(&self) -> Option<&PathBuf> {
        match &self.medium {
            Medium::File(path) | Medium::Immutable(path) => Some(path),
            Medium::Memory(_) => None,
        }
    }

    /// Return the subjects of the file that this handle knows.
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
        // Not SQLITE_OPEN_READ_ONLY: such a connection leaves the files of the write-ahead log
        // behind. Without permission to write, SQLite still reads.
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

    /// Open another connection. A removed file is not created again, and a replaced one is refused.
    pub fn connection(&self, read_only: bool) -> Result<Connection> {
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE, read_only)?;
        self.keep_log(&connection, true)?;
        Ok(connection)
    }

    /// Set whether closing a connection leaves the write-ahead log unchanged. Otherwise SQLite
    /// moves it into the file as the last connection closes. That file must not be a replacement of
    /// ours.
    pub(super) fn keep_log(&self, connection: &Connection, keep: bool) -> Result<()> {
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep)
            .map(drop)
            .map_err(|error| self.error(&error))
    }

    fn connect(&self, flags: OpenFlags, read_only: bool) -> Result<Connection> {
        let at = |error: rusqlite::Error| self.error(&error);
        let mut connection = self.open(flags).map_err(at)?;
        // Before anything is read: SQLite would take the write-ahead log of the file that was
        // replaced, which connections have open, for that of the other one.
        self.check_connection(&connection)?;
        self.configure(&mut connection, read_only).map_err(at)?;
        Ok(connection)
    }

    pub(super) fn try_connect(
        &self,
        flags: OpenFlags,
        read_only: bool,
    ) -> rusqlite::Result<Connection> {
        let mut connection = self.open(flags)?;
        self.configure(&mut connection, read_only)?;
        Ok(connection)
    }

    fn open(&self, flags: OpenFlags) -> rusqlite::Result<Connection> {
        tokenizer::prepare();
        // A connection serves one thread at a time, so it needs no mutex.
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
        match &self.medium {
            Medium::File(path) => Connection::open_with_flags(path, flags),
            Medium::Immutable(path) => Connection::open_with_flags(
                read_only::immutable_uri(path),
                flags | OpenFlags::SQLITE_OPEN_URI,
            ),
            Medium::Memory(number) => Connection::open_with_flags(
                format!("file:/hedgerow-{number}?vfs=memdb"),
                flags | OpenFlags::SQLITE_OPEN_URI,
            ),
        }
    }

    fn configure(&self, connection: &mut Connection, read_only: bool) -> rusqlite::Result<()> {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.execute_batch(self.durability.statements())?;
        connection.execute_batch(
            "PRAGMA trusted_schema = OFF;
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
        array::load_module(connection)?;
        // SQLite checks for cancellation after this number of steps.
        connection.progress_handler(STEPS, Some(interrupt::is_due))?;
        for subject in self.subjects {
            (subject.register)(connection)?;
        }
        Ok(())
    }

    /// Switch a file to a write-ahead log, so that readers and a writer do not wait for each other.
    ///
    /// SQLite does not wait for its lock here. Two processes that create a file together would fail
    /// immediately.
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
