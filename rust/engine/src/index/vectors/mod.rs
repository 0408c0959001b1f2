//! The vectors of an index in memory, and finding the nearest of them (spec/index.md, "Vectors").
//!
//! A [`Matrix`] holds the vectors of one generation in blocks that versions share. A vector is kept
//! as it is, and rotated and rounded to codes of few bits, which a scan reads first: what they show
//! to be too far away is never compared in full.

mod best;
mod block;
mod center;
mod codes;
mod groups;
pub(crate) mod kernels;
mod matrix;
mod methods;
mod nearest;
mod rotation;
mod scan;
mod signs;
mod slots;
mod spread;
#[cfg(test)]
mod tests;

pub(super) use best::Scored;
pub(super) use block::Kept;
pub(super) use center::settle;
pub(super) use groups::{Groups, PathSample};
pub(super) use matrix::{Matrix, Source};
pub use methods::{Resident, Vectors};
pub(super) use nearest::VectorReader;
pub(super) use slots::{SlotSet, Slots};
pub use spread::Spread;
