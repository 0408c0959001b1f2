//! A handle on one file.

use std::path::PathBuf;
use std::process;
use std::time::Duration;

use super::background::Background;
use super::checkpoint::Checkpoints;
use super::fork;
use super::location::Location;
use super::maintenance::Maintainer;
use super::pool::Pool;
use super::schema::{self, FormatState};
use crate::error::{Error, ErrorCode, Result};
use crate::sync::{Arc, Mutex, PoisonError, RwLock};

/// A file, or a database in memory. Safe to call from several threads.
///
/// Reads run in parallel, each on a separate connection; writes take turns. The handle belongs to
/// the process that opened it.
pub struct Database {
    pub(super) process: u32,
    pub(super) location: Location,
    pub(super) read_only: bool,
    opened: FormatState,
    /// None once closed. Every operation holds the lock shared, so that closing waits for it.
    pub(super) pool: fork::HandleConnections<Location>,
    pub(super) background: Background,
    pub(super) checkpoints: Checkpoints,
    pub(super) maintainer: Maintainer,
    /// How long writes wait for another process, if it was set: also for a new write connection.
    pub(super) write_timeout: Mutex<Option<Duration>>,
}

impl Database {
    /// Open a file and bring its tables up to date; one that is made begins with the settings
    /// `initial`.
    pub fn open(mut location: Location, read_only: bool, initial: &[(&str, &str)]) -> Result<Self> {
        let _gate = fork::enter();
        let mut connection = location.first_connection(read_only)?;
        let opened = schema::prepare(&mut connection, &location, read_only, initial)?;
        if !read_only {
            location.identify(&connection)?;
        }
        location.note_file(&connection)?;
        let checkpoints = Checkpoints::default();
        if !read_only && location.path().is_some() {
            let watching = checkpoints.watch(&mut connection);
            watching.map_err(|error| location.error(&error))?;
        }
        location.keep_log(&connection, true)?;
        let pool = Pool::new(connection, read_only, location.clone());
        let pool = Arc::new(RwLock::new(Some(pool)));
        fork::register(&pool);
        let background = Background::new(location.clone(), Arc::clone(&pool));
        Ok(Self {
            process: process::id(),
            location,
            read_only,
            opened,
            pool,
            background,
            checkpoints,
            maintainer: Maintainer::default(),
            write_timeout: Mutex::default(),
        })
    }

    /// Where the file is, and its errors in our words.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The absolute path of the file; none for a database in memory.
    pub fn path(&self) -> Option<&PathBuf> {
        self.location.path()
    }

    /// Return the state of the file when it was opened.
    pub fn opened(&self) -> &FormatState {
        &self.opened
    }

    /// Whether this handle refuses to write.
    pub fn read_only(&self) -> bool {
        self.read_only
    }

    /// Where work runs that no caller waits for, or that many wait for.
    pub fn background(&self) -> &Background {
        &self.background
    }

    /// Close the connections once running operations are through; closing again does nothing.
    pub fn close(&self) -> Result<()> {
        self.check_process()?;
        self.background.stop();
        // Not while the process forks: the child would inherit SQLite's mutexes locked.
        let _gate = fork::enter();
        let mut pool = self.pool.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut connections) = pool.take() {
            connections.close_files();
        }
        Ok(())
    }

    /// SQLite's connections must not cross a fork: locks and shared memory stay behind. Checked
    /// before any lock is taken, since a thread that held one may not exist here.
    pub fn check_process(&self) -> Result<()> {
        if process::id() == self.process {
            return Ok(());
        }
        Err(Error::new(
            ErrorCode::IndexForked,
            format!(
                "{} was opened in another process; open it again after fork",
                self.location
            ),
        ))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Closing inherited connections could undo work of the parent process: keep them.
        if self.close().is_err() {
            std::mem::forget(Arc::clone(&self.pool));
        }
    }
}
