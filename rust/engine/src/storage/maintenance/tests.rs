//! A subject with a count of steps to do, which every write sees.

use std::time::Instant;

use rusqlite::Connection;

use super::*;
use crate::storage::{Database, FORMAT, Location, Maintenance, Notice, Subject};

/// How long a test waits for the thread, on a machine however busy.
const LONGEST: Duration = Duration::from_secs(60);

static STEPS: Subject = Subject {
    name: "steps",
    migrations: &[create],
    since_format: FORMAT,
    register: |_| Ok(()),
    checks: &[],
    writing_checks: &[],
    maintenance: Some(Maintenance {
        after_write: |connection| Ok(count(connection)? > 0),
        step: |connection| {
            connection.execute_batch("UPDATE steps SET left = left - 1")?;
            Ok(count(connection)? > 0)
        },
    }),
};

const SUBJECTS: Subjects = &[&STEPS];

fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE steps (left INTEGER CHECK (left <> 7)) STRICT; INSERT INTO steps VALUES (0)",
    )
}

fn count(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT left FROM steps", [], |row| row.get(0))
}

fn left(database: &Database) -> i64 {
    database.read(count).unwrap()
}

fn leave(database: &Database, steps: i64) {
    database
        .write(|connection| connection.execute("UPDATE steps SET left = ?", [steps]))
        .unwrap();
}

fn until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONGEST, "nothing happened for a minute");
        thread::sleep(Duration::from_millis(1));
    }
}

fn is_running(database: &Database) -> bool {
    database.maintainer.is_running()
}

fn in_file() -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("steps.db");
    let location = Location::file(&path, false, SUBJECTS).unwrap();
    let database = Database::open(location, false, &[]).unwrap();
    (folder, database)
}

#[test]
fn the_thread_does_the_steps_that_writes_leave() {
    let (_folder, file) = in_file();
    let memory = Database::open(Location::memory(SUBJECTS), false, &[]).unwrap();
    for database in [file, memory] {
        assert!(!is_running(&database));
        for steps in [1, 5, 6] {
            leave(&database, steps);
            until(|| !is_running(&database));
            assert_eq!(left(&database), 0);
        }
        assert_eq!(database.background().notices().take(), []);
    }
}

#[test]
fn a_write_that_meets_the_thread_leaves_no_step() {
    let (_folder, database) = in_file();
    for (round, halves) in (0..200).zip([0, 1, 2, 3].into_iter().cycle()) {
        leave(&database, 1 + round % 3);
        thread::sleep(QUIET * halves / 2);
    }
    until(|| !is_running(&database));
    assert_eq!(left(&database), 0);
}

#[test]
fn no_step_is_done_while_the_write_connection_is_used() {
    let (_folder, database) = in_file();
    leave(&database, 6);
    database
        .on_writer(|connection| {
            let before = count(connection)?;
            thread::sleep(5 * QUIET);
            assert_eq!(count(connection)?, before);
            Ok::<_, rusqlite::Error>(())
        })
        .unwrap();
    until(|| left(&database) == 0);
}

#[test]
fn the_thread_waits_for_another_process() {
    let (folder, database) = in_file();
    let other = Connection::open(folder.path().join("steps.db")).unwrap();
    leave(&database, 6);
    until(|| !is_running(&database));
    // As long as the lock of the other process lasts, a write through this handle leaves nothing.
    database.set_write_timeout(LONGEST).unwrap();
    other
        .execute_batch("BEGIN IMMEDIATE; UPDATE steps SET left = 6")
        .unwrap();
    database
        .maintainer
        .start(&database.background, &database.checkpoints);
    thread::sleep(BUSY * 3);
    assert!(is_running(&database), "it tries again");
    other.execute_batch("COMMIT").unwrap();
    until(|| !is_running(&database));
    assert_eq!(left(&database), 0);
    assert_eq!(database.background().notices().take(), []);
    let timeout = |connection: &Connection| {
        connection.query_row("PRAGMA busy_timeout", [], |row| row.get::<_, u64>(0))
    };
    let timeout = database.on_writer(timeout).unwrap();
    assert_eq!(timeout, 60_000, "writes wait as long as before");
}

#[test]
fn a_failure_is_a_notice_and_a_later_write_tries_again() {
    let (_folder, database) = in_file();
    for _ in 0..2 {
        leave(&database, 9);
        until(|| !is_running(&database));
        assert_eq!(left(&database), 8, "7 violates the constraint");
    }
    let notices = database.background().notices().take();
    let [Notice { level, message }] = notices.as_slice() else {
        panic!("{notices:?}");
    };
    assert_eq!(*level, NoticeLevel::Warning);
    assert!(message.starts_with("merging the full-text index failed: the index "));
    leave(&database, 6);
    until(|| !is_running(&database));
    assert_eq!(left(&database), 0);
}

#[test]
fn the_thread_ends_with_the_handle() {
    let (_folder, database) = in_file();
    leave(&database, 1_000_000);
    until(|| left(&database) < 1_000_000);
    database.close().unwrap();
    until(|| !is_running(&database));
}

#[test]
fn the_thread_ends_without_a_write_connection_as_after_a_fork() {
    let (_folder, database) = in_file();
    leave(&database, 1_000_000);
    if let Some(pool) = database.pool.write().unwrap().as_mut() {
        pool.close_files();
    }
    until(|| !is_running(&database));
    leave(&database, 6);
    until(|| !is_running(&database));
    assert_eq!(left(&database), 0);
}
