//! Maintenance in the background: the work that writes leave to do on the tables of subjects, in small
//! write transactions while no caller writes.

#[cfg(all(target_os = "linux", not(feature = "shuttle")))]
mod priority;

use std::time::Duration;

use rusqlite::Connection;

use super::background::{Background, NoticeLevel};
use super::checkpoint::Checkpoints;
use super::connector::{Connector, Progress, maintained};
use super::fork;
use super::pool::Pool;
use super::subject::Subjects;
use crate::error::Result;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, PoisonError, thread};

/// The time without writes of a handle before the first step, in milliseconds.
///
/// With a shorter time, writes meet a step more often and wait for it. With a longer one, steps do
/// not fit between frequent writes: 200 writes a second are 5 ms apart.
const QUIET: Duration = Duration::from_millis(2);

/// How long the thread pauses between two steps, in milliseconds: half as long as a step takes.
///
/// A write or search that waits for the step takes its turn in the pause. A longer pause would leave more
/// to do to the next writes.
const PAUSE: Duration = Duration::from_micros(500);

/// How long a thread that cannot have the write lock waits before it tries again, in milliseconds.
///
/// Each attempt costs some microseconds. A longer time would leave work to do where another process
/// writes often.
const BUSY: Duration = Duration::from_millis(20);

/// Starts the thread that maintains the tables of a handle, and tells it about writes.
#[derive(Clone, Default)]
pub(super) struct Maintainer {
    /// The number of calls that have used the write connection.
    writes: Arc<AtomicU64>,
    running: Arc<AtomicBool>,
}

impl Maintainer {
    /// Do the maintenance that a write transaction must do before it commits. Returns whether
    /// another step is due.
    pub fn after_write(subjects: Subjects, connection: &Connection) -> rusqlite::Result<bool> {
        let mut is_unfinished = false;
        for maintenance in maintained(subjects) {
            is_unfinished |= (maintenance.after_write)(connection)?;
        }
        Ok(is_unfinished)
    }

    /// Whether the thread is running.
    #[cfg(test)]
    pub fn is_running(&self) -> bool {
        self.running.load(Ordering::SeqCst)
    }

    /// Postpone the next step: a call has used the write connection.
    pub fn note_write(&self) {
        self.writes.fetch_add(1, Ordering::SeqCst);
    }

    /// Start the thread, unless it is running. If no thread can be started, a later write tries again.
    pub fn start<C: Connector>(&self, background: &Background<C>, checkpoints: &Checkpoints) {
        if self.running.swap(true, Ordering::SeqCst) {
            return;
        }
        let this = self.clone();
        let (background, checkpoints) = (background.clone(), checkpoints.clone());
        let thread = thread::Builder::new().name("hedgerow-maintenance".to_owned());
        let started = thread.spawn(move || this.run(&background, &checkpoints));
        if started.is_err() {
            self.running.store(false, Ordering::SeqCst);
        }
    }

    /// Do one step after the other until nothing is left to do or the handle closes.
    ///
    /// Between steps the thread holds neither a lock nor the gate of [`fork`], so that closing and
    /// forking wait for one step at most. After a fork the handle has no write connection, and the
    /// thread ends.
    fn run<C: Connector>(&self, background: &Background<C>, checkpoints: &Checkpoints) {
        #[cfg(all(target_os = "linux", not(feature = "shuttle")))]
        priority::lower();
        let mut pause = QUIET;
        loop {
            let writes = self.writes.load(Ordering::SeqCst);
            thread::sleep(pause);
            pause = QUIET;
            if !background.is_closing() && writes != self.writes.load(Ordering::SeqCst) {
                continue;
            }
            match background.step() {
                Ok(Progress::Unfinished) => {
                    checkpoints.make_if_due(background);
                    pause = PAUSE;
                }
                Ok(Progress::Waiting) => thread::sleep(BUSY),
                Ok(Progress::Finished | Progress::Ended) => {
                    if self.has_ended(writes) {
                        return;
                    }
                }
                Err(error) => {
                    let message = format!("merging the full-text index failed: {error}");
                    background.notices().report(NoticeLevel::Warning, message);
                    if self.has_ended(writes) {
                        return;
                    }
                }
            }
        }
    }

    /// End this thread, unless a write came after the first `writes`: it may have left steps to this thread.
    fn has_ended(&self, writes: u64) -> bool {
        self.running.store(false, Ordering::SeqCst);
        writes == self.writes.load(Ordering::SeqCst) || self.running.swap(true, Ordering::SeqCst)
    }
}

impl<C: Connector> Background<C> {
    /// Do one step, if no thread and no process writes.
    fn step(&self) -> Result<Progress> {
        let _gate = fork::enter();
        let pool = self.pool.read().unwrap_or_else(PoisonError::into_inner);
        let Some(pool) = pool.as_ref().filter(|_| !self.is_closing()) else {
            return Ok(Progress::Ended);
        };
        self.step_on(pool)
    }

    fn step_on(&self, pool: &Pool<C>) -> Result<Progress> {
        let Some((writer, _exclusive)) = pool.try_writer() else {
            return Ok(Progress::Waiting);
        };
        // A fork closed the connection.
        let ended = Ok(Progress::Ended);
        (writer.as_ref()).map_or(ended, |writer| self.location.maintain(writer))
    }
}

#[cfg(test)]
mod tests;
