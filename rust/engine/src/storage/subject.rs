//! A subject: the tables that a module above storage registers in the file.

use rusqlite::Connection;

/// A step from a version of a subject's tables to the next.
pub type Migration = fn(&Connection) -> rusqlite::Result<()>;

/// Returns the problems in a subject's rows, one sentence for each.
pub type SubjectCheck = fn(&Connection) -> rusqlite::Result<Vec<String>>;

/// Work on the tables of a subject that writes leave to do, such as merges. It changes no answer.
///
/// A writer does what cannot wait, and a background thread does the rest (`maintenance.rs`).
#[derive(Debug)]
pub struct Maintenance {
    /// Runs at the end of every write transaction. Returns whether a step is left to do.
    pub after_write: fn(&Connection) -> rusqlite::Result<bool>,
    /// A step of about a millisecond in a separate write transaction. Returns whether another step
    /// is due.
    pub step: fn(&Connection) -> rusqlite::Result<bool>,
}

/// All that a handle knows of a file, those first on whose tables others build.
pub type Subjects = &'static [&'static Subject];

/// The tables of one subject. Each file has a version for the subject.
#[derive(Debug)]
pub struct Subject {
    /// The name of the subject in the table `subjects`.
    pub name: &'static str,
    /// The first makes the tables; a file that has version n of them needs those from n on.
    pub migrations: &'static [Migration],
    /// The first format whose files have version 1 of them without a table `subjects` that says so.
    pub since_format: u32,
    /// Adds the SQL functions that its statements call, to each connection.
    pub register: fn(&Connection) -> rusqlite::Result<()>,
    /// Checks that read.
    pub checks: &'static [SubjectCheck],
    /// Checks that SQLite takes for writes.
    pub writing_checks: &'static [SubjectCheck],
    /// The maintenance of its tables; None if they need none.
    pub maintenance: Option<Maintenance>,
}

impl Subject {
    /// The version of the tables that this code writes.
    pub fn version(&self) -> usize {
        self.migrations.len()
    }
}
