//! Work on the connections of a handle: reads in parallel, writes in turn.

use std::ops::Deref;
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::database::Database;
use super::fork;
use super::full_disk;
use super::location::Location;
use super::maintenance::Maintainer;
use super::pool::Pool;
use crate::error::{Error, ErrorCode, Result};
use crate::sync::{MutexGuard, PoisonError, lock};

/// Why work on a connection stopped: SQLite did not do it, or we would not.
pub enum WorkError {
    /// SQLite's own error.
    Sqlite(rusqlite::Error),
    /// SQLite's error while it committed a write.
    Commit(rusqlite::Error),
    /// An error of ours.
    Refused(Error),
}

impl From<rusqlite::Error> for WorkError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for WorkError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

/// A transaction for reading, rolled back when dropped; since it writes nothing, that equals a commit.
///
/// Its statements are kept ready: to prepare them each time would be a good part of a small search.
pub struct ReadTransaction<'c>(&'c Connection);

impl<'c> ReadTransaction<'c> {
    /// Begin one.
    pub fn begin(connection: &'c Connection) -> rusqlite::Result<Self> {
        connection.prepare_cached("BEGIN")?.execute([])?;
        Ok(Self(connection))
    }

    fn end(&self) -> rusqlite::Result<()> {
        // SQLite may have ended it by itself, after an error.
        if !self.0.is_autocommit() {
            self.0.prepare_cached("ROLLBACK")?.execute([])?;
        }
        Ok(())
    }
}

impl Deref for ReadTransaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.0
    }
}

impl Drop for ReadTransaction<'_> {
    fn drop(&mut self) {
        // A connection whose transaction does not end is not used again: `Pool::return_reader`
        // drops it.
        let _ = self.end();
    }
}

impl Database {
    /// Run `work` on a read connection, in one transaction: its statements see one state.
    pub fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.on_reader(|reader| {
            let transaction = ReadTransaction::begin(reader)?;
            work(&transaction)
        })
    }

    /// Run `work` on a read connection, outside a transaction.
    pub fn on_reader<T, E: Into<WorkError>>(
        &self,
        work: impl FnOnce(&Connection) -> std::result::Result<T, E>,
    ) -> Result<T> {
        self.with_reader(work, Pool::return_reader)
    }

    /// Run `work` on a read connection, which `put` takes back afterwards.
    pub(super) fn with_reader<T, E: Into<WorkError>>(
        &self,
        work: impl FnOnce(&Connection) -> std::result::Result<T, E>,
        put: impl FnOnce(&Pool<Location>, Connection),
    ) -> Result<T> {
        self.with_pool(|pool| {
            let _shared = pool.share();
            let taken = pool
                .take_reader()
                .map_or_else(|| self.location.connection(true), Ok);
            self.answer(taken.and_then(|reader| {
                let result = work(&reader).map_err(|error| self.map_error(error));
                put(pool, reader);
                result
            }))
        })
    }

    /// Run `work` on the connection that the handle was opened by, so that no other is.
    pub fn on_first<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        if self.read_only {
            self.on_reader(work)
        } else {
            self.on_writer(work)
        }
    }

    /// Run `work` on a read connection that was never used before.
    pub fn on_new_reader<T, E: Into<WorkError>>(
        &self,
        work: impl FnOnce(&Connection) -> std::result::Result<T, E>,
    ) -> Result<T> {
        self.with_pool(|pool| {
            let _shared = pool.share();
            let made = self.location.connection(true);
            self.answer(
                made.and_then(|reader| work(&reader).map_err(|error| self.map_error(error))),
            )
        })
    }

    /// Run `work` in one write transaction: all of it is kept, or nothing.
    pub fn write<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.try_write(|connection| Ok(work(connection)?))
    }

    /// Like `write`, for work that may reject its arguments.
    pub fn try_write<T>(
        &self,
        work: impl FnOnce(&Connection) -> std::result::Result<T, WorkError>,
    ) -> Result<T> {
        let (value, is_unfinished) = self.on_writer(|connection| {
            let transaction =
                Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            let value = work(&transaction)?;
            let is_unfinished = Maintainer::after_write(self.location.subjects(), &transaction)?;
            transaction.commit().map_err(WorkError::Commit)?;
            Ok::<_, WorkError>((value, is_unfinished))
        })?;
        if is_unfinished {
            self.maintainer.start(&self.background, &self.checkpoints);
        }
        Ok(value)
    }

    /// Run `work` in a write transaction of which nothing is kept.
    pub fn try_out<T>(
        &self,
        work: impl FnOnce(&Connection) -> std::result::Result<T, WorkError>,
    ) -> Result<T> {
        self.on_writer(|connection| {
            // Rolled back when dropped.
            let transaction =
                Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            work(&transaction)
        })
    }

    /// Run `work` on the write connection, while nobody else has it.
    pub fn on_writer<T, E: Into<WorkError>>(
        &self,
        work: impl FnOnce(&Connection) -> std::result::Result<T, E>,
    ) -> Result<T> {
        self.with_pool(|pool| {
            if self.read_only {
                return Err(self.location.refuse_write());
            }
            let mut writer = pool.writer();
            let _exclusive = pool.exclude();
            // Writes into a replaced file would be lost.
            self.location.check_file()?;
            let made = match writer.take() {
                Some(connection) => Ok(connection),
                None => self.writing_connection(),
            };
            let result = made.and_then(|connection| {
                let result = work(writer.insert(connection));
                result.map_err(|error| self.unwritten(writer.as_ref(), error.into()))
            });
            // After a failed read SQLite rolls back inside FTS5, which then keeps wrong totals on this
            // connection, and would write them with the next transaction.
            let is_io =
                |error: &Error| matches!(error.code(), ErrorCode::IndexIo | ErrorCode::OutOfMemory);
            if self.location.path().is_some() && result.as_ref().is_err_and(is_io) {
                writer.take();
            }
            self.maintainer.note_write();
            self.checkpoints.make_if_due(&self.background);
            self.answer(result)
        })
    }

    /// The error of a write, after which a full disk has its room back.
    fn unwritten(&self, writer: Option<&Connection>, failure: WorkError) -> Error {
        if may_be_full(&failure)
            && let (Some(connection), Some(path)) = (writer, self.location.path())
        {
            full_disk::release(connection, path);
        }
        self.map_error(failure)
    }

    /// A connection to write on.
    fn writing_connection(&self) -> Result<Connection> {
        let mut connection = self.location.connection(false)?;
        if self.location.path().is_some() {
            let watching = self.checkpoints.watch(&mut connection);
            watching.map_err(|error| self.map_error(error))?;
        }
        if let Some(timeout) = *self.set_timeout() {
            let set = connection.busy_timeout(timeout);
            set.map_err(|error| self.map_error(error))?;
        }
        Ok(connection)
    }

    /// The result of some work, unless the file was replaced meanwhile: then it is of neither file.
    pub(super) fn answer<T>(&self, result: Result<T>) -> Result<T> {
        match (self.location.check_file(), result) {
            (Err(found), Ok(_)) => Err(found),
            (Err(found), Err(_)) if found.code() == ErrorCode::IndexReplaced => Err(found),
            (_, result) => result,
        }
    }

    /// The error of this file that stopped some work.
    pub fn map_error(&self, failure: impl Into<WorkError>) -> Error {
        match failure.into() {
            WorkError::Sqlite(error) => self.location.error(&error),
            WorkError::Commit(error) => self.location.commit_error(&error),
            WorkError::Refused(error) => error,
        }
    }

    /// How long writes through this handle wait for another process; half a minute if not set.
    pub fn set_write_timeout(&self, timeout: Duration) -> Result<()> {
        self.on_writer(|connection| connection.busy_timeout(timeout))?;
        *self.set_timeout() = Some(timeout);
        Ok(())
    }

    fn set_timeout(&self) -> MutexGuard<'_, Option<Duration>> {
        lock(&self.write_timeout)
    }

    /// Use the connections, which are there until `work` is through.
    pub(super) fn with_pool<T>(
        &self,
        work: impl FnOnce(&Pool<Location>) -> Result<T>,
    ) -> Result<T> {
        self.check_process()?;
        let _gate = fork::enter();
        let pool = self.pool.read().unwrap_or_else(PoisonError::into_inner);
        match pool.as_ref() {
            Some(pool) => work(pool),
            None => Err(Error::new(
                ErrorCode::IndexClosed,
                format!("{} is closed; open it again to use it", self.location),
            )),
        }
    }
}

/// Whether work may have stopped because the disk is full.
fn may_be_full(failure: &WorkError) -> bool {
    match failure {
        WorkError::Sqlite(error) | WorkError::Commit(error) => matches!(
            error.sqlite_error_code(),
            Some(rusqlite::ErrorCode::DiskFull | rusqlite::ErrorCode::SystemIoFailure)
        ),
        WorkError::Refused(error) => error.code() == ErrorCode::IndexIo,
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::chunks::Chunk;
    use crate::index::Index;
    use crate::text::tokenizer::TokenizerKind;

    fn chunk(id: &str, content: &str) -> Chunk {
        Chunk {
            id: id.to_owned(),
            content: content.to_owned(),
            ..Chunk::default()
        }
    }

    #[test]
    fn a_panic_while_writing_leaves_nothing_behind() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        index.upsert(&[&chunk("a", "before")]).unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            index
                .database()
                .write(|connection| -> rusqlite::Result<()> {
                    connection.execute_batch("DELETE FROM knowledge_chunks")?;
                    panic!("on purpose");
                })
        }));
        assert!(panicked.is_err());
        assert_eq!(index.len().unwrap(), 1);
        assert_eq!(index.upsert(&[&chunk("b", "after")]).unwrap(), 1);
        assert_eq!(index.check().unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn a_failed_write_is_undone() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let error = index
            .database()
            .write(|connection| {
                connection.execute_batch("INSERT INTO settings VALUES ('a', 'b')")?;
                connection.execute_batch("INSERT INTO settings VALUES (1)")
            })
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::EngineFault);
        assert!(error.message().contains("has 2 columns"), "{error}");
        let settings: u64 = index
            .database()
            .read(|connection| {
                connection.query_row(
                    "SELECT count(*) FROM settings WHERE name = 'a'",
                    [],
                    |row| row.get(0),
                )
            })
            .unwrap();
        assert_eq!(settings, 0);
    }

    #[test]
    fn databases_in_memory_are_apart_and_may_grow_past_a_gibibyte() {
        let [one, two] = [(), ()].map(|()| Index::in_memory(TokenizerKind::Porter).unwrap());
        one.upsert(&[&chunk("a", "one")]).unwrap();
        assert_eq!(two.len().unwrap(), 0);
        one.database()
            .read(|connection| {
                let mut limit = -1;
                let control = rusqlite::FileControl::SizeLimit(&mut limit);
                connection.file_control(None::<&str>, control)?;
                assert!(limit > 1 << 30, "{limit}");
                Ok(())
            })
            .unwrap();
    }

    #[test]
    fn a_full_disk_or_memory_is_said_and_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        for (index, fix) in [
            (
                Index::open(&path, TokenizerKind::Porter, false).unwrap(),
                "the space on its disk",
            ),
            (
                Index::in_memory(TokenizerKind::Porter).unwrap(),
                "it holds at most 2 GiB: use Index.open",
            ),
        ] {
            index.upsert(&[&chunk("a", "before")]).unwrap();
            index
                .database()
                .on_writer(|connection| {
                    connection.pragma_update_and_check(None, "max_page_count", 20, |_| Ok(()))
                })
                .unwrap();
            let large = chunk("b", &"word ".repeat(100_000));
            let error = index.upsert(&[&large]).unwrap_err();
            assert_eq!(error.code(), ErrorCode::IndexIo, "{error}");
            assert!(error.message().ends_with(fix), "{error}");
            assert_eq!(index.len().unwrap(), 1);
            assert_eq!(index.upsert(&[&chunk("c", "after")]).unwrap(), 1);
            assert_eq!(index.check().unwrap(), [] as [&str; 0]);
        }
    }

    #[test]
    fn no_file_is_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let index = Index::open(&path, TokenizerKind::Porter, false).unwrap();
        let size = |connection: &Connection| {
            connection.query_row("PRAGMA mmap_size", [], |row| row.get::<_, i64>(0))
        };
        assert_eq!(index.database().read(size).unwrap(), 0);
        assert_eq!(index.database().write(size).unwrap(), 0);
    }

    #[test]
    fn a_writer_that_cannot_have_the_lock_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let index = Index::open(&path, TokenizerKind::Porter, false).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        index.database().set_write_timeout(Duration::ZERO).unwrap();
        let error = index.upsert(&[&chunk("a", "late")]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::IndexBusy, "{error}");
        assert_eq!(index.len().unwrap(), 0, "readers do not wait");
    }

    #[test]
    fn a_failed_read_ends_the_write_connection_and_keeps_its_timeout() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let index = Index::open(&path, TokenizerKind::Porter, false).unwrap();
        let database = index.database();
        database.set_write_timeout(Duration::from_secs(7)).unwrap();
        let mark = "CREATE TEMP TABLE of_this_connection (x)";
        let marked = database.on_writer(|connection| connection.execute_batch(mark));
        marked.unwrap();
        let failed = database.on_writer(|_| {
            let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_READ);
            Err::<(), _>(rusqlite::Error::SqliteFailure(error, None))
        });
        assert_eq!(failed.unwrap_err().code(), ErrorCode::IndexIo);
        let count = "SELECT count(*) FROM temp.sqlite_master";
        let found = database.on_writer(|connection| {
            let tables = connection.query_row(count, [], |row| row.get::<_, i64>(0))?;
            let timeout = "PRAGMA busy_timeout";
            let timeout = connection.query_row(timeout, [], |row| row.get::<_, i64>(0))?;
            Ok::<_, rusqlite::Error>((tables, timeout))
        });
        assert_eq!(
            found.unwrap(),
            (0, 7_000),
            "a new connection, with its timeout"
        );
    }
}
