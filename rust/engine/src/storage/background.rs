//! Work in the background: on a thread and a connection of its own, and what it has to report.

use std::collections::BTreeSet;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::fork;
use super::location::Location;
use super::subject::Subjects;
use crate::error::{Error, Result};
use crate::interrupt;

/// What a background thread of a handle needs.
#[derive(Clone)]
pub struct Background {
    location: Location,
    pub(super) pool: fork::Shared,
    closing: Arc<AtomicBool>,
    notices: Arc<Notices>,
}

impl Background {
    pub(super) fn new(location: Location, pool: fork::Shared) -> Self {
        Self {
            location,
            pool,
            closing: Arc::default(),
            notices: Arc::default(),
        }
    }

    /// Have everything that runs end soon: closing waits for it.
    pub fn stop(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    /// Whether the handle is closing, so that nothing new should begin.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// What there is to report.
    pub fn notices(&self) -> &Notices {
        &self.notices
    }

    /// Run `work` in a read transaction on a new thread; false when no thread could be started.
    ///
    /// `work` is always called, with None when the handle is closed. It is interrupted when the
    /// handle closes or the process forks: both wait for the connection. So nobody who holds a
    /// connection, or the gate of [`fork`], may wait for the thread.
    pub fn spawn(
        &self,
        name: &str,
        work: impl FnOnce(Option<Result<&Connection>>) + Send + 'static,
    ) -> bool {
        let this = self.clone();
        let thread = thread::Builder::new().name(format!("hedgerow-{name}"));
        thread.spawn(move || this.run(work)).is_ok()
    }

    /// The same for work that needs no connection, and may be dropped instead of being called.
    pub fn compute(&self, name: &str, work: impl FnOnce() + Send + 'static) -> bool {
        let this = self.clone();
        let thread = thread::Builder::new().name(format!("hedgerow-{name}"));
        let run = move || {
            let _gate = fork::enter();
            let pool = this.pool.read().unwrap_or_else(PoisonError::into_inner);
            if pool.is_some() && !this.is_closing() {
                this.watched(work);
            }
        };
        thread.spawn(run).is_ok()
    }

    fn run(&self, work: impl FnOnce(Option<Result<&Connection>>)) {
        let _gate = fork::enter();
        let pool = self.pool.read().unwrap_or_else(PoisonError::into_inner);
        let Some(pool) = pool.as_ref().filter(|_| !self.is_closing()) else {
            return work(None);
        };
        let _shared = pool.share();
        let connection = match self.location.connection(true) {
            Ok(connection) => connection,
            Err(error) => return work(Some(Err(error))),
        };
        self.watched(|| {
            match Transaction::new_unchecked(&connection, TransactionBehavior::Deferred) {
                Ok(transaction) => work(Some(Ok(&transaction))),
                Err(error) => work(Some(Err(self.error(&error)))),
            }
        });
    }

    /// Do `work` until the handle closes or the process forks.
    fn watched<T>(&self, work: impl FnOnce() -> T) -> T {
        let closing = Arc::clone(&self.closing);
        let is_unwanted = move || closing.load(Ordering::Relaxed) || fork::is_due();
        interrupt::watched(is_unwanted, work)
    }

    /// One more read connection, for a thread that helps another one that has one.
    pub fn connection(&self) -> Result<Connection> {
        self.location.connection(true)
    }

    /// The subjects of the file.
    pub(super) fn subjects(&self) -> Subjects {
        self.location.subjects()
    }

    /// Fail when there is another file where that of the handle was.
    pub(super) fn check_file(&self) -> Result<()> {
        self.location.check_file()
    }

    /// What SQLite reported, as an error of this file.
    pub fn error(&self, error: &rusqlite::Error) -> Error {
        self.location.error(error)
    }
}

/// How much attention a notice wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Something does not work as it should; answers are right all the same.
    Warning,
}

/// Something a handle has to report that no caller waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How much attention it wants.
    pub level: Level,
    /// A sentence or two.
    pub message: String,
}

/// Something that was read into memory as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// What it is called: "vectors".
    pub what: &'static str,
    /// How long it took.
    pub time: Duration,
}

/// The notices of a handle, each given once.
#[derive(Default)]
pub struct Notices {
    /// Whether any wait, so that asking costs nothing when there are none.
    waiting: AtomicBool,
    given: Mutex<Given>,
}

#[derive(Default)]
struct Given {
    messages: BTreeSet<String>,
    waiting: Vec<Notice>,
    readings: Vec<Reading>,
}

/// How many different notices a handle remembers; further ones are dropped.
const MOST_NOTICES: usize = 100;

impl Notices {
    /// Report something, unless the same was reported before.
    pub fn report(&self, level: Level, message: impl Into<String>) {
        let message = message.into();
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        if given.messages.len() < MOST_NOTICES && given.messages.insert(message.clone()) {
            given.waiting.push(Notice { level, message });
            self.waiting.store(true, Ordering::Release);
        }
    }

    /// Note that something was read; of many that nobody takes the first are kept.
    pub fn note_reading(&self, what: &'static str, time: Duration) {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        if given.readings.len() < MOST_NOTICES {
            given.readings.push(Reading { what, time });
            self.waiting.store(true, Ordering::Release);
        }
    }

    /// Take what was read since the last time.
    pub fn take_readings(&self) -> Vec<Reading> {
        self.take_from(|given| mem::take(&mut given.readings))
    }

    /// Take what was reported since the last time.
    pub fn take(&self) -> Vec<Notice> {
        self.take_from(|given| mem::take(&mut given.waiting))
    }

    fn take_from<T>(&self, take: impl FnOnce(&mut Given) -> Vec<T>) -> Vec<T> {
        if !self.waiting.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = take(&mut given);
        let is_empty = given.waiting.is_empty() && given.readings.is_empty();
        self.waiting.store(!is_empty, Ordering::Relaxed);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notice_is_given_once() {
        let notices = Notices::default();
        assert_eq!(notices.take(), []);
        for _ in 0..3 {
            notices.report(Level::Warning, "one");
            notices.report(Level::Info, "two");
        }
        let notice = |level, message: &str| Notice {
            level,
            message: message.to_owned(),
        };
        let expected = [notice(Level::Warning, "one"), notice(Level::Info, "two")];
        assert_eq!(notices.take(), expected);
        notices.report(Level::Warning, "one");
        assert_eq!(notices.take(), []);
        notices.note_reading("vectors", Duration::from_secs(1));
        let reading = Reading {
            what: "vectors",
            time: Duration::from_secs(1),
        };
        assert_eq!(notices.take_readings(), [reading]);
        assert_eq!(notices.take_readings(), []);
        notices.note_reading("vectors", Duration::from_secs(1));
        assert_eq!(notices.take(), []);
        assert_eq!(
            notices.take_readings(),
            [reading],
            "whichever is asked for first"
        );
        for number in 0..2 * MOST_NOTICES {
            notices.report(Level::Info, number.to_string());
        }
        assert_eq!(notices.take().len(), MOST_NOTICES - 2);
    }
}
