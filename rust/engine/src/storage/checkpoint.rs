//! Checkpoints: moving the write-ahead log into the file, in the background, so that no write waits
//! for the disk to take in what many writes left there.

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use super::background::{Background, NoticeLevel};
use super::connector::Connector;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, Ordering};

/// The number of pages in the log at which a checkpoint is due. The log restarts after a checkpoint, and a
/// write then waits for the disk. The number is a quarter of SQLite's own.
const DUE: i32 = 4000;
/// The number of pages at which a write makes a checkpoint itself, so that the log stays small in
/// every case.
const OVERDUE: i32 = 4 * DUE;

/// When a checkpoint is due, and whether one is being made.
#[derive(Clone, Default)]
pub(super) struct Checkpoints {
    due: Arc<AtomicBool>,
    running: Arc<AtomicBool>,
}

impl Checkpoints {
    /// Watch a connection that writes, in the place of SQLite's own checkpoints.
    pub fn watch(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let due = Arc::clone(&self.due);
        connection.wal_hook(Some(move |wal: &mut Wal, pages| {
            due.store(pages >= DUE, Ordering::Relaxed);
            if pages >= OVERDUE {
                // A failed checkpoint is tried again by the next write, as by SQLite's own hook.
                let _ = wal.checkpoint();
            }
            Ok(())
        }))
    }

    /// Make a checkpoint in the background if one is due and none is being made.
    pub fn make_if_due<C: Connector>(&self, background: &Background<C>) {
        if !self.due.swap(false, Ordering::Relaxed) || self.running.swap(true, Ordering::Relaxed) {
            return;
        }
        let running = RunningCheckpoint(Arc::clone(&self.running));
        let this = background.clone();
        // Without a thread the next write tries again.
        background.compute("checkpoint", move || {
            let _running = running;
            if let Err(error) = this.location.checkpoint() {
                let message = format!("moving the write-ahead log into the file failed: {error}");
                this.notices().report(NoticeLevel::Warning, message);
            }
        });
    }
}

/// A checkpoint that is being made, until it is dropped.
struct RunningCheckpoint(Arc<AtomicBool>);

impl Drop for RunningCheckpoint {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::thread;
    use std::time::Duration;

    use crate::chunks::Chunk;
    use crate::index::Index;
    use crate::text::tokenizer::TokenizerKind;

    #[test]
    fn what_many_writes_left_in_the_log_comes_into_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let index = Index::open(&path, TokenizerKind::Porter, false).unwrap();
        let chunk = |n: usize| Chunk {
            id: n.to_string(),
            content: format!("{n} {}", "oak elm ".repeat(500)),
            ..Chunk::default()
        };
        let before = fs::metadata(&path).unwrap().len();
        let mut written = 0;
        while fs::metadata(&path).unwrap().len() <= before {
            index.upsert(&[&chunk(written)]).unwrap();
            written += 1;
            assert!(written < 20_000, "no checkpoint was made");
            thread::sleep(Duration::from_micros(100));
        }
        assert_eq!(index.take_notices(), []);
        assert_eq!(index.check().unwrap(), [] as [&str; 0]);
    }
}
