//! Who ranks by BM25, and what ranking gives.

use crate::named_enum;

/// A row and FTS5's score for it: negative, lower is better.
pub(crate) type FtsRanked = (i64, f64);

named_enum! {
    /// Who ranks by BM25.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Ranking {
        /// Memory, from the second search on, where building takes no more than 1 GiB; FTS5 answers until
        /// a thread in the background has read the index.
        #[default]
        Auto = "auto",
        /// Memory: the first search reads the index, and FTS5 answers those that come meanwhile.
        Memory = "memory",
        /// FTS5 alone.
        Fts5 = "fts5",
    }
}
