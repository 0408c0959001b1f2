//! A failed write on a full disk must leave nothing.
//!
//! A transaction that is larger than SQLite's cache writes into the log before it is committed. If the disk
//! is full it is rolled back, but SQLite keeps the written pages for later writes. On a full disk that is all
//! the free space there was, and a checkpoint needs some itself.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::sidecar::{LOG, sidecar};

/// The log begins with a header, whose last quarter but one are two salts; a frame is a header with
/// the same salts, and a page (<https://sqlite.org/fileformat2.html#the_write_ahead_log>).
const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// Free the space of a failed write in the log, and move committed pages into the file.
///
/// Never blocks, and ignores failures: the next write tries again.
pub(super) fn release(connection: &Connection, file: &Path) {
    // The timeout set to zero here must be restored.
    let Ok(timeout) = connection.query_row("PRAGMA busy_timeout", [], |row| row.get(0)) else {
        return;
    };
    let _ = connection.busy_timeout(Duration::ZERO);
    let _ = cut_log(connection, file);
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    let _ = connection.busy_timeout(Duration::from_millis(timeout));
}

/// Cut off what follows the last committed transaction. With the lock of writers nobody appends
/// meanwhile, and no reader looks there.
fn cut_log(connection: &Connection, file: &Path) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .open(sidecar(file, LOG));
    if let Ok(log) = opened {
        let _ = committed_bytes(&log).and_then(|length| match length {
            Some(length) if length < log.metadata()?.len() => log.set_len(length),
            _ => Ok(()),
        });
    }
    transaction.rollback()
}

/// How long the log is up to its last frame that ends a transaction; None for anything that is not a log.
fn committed_bytes(log: &File) -> io::Result<Option<u64>> {
    let mut log = BufReader::new(log);
    let mut header = [0; HEADER];
    if log.read_exact(&mut header).is_err() {
        return Ok(None);
    }
    let number = |bytes: &[u8], at: usize| {
        let bytes = bytes
            .get(at..at + 4)
            .and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_be_bytes)
    };
    let page = i64::from(number(&header, 8));
    let mut read = HEADER as u64;
    let mut committed = read;
    let mut frame = [0; FRAME_HEADER];
    while log.read_exact(&mut frame).is_ok() && frame[8..16] == header[16..24] {
        read += FRAME_HEADER as u64 + page.unsigned_abs();
        // Only the last frame of a transaction has the size of the database.
        if number(&frame, 4) > 0 {
            committed = read;
        }
        log.seek_relative(page)?;
    }
    Ok(Some(committed))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::chunks::Chunk;
    use crate::error::ErrorCode;
    use crate::index::Index;
    use crate::text::tokenizer::TokenizerKind;

    fn chunk(id: &str, words: usize) -> Chunk {
        let numbered = (0..words).map(|word| format!("{id}{word} "));
        Chunk {
            id: id.to_owned(),
            content: numbered.collect(),
            ..Chunk::default()
        }
    }

    fn log_bytes(path: &Path) -> u64 {
        fs::metadata(sidecar(path, LOG)).map_or(0, |log| log.len())
    }

    #[test]
    fn a_write_that_found_the_disk_full_leaves_no_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let index = Index::open(&path, TokenizerKind::Porter, false).unwrap();
        index.upsert(&[&chunk("a", 1000)]).unwrap();
        let pages = |pages: u32| {
            index
                .database()
                .on_writer(|connection| {
                    connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
                })
                .unwrap();
        };
        pages(1500);
        let error = index.upsert(&[&chunk("b", 1_000_000)]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::IndexIo, "{error}");
        assert!(error.message().contains("nothing of this write was kept"));
        assert_eq!(log_bytes(&path), 0);
        pages(1_000_000);
        assert_eq!(index.upsert(&[&chunk("c", 10)]).unwrap(), 1);
        assert_eq!(index.len().unwrap(), 2);
        assert_eq!(index.check().unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn what_is_committed_stays_in_a_log_that_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        check_read_log(&path, &path);
    }

    #[test]
    #[cfg(unix)]
    fn the_log_is_that_of_the_file_which_a_link_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let [path, links] = ["index.db", "links"].map(|name| folder.path().join(name));
        fs::create_dir(&links).unwrap();
        let link = links.join("linked.db");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        check_read_log(&link, &path);
    }

    /// Write into a file that is known as `link`, and release the space of a rolled back
    /// transaction.
    fn check_read_log(link: &Path, path: &Path) {
        let writer = Connection::open(link).unwrap();
        writer
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA cache_size = 5; CREATE TABLE texts (text);
                 INSERT INTO texts VALUES ('kept')",
            )
            .unwrap();
        let reader = Connection::open(link).unwrap();
        reader.execute_batch("BEGIN; SELECT * FROM texts").unwrap();
        writer
            .execute_batch("INSERT INTO texts VALUES ('kept too')")
            .unwrap();
        let before = log_bytes(path);
        writer
            .execute_batch(
                "BEGIN; WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 999)
                 INSERT INTO texts SELECT zeroblob(999) FROM n; ROLLBACK",
            )
            .unwrap();
        assert!(log_bytes(path) > before);
        release(&writer, link);
        assert_eq!(log_bytes(path), before, "the reader still needs it");
        drop(reader);
        let other = Connection::open(path).unwrap();
        let count: i64 = other
            .query_row("SELECT count(*) FROM texts", [], |row| row.get(0))
            .unwrap();
        assert_eq!(count, 2);
        release(&writer, link);
        assert_eq!(log_bytes(path), 0);
    }
}
