//! The SQLite file (spec/index.md, "The file"): its connections, its schema, and what in memory
//! follows its state.
//!
//! A [`Database`] is one handle. It knows the tables `settings`, `changes` and `subjects`; whatever
//! else is in the file belongs to a [`Subject`], which registers its tables, migrations, SQL
//! functions and checks when the file is opened.

pub mod background;
mod backup;
pub mod cache;
mod check;
mod checkpoint;
mod connections;
mod connector;
mod damage;
mod database;
mod errors;
mod fork;
mod full_disk;
pub mod generations;
mod identity;
#[cfg(all(test, feature = "shuttle"))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod interleavings;
mod location;
mod maintenance;
pub mod parallel;
mod pool;
mod read_only;
mod replaced;
pub mod row_blocks;
mod schema;
pub mod settings;
mod sidecar;
mod snapshot;
mod subject;

pub use background::{Background, Notice, NoticeLevel, Notices, Reading};
pub use check::{disagreements, summarize};
pub use connections::{ReadTransaction, WorkError};
pub use connector::{Connector, Progress};
pub use database::Database;
pub use fork::{after_fork, before_fork, is_forking};
pub use location::{Durability, Location};
pub use schema::{FORMAT, FormatState};
pub use snapshot::ReadSnapshot;
pub use subject::{Maintenance, Migration, Subject, SubjectCheck, Subjects};
