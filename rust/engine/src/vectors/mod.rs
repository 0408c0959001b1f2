//! The vectors of an index in memory, and the search for the nearest (spec/index.md, "Vectors").
//!
//! A `Matrix` has the vectors of one generation in blocks that versions share. It keeps each
//! vector in full, and rotated and rounded to codes of few bits. A scan reads the codes first, and
//! never compares a vector in full that is too far away by its codes.

mod best_slots;
mod block;
mod center;
mod codes;
mod groups;
pub mod kernels;
mod matrix;
mod methods;
mod nearest;
mod path_sample;
mod rotation;
mod rows;
mod scan;
mod schema;
mod search;
mod signs;
mod slots;
mod space;
mod spread;
#[cfg(test)]
mod tests;
mod write;

pub use methods::{Resident, Vectors};
pub use nearest::similarities;
pub use schema::VECTORS;
pub use search::NearestRows;
pub use space::{Embedder, Space};
pub use spread::{CosineStats, SAMPLE};

pub(crate) use block::Residency;
pub(crate) use center::settle;
pub(crate) use matrix::{Matrix, MatrixSource};
pub(crate) use search::VectorSearch;
pub(crate) use slots::NEAREST;
pub(crate) use write::{VectorWriter, clear_staged, unstage};
