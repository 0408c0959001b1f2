//! The sparse vectors of an index in inverted lists, and the search by them (spec/index.md, "Sparse vectors").

mod lists;
mod schema;
mod search;
mod segment;
#[cfg(test)]
mod tests;
mod write;

pub use schema::SPARSE;
pub use search::{ScoreStats, SparseRows};

pub(crate) use lists::SparseLists;
pub(crate) use search::{SPARSE_MATCHED, SparseSearch};
pub(crate) use write::SparseWriter;
