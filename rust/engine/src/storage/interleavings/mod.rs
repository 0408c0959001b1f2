//! Many interleavings of the threads that share the connections of a handle: `make interleavings`.
//!
//! The file is a fake, because a thread that waits inside SQLite would stop all others. Reads, writes and
//! transactions of the fake are points at which another thread may run.

mod background;
mod cache;
mod fork;
mod maintenance;
mod pool;

use std::cell::Cell;

use super::background::Background;
use super::checkpoint::Checkpoints;
use super::connector::{Connector, Progress};
use super::fork as gate;
use super::maintenance::Maintainer;
use super::pool::Pool;
use crate::error::{Error, ErrorCode, Result};
use crate::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::SeqCst};
use crate::sync::{Arc, PoisonError, RwLock, thread};

/// A file that holds its generation alone.
#[derive(Clone, Default)]
struct FakeFile(Arc<FileState>);

#[derive(Default)]
struct FileState {
    in_memory: bool,
    generation: AtomicI64,
    /// The steps of maintenance that writes left.
    steps: AtomicUsize,
    /// The next step fails, or meets another process that writes.
    step_fails: AtomicBool,
    is_busy: AtomicBool,
    opened: AtomicUsize,
    open: AtomicUsize,
    /// Threads that read or write in a database in memory.
    reading: AtomicUsize,
    writing: AtomicBool,
    checkpoints: AtomicUsize,
}

impl FakeFile {
    fn in_memory() -> Self {
        let state = FileState {
            in_memory: true,
            ..FileState::default()
        };
        Self(Arc::new(state))
    }

    fn connection(&self) -> FakeConnection {
        self.0.opened.fetch_add(1, SeqCst);
        self.0.open.fetch_add(1, SeqCst);
        FakeConnection {
            file: self.clone(),
            in_use: AtomicBool::new(false),
            generation: Cell::new(None),
        }
    }
}

/// A connection that fails a test in which two threads use it.
struct FakeConnection {
    file: FakeFile,
    in_use: AtomicBool,
    /// The generation that the open transaction sees.
    generation: Cell<Option<i64>>,
}

impl FakeConnection {
    /// Read in a transaction, while no other thread uses the connection.
    fn read<T>(&self, work: impl FnOnce(i64) -> T) -> T {
        let _use = self.exclusively();
        let file = &self.file.0;
        file.reading.fetch_add(1, SeqCst);
        self.check_turns();
        let generation = file.generation.load(SeqCst);
        let before = self.generation.replace(Some(generation));
        assert_eq!(before, None, "a transaction was open");
        let _end = OnDrop(|| {
            self.generation.set(None);
            file.reading.fetch_sub(1, SeqCst);
        });
        work(generation)
    }

    /// Write the next generation, which leaves steps of maintenance.
    fn write(&self, steps: usize) -> i64 {
        let _use = self.exclusively();
        let file = &self.file.0;
        assert!(!file.writing.swap(true, SeqCst), "two threads write");
        self.check_turns();
        file.steps.fetch_add(steps, SeqCst);
        let generation = file.generation.fetch_add(1, SeqCst) + 1;
        file.writing.store(false, SeqCst);
        generation
    }

    fn check_turns(&self) {
        let file = &self.file.0;
        if file.in_memory {
            let meets = file.writing.load(SeqCst) && file.reading.load(SeqCst) > 0;
            assert!(!meets, "a reader met a writer in memory");
        }
    }

    fn exclusively(&self) -> impl Drop + '_ {
        assert!(!self.in_use.swap(true, SeqCst), "two threads use it");
        OnDrop(|| self.in_use.store(false, SeqCst))
    }
}

impl Drop for FakeConnection {
    fn drop(&mut self) {
        assert!(!self.in_use.load(SeqCst), "closed while in use");
        self.file.0.open.fetch_sub(1, SeqCst);
    }
}

/// Calls a function when it is dropped, also if a test planned a panic.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl Connector for FakeFile {
    type Connection = FakeConnection;

    fn takes_turns(&self) -> bool {
        self.0.in_memory
    }

    fn connect(&self) -> Result<FakeConnection> {
        Ok(self.connection())
    }

    fn is_idle(connection: &FakeConnection) -> bool {
        connection.generation.get().is_none()
    }

    fn in_transaction(
        &self,
        connection: &FakeConnection,
        work: impl FnOnce(Result<&FakeConnection>),
    ) {
        connection.read(|_| work(Ok(connection)));
    }

    fn maintain(&self, writer: &FakeConnection) -> Result<Progress> {
        if self.0.is_busy.swap(false, SeqCst) {
            return Ok(Progress::Waiting);
        }
        let _use = writer.exclusively();
        assert!(!self.0.writing.swap(true, SeqCst), "two threads write");
        let _end = OnDrop(|| self.0.writing.store(false, SeqCst));
        writer.check_turns();
        if self.0.step_fails.swap(false, SeqCst) {
            return Err(Error::new(ErrorCode::IndexIo, "a step fails"));
        }
        let left = self.0.steps.load(SeqCst).saturating_sub(1);
        self.0.steps.store(left, SeqCst);
        Ok(if left > 0 {
            Progress::Unfinished
        } else {
            Progress::Finished
        })
    }

    fn checkpoint(&self) -> Result<()> {
        self.0.checkpoints.fetch_add(1, SeqCst);
        Ok(())
    }

    fn close(&self, connections: Vec<FakeConnection>) {
        drop(connections);
    }

    fn error(&self, error: &rusqlite::Error) -> Error {
        let is_interrupt =
            error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted);
        let code = if is_interrupt {
            ErrorCode::Interrupted
        } else {
            ErrorCode::IndexIo
        };
        Error::new(code, error.to_string())
    }
}

/// What [`super::Database`] does with its connections, on the fake.
#[derive(Clone)]
struct Handle {
    file: FakeFile,
    pool: gate::HandleConnections<FakeFile>,
    background: Background<FakeFile>,
    maintainer: Maintainer,
    checkpoints: Checkpoints,
}

impl Handle {
    fn open(file: FakeFile) -> Self {
        let pool = Pool::new(file.connection(), false, file.clone());
        let pool = Arc::new(RwLock::new(Some(pool)));
        gate::register(&pool);
        Self {
            background: Background::new(file.clone(), Arc::clone(&pool)),
            file,
            pool,
            maintainer: Maintainer::default(),
            checkpoints: Checkpoints::default(),
        }
    }

    fn with_pool<T>(&self, work: impl FnOnce(&Pool<FakeFile>) -> T) -> Option<T> {
        let _gate = gate::enter();
        let pool = self.pool.read().unwrap_or_else(PoisonError::into_inner);
        pool.as_ref().map(work)
    }

    /// Read in a transaction; None once closed.
    fn read<T>(&self, work: impl FnOnce(&FakeConnection, i64) -> T) -> Option<T> {
        self.with_pool(|pool| {
            let _shared = pool.share();
            let reader = pool.take_reader().unwrap_or_else(|| self.file.connection());
            let value = reader.read(|generation| work(&reader, generation));
            pool.return_reader(reader);
            value
        })
    }

    /// Write a generation, which leaves steps of maintenance. Returns the generation; None once closed.
    fn write(&self, steps: usize) -> Option<i64> {
        let generation = self.with_pool(|pool| {
            let mut writer = pool.writer();
            let _exclusive = pool.exclude();
            let connection = writer.take().unwrap_or_else(|| self.file.connection());
            let generation = writer.insert(connection).write(steps);
            self.maintainer.note_write();
            self.checkpoints.make_if_due(&self.background);
            generation
        });
        if steps > 0 && generation.is_some() {
            self.maintainer.start(&self.background, &self.checkpoints);
        }
        generation
    }

    fn close(&self) {
        self.background.stop();
        let _gate = gate::enter();
        let mut pool = self.pool.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut pool) = pool.take() {
            pool.close_files();
        }
    }
}

/// Run threads at the same time until all have ended.
fn together(threads: Vec<Box<dyn FnOnce() + Send>>) {
    let threads: Vec<_> = threads.into_iter().map(thread::spawn).collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Let other threads run until a condition holds.
fn until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::sleep(std::time::Duration::ZERO);
    }
}

/// The same work as several threads.
fn times(
    count: usize,
    work: impl Fn(usize) + Clone + Send + 'static,
) -> Vec<Box<dyn FnOnce() + Send>> {
    (0..count)
        .map(|number| {
            let work = work.clone();
            Box::new(move || work(number)) as Box<dyn FnOnce() + Send>
        })
        .collect()
}
