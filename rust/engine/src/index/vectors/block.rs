//! Some vectors that follow each other in row order, with their codes: what versions of a matrix
//! share, and what is copied when one of them changes.

use std::ops::Range;

use super::codes::{Codes, RowCodes};
use super::rotation::Rotation;
use super::signs::{RowSigns, Signs};
use crate::index::row_blocks::RowBlock;

/// How many vectors a block has at most: few enough to copy one in some microseconds, and enough
/// for a scan that does not notice where one ends.
pub(super) const BLOCK: usize = 128;

/// What is kept in memory of vectors beside their codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::index) struct Kept {
    /// The vectors themselves.
    pub values: bool,
    /// One bit a number.
    pub signs: bool,
}

/// How blocks keep vectors.
#[derive(Debug)]
pub(super) struct Layout {
    pub rotation: Rotation,
    pub kept: Kept,
}

/// Up to [`BLOCK`] vectors, by row.
#[derive(Debug)]
pub(super) struct Block {
    /// Ascending.
    pub rows: Vec<i64>,
    /// Vector after vector; empty where they are not kept.
    values: Vec<f32>,
    pub codes: Codes,
    pub signs: Option<Signs>,
}

/// A vector as a block keeps it.
pub(super) struct Encoded<'v> {
    vector: &'v [f32],
    codes: RowCodes,
    signs: Option<RowSigns>,
    /// The length of its residual.
    pub length: f32,
}

impl<'v> Encoded<'v> {
    pub fn new(vector: &'v [f32], Layout { rotation, kept }: &Layout) -> Self {
        let residual = rotation.residual(vector);
        Self {
            vector,
            codes: RowCodes::new(&residual),
            signs: (kept.signs).then(|| RowSigns::new(&residual, rotation.codes())),
            length: super::kernels::dot(&residual, &residual).sqrt(),
        }
    }
}

impl RowBlock for Block {
    type Layout = Layout;
    const FULL: usize = BLOCK;

    fn new(Layout { rotation, kept }: &Layout) -> Self {
        let values = if kept.values {
            BLOCK * rotation.dimensions()
        } else {
            0
        };
        Self {
            rows: Vec::with_capacity(BLOCK),
            values: Vec::with_capacity(values),
            codes: Codes::with_capacity(BLOCK, rotation),
            signs: (kept.signs).then(|| Signs::with_capacity(BLOCK, rotation.codes())),
        }
    }

    fn rows(&self) -> &[i64] {
        &self.rows
    }

    fn append(&mut self, other: &Self, entries: Range<usize>) {
        let dimensions = other.dimensions();
        let values = entries.start * dimensions..entries.end * dimensions;
        self.values.extend_from_slice(&other.values[values]);
        self.rows.extend_from_slice(&other.rows[entries.clone()]);
        self.codes.extend(&other.codes, entries.clone());
        if let (Some(signs), Some(others)) = (&mut self.signs, &other.signs) {
            signs.extend(others, entries);
        }
    }

    fn remove(&mut self, at: usize) {
        let dimensions = self.dimensions();
        self.values.drain(at * dimensions..(at + 1) * dimensions);
        self.rows.remove(at);
        self.codes.remove(at);
        if let Some(signs) = &mut self.signs {
            signs.remove(at);
        }
    }
}

impl Block {
    /// How many numbers a vector has; 0 where vectors are not kept.
    fn dimensions(&self) -> usize {
        self.values.len() / self.len().max(1)
    }

    /// How many vectors there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The vector at `at`; None where vectors are not kept.
    pub fn vector(&self, at: usize) -> Option<&[f32]> {
        let dimensions = self.dimensions();
        let vector = self.values.get(at * dimensions..(at + 1) * dimensions);
        vector.filter(|vector| !vector.is_empty())
    }

    /// Keep the vector of a row: over the one at `Ok`, or before the one at `Err`.
    pub fn put(
        &mut self,
        row: i64,
        encoded: &Encoded<'_>,
        found: Result<usize, usize>,
        kept: Kept,
    ) {
        let values = |at: usize, count: usize| {
            let dimensions = encoded.vector.len();
            at * dimensions..(at + count) * dimensions
        };
        match found {
            Ok(at) => {
                if kept.values {
                    self.values[values(at, 1)].copy_from_slice(encoded.vector);
                }
                self.codes.replace(at, &encoded.codes);
                if let (Some(signs), Some(row)) = (&mut self.signs, &encoded.signs) {
                    signs.replace(at, row);
                }
            }
            Err(at) => {
                self.rows.insert(at, row);
                if kept.values {
                    let start = values(at, 0).start;
                    // Mostly at the end, where nothing moves.
                    self.values.extend_from_slice(encoded.vector);
                    self.values[start..].rotate_right(encoded.vector.len());
                }
                self.codes.insert(at, &encoded.codes);
                if let (Some(signs), Some(row)) = (&mut self.signs, &encoded.signs) {
                    signs.insert(at, row);
                }
            }
        }
    }

    /// How many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<i64>()
            + self.values.capacity() * size_of::<f32>()
            + self.codes.bytes()
            + self.signs.as_ref().map_or(0, Signs::bytes)
    }
}
