//! The connections of one handle.

use std::collections::BTreeMap;
use std::sync::{
    Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
};

use rusqlite::Connection;

use super::location::Location;
use crate::error::Result;

/// Idle read connections to keep. Concurrent searches beyond that open more.
const IDLE_READERS: usize = 16;

/// The write connection, and for a database in memory the exclusive use of it.
pub(super) type WriterTurn<'p> = (
    MutexGuard<'p, Option<Connection>>,
    Option<RwLockWriteGuard<'p, ()>>,
);

/// One write connection and a read connection for each concurrent search.
///
/// A panic in a holder poisons nothing that matters: transactions roll back when dropped, and a
/// connection in use is dropped.
pub(super) struct Pool {
    writer: Mutex<Option<Connection>>,
    readers: Mutex<Vec<Connection>>,
    /// Connections whose read transaction stays open between calls, by the number of their snapshot.
    snapshots: Mutex<BTreeMap<u64, Connection>>,
    location: Location,
    /// A database in memory has no write-ahead log, so there readers must not meet a writer.
    /// None for a file, where SQLite lets them.
    turns: Option<RwLock<()>>,
}

impl Pool {
    /// A pool that starts with the connection a handle was opened by.
    pub fn new(connection: Connection, read_only: bool, location: Location) -> Result<Self> {
        location.keep_log(&connection, true)?;
        let (writer, readers) = if read_only {
            (None, vec![connection])
        } else {
            (Some(connection), Vec::new())
        };
        Ok(Self {
            writer: Mutex::new(writer),
            readers: Mutex::new(readers),
            snapshots: Mutex::default(),
            turns: location.path().is_none().then(RwLock::default),
            location,
        })
    }

    /// The write connection, which one thread holds at a time.
    pub fn writer(&self) -> MutexGuard<'_, Option<Connection>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The write connection with exclusive use of the database; None if another thread has either.
    pub fn try_writer(&self) -> Option<WriterTurn<'_>> {
        let writer = match self.writer.try_lock() {
            Ok(writer) => writer,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let exclusive = match self.turns.as_ref().map(RwLock::try_write) {
            None => None,
            Some(Ok(exclusive)) => Some(exclusive),
            Some(Err(TryLockError::Poisoned(poisoned))) => Some(poisoned.into_inner()),
            Some(Err(TryLockError::WouldBlock)) => return None,
        };
        Some((writer, exclusive))
    }

    /// An idle read connection.
    pub fn take_reader(&self) -> Option<Connection> {
        self.idle().pop()
    }

    /// Keep a read connection for the next search, unless its transaction would not end.
    pub fn return_reader(&self, reader: Connection) {
        let mut idle = self.idle();
        if idle.len() < IDLE_READERS && reader.is_autocommit() {
            idle.push(reader);
        }
    }

    /// Keep a connection with an open read transaction for the calls that follow.
    pub fn put_snapshot(&self, number: u64, reader: Connection) {
        self.snapshots().insert(number, reader);
    }

    /// Take the connection of a snapshot; None if the handle has closed it, as it does before a fork.
    pub fn take_snapshot(&self, number: u64) -> Option<Connection> {
        self.snapshots().remove(&number)
    }

    /// Close the connections to a file. A database in memory would be gone, and has no locks.
    pub fn close_files(&mut self) {
        if self.turns.is_some() {
            return;
        }
        let readers = self.readers.get_mut();
        let writer = self.writer.get_mut();
        let mut connections = std::mem::take(readers.unwrap_or_else(PoisonError::into_inner));
        connections.extend(writer.unwrap_or_else(PoisonError::into_inner).take());
        // Their transactions end with them.
        let snapshots = self.snapshots.get_mut();
        snapshots.unwrap_or_else(PoisonError::into_inner).clear();
        // Pages in the write-ahead log belong in the file that they were written for.
        if !self.location.is_replaced() {
            for connection in &connections {
                // The next process that opens the file reads the rest of the log from there.
                let _ = self.location.keep_log(connection, false);
            }
        }
    }

    /// Held while reading.
    pub fn share(&self) -> Option<RwLockReadGuard<'_, ()>> {
        let turns = self.turns.as_ref()?;
        Some(turns.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Held while writing.
    pub fn exclude(&self) -> Option<RwLockWriteGuard<'_, ()>> {
        let turns = self.turns.as_ref()?;
        Some(turns.write().unwrap_or_else(PoisonError::into_inner))
    }

    fn snapshots(&self) -> MutexGuard<'_, BTreeMap<u64, Connection>> {
        self.snapshots
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
