//! The ledger of a sync: which files chunks were made from, and how each file was when it was read.
//!
//! A sync writes the chunks of a file and its row in `sources` in one transaction, so that a process
//! that is killed leaves both or neither. `source_chunks` has the file of each chunk. A chunk that
//! anything else writes or removes makes its file unread: without a signature, so that the next sync
//! reads it again.

mod ledger;
mod schema;

pub use ledger::{LedgerChanges, SourceFile, forget_source, note, put_source};
pub use schema::SOURCES;

pub(crate) use ledger::{
    OF_SOURCE, changes_since, chunks_without_source, disown, paths, rows_since, source_chunks,
    source_files, sources, sources_generation, sync_note, touch_source,
};
