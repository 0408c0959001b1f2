//! Background work on a separate thread and connection, and its notices.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use hashlink::LruCache;

use super::connector::Connector;
use super::fork;
use super::location::Location;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Mutex, MutexGuard, PoisonError, lock, thread};

/// The parts of a handle that a background thread needs.
#[derive(Clone)]
pub struct Background<C: Connector = Location> {
    pub(super) location: C,
    pub(super) pool: fork::HandleConnections<C>,
    closing: Arc<AtomicBool>,
    notices: Arc<Notices>,
}

impl<C: Connector> Background<C> {
    pub(super) fn new(location: C, pool: fork::HandleConnections<C>) -> Self {
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

    /// Return the notices.
    pub fn notices(&self) -> &Notices {
        &self.notices
    }

    /// Run `work` in a read transaction on a new thread; false when no thread could be started.
    ///
    /// `work` is always called, with None when the handle is closed. It is interrupted when the
    /// handle closes or the process forks: both wait for the connection. So nobody who holds a
    /// connection, or the gate of `fork`, may wait for the thread.
    pub fn spawn(
        &self,
        name: &str,
        work: impl FnOnce(Option<Result<&C::Connection>>) + Send + 'static,
    ) -> bool {
        let this = self.clone();
        let thread = thread::Builder::new().name(format!("hedgerow-{name}"));
        thread.spawn(move || this.run(work)).is_ok()
    }

    /// Like `run`, for work that needs no connection, and may be dropped instead of being called.
    pub fn compute(&self, name: &str, work: impl FnOnce() + Send + 'static) -> bool {
        let this = self.clone();
        let thread = thread::Builder::new().name(format!("hedgerow-{name}"));
        let run = move || {
            let _gate = fork::enter();
            let pool = this.pool.read().unwrap_or_else(PoisonError::into_inner);
            if pool.is_some() && !this.is_closing() {
                this.with_cancellation(work);
            }
        };
        thread.spawn(run).is_ok()
    }

    fn run(&self, work: impl FnOnce(Option<Result<&C::Connection>>)) {
        let _gate = fork::enter();
        let pool = self.pool.read().unwrap_or_else(PoisonError::into_inner);
        let Some(pool) = pool.as_ref().filter(|_| !self.is_closing()) else {
            return work(None);
        };
        let _shared = pool.share();
        let connection = match self.location.connect() {
            Ok(connection) => connection,
            Err(error) => return work(Some(Err(error))),
        };
        self.with_cancellation(|| {
            let work = |connection: Result<&C::Connection>| work(Some(connection));
            self.location.in_transaction(&connection, work);
        });
    }

    /// Do `work` until the handle closes or the process forks.
    fn with_cancellation<T>(&self, work: impl FnOnce() -> T) -> T {
        let closing = Arc::clone(&self.closing);
        let is_unwanted = move || closing.load(Ordering::Relaxed) || fork::is_due();
        interrupt::with_cancellation(is_unwanted, work)
    }

    /// Return another read connection, for a thread that helps one with a connection.
    pub fn connection(&self) -> Result<C::Connection> {
        self.location.connect()
    }

    /// Return the error of SQLite as an error of this file.
    pub fn error(&self, error: &rusqlite::Error) -> Error {
        self.location.error(error)
    }
}

/// How much attention a notice wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeLevel {
    /// Worth knowing.
    Info,
    /// Something does not work as it should; answers are right all the same.
    Warning,
}

/// Something a handle has to report that no caller waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How much attention it wants.
    pub level: NoticeLevel,
    /// A sentence or two.
    pub message: String,
}

/// Something that was read into memory as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The name of the work: "vectors".
    pub what: &'static str,
    /// How long it took.
    pub time: Duration,
}

/// The notices of a handle, and the readings that it made.
#[derive(Default)]
pub struct Notices {
    /// Whether a notice or a reading can be taken. Checked without the lock.
    has_news: AtomicBool,
    log: Mutex<NoticeLog>,
}

#[derive(Default)]
struct NoticeLog {
    /// The last messages that were reported, least recent first. None before the first.
    reported: Option<LruCache<String, ()>>,
    /// Notices that were not taken yet, oldest first.
    notices: VecDeque<Notice>,
    /// Readings that were not taken yet, oldest first.
    readings: VecDeque<Reading>,
}

/// The number of messages that a handle remembers, to report each once, and the number of notices and of
/// readings that wait to be taken. Beyond it, the oldest are dropped: a forgotten message is reported
/// again.
const MAX_NOTICES: usize = 100;

impl Notices {
    /// Report a notice, unless its message is among the last 100 different ones.
    pub fn report(&self, level: NoticeLevel, message: impl Into<String>) {
        let message = message.into();
        let mut log = self.log();
        let reported = log
            .reported
            .get_or_insert_with(|| LruCache::new(MAX_NOTICES));
        if reported.insert(message.clone(), ()).is_none() {
            push(&mut log.notices, Notice { level, message });
            self.has_news.store(true, Ordering::Release);
        }
    }

    /// Note that `what` was read into memory. If nothing takes the readings, the last 100 are kept.
    pub fn note_reading(&self, what: &'static str, time: Duration) {
        push(&mut self.log().readings, Reading { what, time });
        self.has_news.store(true, Ordering::Release);
    }

    /// Return the readings since the last call, oldest first.
    pub fn take_readings(&self) -> Vec<Reading> {
        self.take_from(|log| mem::take(&mut log.readings))
    }

    /// Return the notices since the last call, oldest first.
    pub fn take(&self) -> Vec<Notice> {
        self.take_from(|log| mem::take(&mut log.notices))
    }

    fn take_from<T>(&self, take: impl FnOnce(&mut NoticeLog) -> VecDeque<T>) -> Vec<T> {
        if !self.has_news.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let mut log = self.log();
        let taken = take(&mut log);
        let is_empty = log.notices.is_empty() && log.readings.is_empty();
        self.has_news.store(!is_empty, Ordering::Relaxed);
        taken.into()
    }

    fn log(&self) -> MutexGuard<'_, NoticeLog> {
        lock(&self.log)
    }
}

/// Append an item, and drop the oldest of more than [`MAX_NOTICES`].
fn push<T>(items: &mut VecDeque<T>, item: T) {
    if items.len() == MAX_NOTICES {
        items.pop_front();
    }
    items.push_back(item);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_reported_once() {
        let notices = Notices::default();
        assert_eq!(notices.take(), []);
        for _ in 0..3 {
            notices.report(NoticeLevel::Warning, "one");
            notices.report(NoticeLevel::Info, "two");
        }
        let notice = |level, message: &str| Notice {
            level,
            message: message.to_owned(),
        };
        let expected = [
            notice(NoticeLevel::Warning, "one"),
            notice(NoticeLevel::Info, "two"),
        ];
        assert_eq!(notices.take(), expected);
        notices.report(NoticeLevel::Warning, "one");
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
    }

    #[test]
    fn a_new_notice_is_reported_however_many_came_before() {
        let notices = Notices::default();
        let mut taken = Vec::new();
        for number in 0..5 * MAX_NOTICES {
            notices.report(NoticeLevel::Info, number.to_string());
            notices.report(NoticeLevel::Warning, "all the time");
            taken.extend(notices.take().into_iter().map(|notice| notice.message));
        }
        let mut expected: Vec<String> = (0..5 * MAX_NOTICES).map(|n| n.to_string()).collect();
        expected.insert(1, "all the time".to_owned());
        assert_eq!(taken, expected);
        notices.report(NoticeLevel::Info, "0");
        assert_eq!(notices.take().len(), 1, "forgotten, so reported again");
    }

    #[test]
    fn the_last_of_many_wait_to_be_taken() {
        let notices = Notices::default();
        for number in 0..3 * MAX_NOTICES {
            notices.report(NoticeLevel::Info, number.to_string());
            notices.note_reading("vectors", Duration::from_secs(number as u64));
        }
        let messages = notices.take().into_iter().map(|notice| notice.message);
        let last = 2 * MAX_NOTICES..3 * MAX_NOTICES;
        assert!(messages.eq(last.clone().map(|number| number.to_string())));
        let seconds = notices.take_readings().into_iter();
        let seconds = seconds.map(|reading| reading.time.as_secs());
        assert!(seconds.eq(last.map(|number| number as u64)));
        assert_eq!(notices.take_readings(), []);
    }
}
