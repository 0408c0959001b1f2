//! The embedded index: one SQLite file (spec/index.md), and its caches in memory.

mod counts;
mod embed;
mod handle;
mod hit;
#[cfg(all(test, feature = "shuttle"))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod interleavings;
mod read;
mod retokenize;
mod search;
pub mod session;
mod staging;
mod stats;
mod sync;
mod table;
pub(crate) mod vocabulary;
mod write;

pub use handle::{Index, Methods, SUBJECTS};
pub use hit::Hit;
pub use stats::IndexStats;
pub use sync::{FileSync, Synced};
pub use table::{ChunkReader, Update};
pub use write::remove_chunks;
