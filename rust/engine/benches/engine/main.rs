//! The engine by itself: `make bench-engine`, or `cargo bench -p hedgerow-engine -- bm25` for those
//! whose names hold "bm25". What Python adds, and how others do, is measured by `make bench`.
//!
//! `HEDGEROW_BENCH_CHUNKS` is how many chunks are searched, 10,000 if it is not set.

#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]
#![allow(missing_docs, reason = "criterion's macros make functions without")]

mod corpus;
mod query;
mod retrieval;
mod searching;
mod spelling;
mod tokenizing;

use criterion::{criterion_group, criterion_main};

criterion_group!(
    benches,
    query::benches,
    searching::benches,
    retrieval::benches,
    spelling::benches,
    tokenizing::benches
);
criterion_main!(benches);
