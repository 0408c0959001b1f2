//! The connections of one handle.

use std::collections::BTreeMap;

use super::connector::Connector;
use crate::sync::{
    Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, lock,
};

/// Idle read connections to keep. Concurrent searches beyond that open more.
const IDLE_READERS: usize = 16;

/// The write connection, and for a database in memory the exclusive use of it.
pub(super) type WriterTurn<'p, C> = (MutexGuard<'p, Option<C>>, Option<RwLockWriteGuard<'p, ()>>);

/// One write connection and a read connection for each concurrent search.
///
/// A panic in a holder poisons nothing that matters: transactions roll back when dropped, and a
/// connection in use is dropped.
pub(super) struct Pool<C: Connector> {
    writer: Mutex<Option<C::Connection>>,
    readers: Mutex<Vec<C::Connection>>,
    /// Connections whose read transaction stays open between calls, by the number of their snapshot.
    snapshots: Mutex<BTreeMap<u64, C::Connection>>,
    location: C,
    /// A database in memory has no write-ahead log, so there readers must not meet a writer.
    /// None for a file, where SQLite lets them.
    turns: Option<RwLock<()>>,
}

impl<C: Connector> Pool<C> {
    /// A pool that starts with the connection a handle was opened by.
    pub fn new(connection: C::Connection, read_only: bool, location: C) -> Self {
        let (writer, readers) = if read_only {
            (None, vec![connection])
        } else {
            (Some(connection), Vec::new())
        };
        Self {
            writer: Mutex::new(writer),
            readers: Mutex::new(readers),
            snapshots: Mutex::default(),
            turns: location.takes_turns().then(RwLock::default),
            location,
        }
    }

    /// The write connection, which one thread holds at a time.
    pub fn writer(&self) -> MutexGuard<'_, Option<C::Connection>> {
        lock(&self.writer)
    }

    /// The write connection with exclusive use of the database; None if another thread has either.
    pub fn try_writer(&self) -> Option<WriterTurn<'_, C::Connection>> {
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
    pub fn take_reader(&self) -> Option<C::Connection> {
        self.idle().pop()
    }

    /// Keep a read connection for the next search, unless its transaction would not end.
    pub fn return_reader(&self, reader: C::Connection) {
        let mut idle = self.idle();
        if idle.len() < IDLE_READERS && C::is_idle(&reader) {
            idle.push(reader);
        }
    }

    /// Keep a connection with an open read transaction for the calls that follow.
    pub fn put_snapshot(&self, number: u64, reader: C::Connection) {
        self.snapshots().insert(number, reader);
    }

    /// Take the connection of a snapshot; None if the handle has closed it, as it does before a fork.
    pub fn take_snapshot(&self, number: u64) -> Option<C::Connection> {
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
        self.location.close(connections);
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

    fn snapshots(&self) -> MutexGuard<'_, BTreeMap<u64, C::Connection>> {
        lock(&self.snapshots)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<C::Connection>> {
        lock(&self.readers)
    }
}
