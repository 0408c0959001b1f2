//! The engine by itself: `make bench-engine`, or `cargo bench -p hedgerow-engine -- bm25` for
//! benches whose names contain "bm25". `make bench` measures Python's share and peers.
//!
//! `HEDGEROW_BENCH_CHUNKS` is the number of chunks, 10,000 by default.

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
