//! The tables of the ledger.

use rusqlite::Connection;

use crate::storage::{FORMAT, Subject, disagreements};

/// The number of the last change of the ledger.
pub(super) const SOURCES_GENERATION: &str = "sources_generation";

/// Files, and which chunks are of which.
pub static SOURCES: Subject = Subject {
    name: "sources",
    migrations: &[create, number_changes],
    since_format: FORMAT,
    register: |_| Ok(()),
    checks: &[problems],
    writing_checks: &[],
    maintenance: None,
};

fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE sources (
             id INTEGER PRIMARY KEY,
             path TEXT NOT NULL UNIQUE,
             signature TEXT NOT NULL,
             settled INTEGER NOT NULL,
             digest TEXT NOT NULL,
             chunks INTEGER NOT NULL,
             skips TEXT NOT NULL,
             facts TEXT NOT NULL
         ) STRICT;
         CREATE TABLE source_chunks (
             row INTEGER PRIMARY KEY,
             source INTEGER NOT NULL
         ) STRICT;
         CREATE INDEX source_chunks_source ON source_chunks (source);",
    )
}

/// Each file says with which change it was written, so that a reader finds those it has not seen.
fn number_changes(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "ALTER TABLE sources ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
         CREATE INDEX sources_changed ON sources (changed);",
    )
}

fn problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    disagreements(
        connection,
        &[
            (
                "chunks of files, or their files, are missing",
                "SELECT 'row ' || row FROM source_chunks
                  WHERE row NOT IN (SELECT row FROM knowledge_chunks)
                     OR source NOT IN (SELECT id FROM sources)",
            ),
            (
                "files have notes that are not JSON",
                "SELECT path FROM sources
                  WHERE (skips <> '' AND NOT json_valid(skips))
                     OR (facts <> '' AND NOT json_valid(facts))",
            ),
        ],
    )
}
