//! Retrieval over the index (spec/retrieval.md).

pub mod retry;
