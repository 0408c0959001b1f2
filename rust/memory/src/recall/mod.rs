//! Recalls: the search of a root, its filters, scores and evidence, and the search for lines (spec/memory.md,
//! "Recall", "Context").

pub(crate) mod about;
pub(crate) mod columns;
pub(crate) mod evidence;
pub(crate) mod grep;
pub(crate) mod rank;
pub(crate) mod request;
pub(crate) mod scoped_index;
pub(crate) mod score;
pub(crate) mod snippet;

pub use columns::{Bound, ColumnCache, FileColumns, RecallFilter};
pub use evidence::Evidence;
pub use grep::{Pattern, grep};
pub use rank::{Recall, columns, recall};
pub use request::{RecallHit, RecallRequest};
pub use scoped_index::ScopedIndex;
pub use snippet::recall_terms;
