//! Vectors by row, with their codes, in a few flat arrays.

use std::ops::Range;
use std::sync::Arc;

use super::codes::{Codes, RowCodes};
use super::rotation::Rotation;
use super::signs::{RowSignBits, SignBits};

/// The overhead of a shared vector: two counts.
const SHARED: usize = 2 * size_of::<usize>();

/// The data of vectors that is in memory in addition to their codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Residency {
    /// The vectors themselves.
    pub values: bool,
    /// Whether the sign bits are in memory.
    pub signs: bool,
}

/// How rows keep vectors.
#[derive(Debug)]
pub(super) struct Layout {
    pub rotation: Rotation,
    pub kept: Residency,
}

/// Some vectors, by row.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    /// The numbers of the rows, ascending.
    pub numbers: Vec<i64>,
    /// The vectors, which copies share; empty where they are not kept.
    values: Vec<Arc<[f32]>>,
    /// The length of each residual.
    pub lengths: Vec<f32>,
    pub codes: Codes,
    pub signs: Option<SignBits>,
}

/// A vector as rows keep it.
pub(super) struct EncodedVector {
    vector: Option<Arc<[f32]>>,
    codes: RowCodes,
    signs: Option<RowSignBits>,
    /// The length of its residual.
    pub length: f32,
}

impl EncodedVector {
    pub fn new(vector: &[f32], Layout { rotation, kept }: &Layout) -> Self {
        let residual = rotation.residual(vector);
        Self {
            vector: kept.values.then(|| vector.into()),
            codes: RowCodes::new(&residual),
            signs: (kept.signs).then(|| RowSignBits::new(&residual)),
            length: super::kernels::dot(&residual, &residual).sqrt(),
        }
    }
}

impl Rows {
    /// No rows, with room for `count`.
    pub fn with_capacity(count: usize, Layout { rotation, kept }: &Layout) -> Self {
        let values = if kept.values { count } else { 0 };
        Self {
            numbers: Vec::with_capacity(count),
            values: Vec::with_capacity(values),
            lengths: Vec::with_capacity(count),
            codes: Codes::with_capacity(count, rotation),
            signs: (kept.signs).then(|| SignBits::with_capacity(count, rotation.dimensions())),
        }
    }

    /// The number of vectors.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The vector at `at`; None where vectors are not kept.
    pub fn vector(&self, at: usize) -> Option<&[f32]> {
        self.values.get(at).map(|vector| &**vector)
    }

    /// Insert the vector of a row before the one at `at`.
    pub fn insert(&mut self, at: usize, row: i64, encoded: &EncodedVector) {
        self.numbers.insert(at, row);
        if let Some(vector) = &encoded.vector {
            self.values.insert(at, Arc::clone(vector));
        }
        self.lengths.insert(at, encoded.length);
        self.codes.insert(at, &encoded.codes);
        if let (Some(signs), Some(row)) = (&mut self.signs, &encoded.signs) {
            signs.insert(at, row);
        }
    }

    /// Replace the vector at `at`.
    pub fn replace(&mut self, at: usize, encoded: &EncodedVector) {
        if let Some(vector) = &encoded.vector {
            self.values[at] = Arc::clone(vector);
        }
        self.lengths[at] = encoded.length;
        self.codes.replace(at, &encoded.codes);
        if let (Some(signs), Some(row)) = (&mut self.signs, &encoded.signs) {
            signs.replace(at, row);
        }
    }

    /// Append vectors of later rows.
    pub fn append(&mut self, other: &Self, entries: Range<usize>) {
        if let Some(values) = other.values.get(entries.clone()) {
            self.values.extend_from_slice(values);
        }
        self.numbers
            .extend_from_slice(&other.numbers[entries.clone()]);
        let lengths = &other.lengths[entries.clone()];
        self.lengths.extend_from_slice(lengths);
        self.codes.extend(&other.codes, entries.clone());
        if let (Some(signs), Some(others)) = (&mut self.signs, &other.signs) {
            signs.extend(others, entries);
        }
    }

    /// Remove the vector at `at`.
    pub fn remove(&mut self, at: usize) {
        if at < self.values.len() {
            self.values.remove(at);
        }
        self.numbers.remove(at);
        self.lengths.remove(at);
        self.codes.remove(at);
        if let Some(signs) = &mut self.signs {
            signs.remove(at);
        }
    }

    /// The bytes of memory of the rows.
    pub fn bytes(&self) -> usize {
        let vectors = self.values.iter();
        self.numbers.capacity() * size_of::<i64>()
            + self.values.capacity() * size_of::<Arc<[f32]>>()
            + self.lengths.capacity() * size_of::<f32>()
            + vectors
                .map(|vector| size_of_val(&**vector) + SHARED)
                .sum::<usize>()
            + self.codes.bytes()
            + self.signs.as_ref().map_or(0, SignBits::bytes)
    }
}
