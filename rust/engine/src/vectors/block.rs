//! Some vectors that follow each other in row order, with their codes: what versions of a matrix
//! share, and what is copied when one of them changes.

use std::ops::Range;
use std::sync::Arc;

use super::codes::{Codes, RowCodes};
use super::rotation::Rotation;
use super::signs::{RowSigns, Signs};
use crate::storage::row_blocks::RowBlock;

/// How many vectors a block has at most: few enough to copy one in some microseconds, and enough
/// for a scan that does not notice where one ends.
pub(super) const BLOCK: usize = 128;

/// The overhead of a shared vector: two counts.
const SHARED: usize = 2 * size_of::<usize>();

/// What is kept in memory of vectors in addition to their codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kept {
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
    /// The vectors, which copies of a block share; empty where they are not kept.
    values: Vec<Arc<[f32]>>,
    /// The length of each residual.
    pub lengths: Vec<f32>,
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
        let values = if kept.values { BLOCK } else { 0 };
        Self {
            rows: Vec::with_capacity(BLOCK),
            values: Vec::with_capacity(values),
            lengths: Vec::with_capacity(BLOCK),
            codes: Codes::with_capacity(BLOCK, rotation),
            signs: (kept.signs).then(|| Signs::with_capacity(BLOCK, rotation.codes())),
        }
    }

    fn rows(&self) -> &[i64] {
        &self.rows
    }

    fn append(&mut self, other: &Self, entries: Range<usize>) {
        if let Some(values) = other.values.get(entries.clone()) {
            self.values.extend_from_slice(values);
        }
        self.rows.extend_from_slice(&other.rows[entries.clone()]);
        let lengths = &other.lengths[entries.clone()];
        self.lengths.extend_from_slice(lengths);
        self.codes.extend(&other.codes, entries.clone());
        if let (Some(signs), Some(others)) = (&mut self.signs, &other.signs) {
            signs.extend(others, entries);
        }
    }

    fn remove(&mut self, at: usize) {
        if at < self.values.len() {
            self.values.remove(at);
        }
        self.rows.remove(at);
        self.lengths.remove(at);
        self.codes.remove(at);
        if let Some(signs) = &mut self.signs {
            signs.remove(at);
        }
    }
}

impl Block {
    /// How many vectors there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The vector at `at`; None where vectors are not kept.
    pub fn vector(&self, at: usize) -> Option<&[f32]> {
        self.values.get(at).map(|vector| &**vector)
    }

    /// Keep the vector of a row: over the one at `Ok`, or before the one at `Err`.
    pub fn put(
        &mut self,
        row: i64,
        encoded: &Encoded<'_>,
        found: Result<usize, usize>,
        kept: Kept,
    ) {
        match found {
            Ok(at) => {
                if kept.values {
                    self.values[at] = encoded.vector.into();
                }
                self.lengths[at] = encoded.length;
                self.codes.replace(at, &encoded.codes);
                if let (Some(signs), Some(row)) = (&mut self.signs, &encoded.signs) {
                    signs.replace(at, row);
                }
            }
            Err(at) => {
                self.rows.insert(at, row);
                if kept.values {
                    self.values.insert(at, encoded.vector.into());
                }
                self.lengths.insert(at, encoded.length);
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
            + self.values.capacity() * size_of::<Arc<[f32]>>()
            + self.lengths.capacity() * size_of::<f32>()
            + self
                .values
                .iter()
                .map(|vector| size_of_val(&**vector) + SHARED)
                .sum::<usize>()
            + self.codes.bytes()
            + self.signs.as_ref().map_or(0, Signs::bytes)
    }
}
