//! A block of consecutive vectors in row order: the unit that versions of a matrix share and copy.
//!
//! A copy shares the rows of the block and stores replaced vectors in a patch. So a transaction
//! that rewrites scattered rows copies little more than these rows.

use std::ops::Range;
use std::sync::Arc;

use super::kernels::TILE;
pub(crate) use super::rows::Residency;
pub(super) use super::rows::{EncodedVector, Layout, Rows};
use crate::storage::row_blocks::RowBlock;

/// The largest number of vectors in a block: small enough to copy one in a few microseconds, and
/// large enough that a scan does not notice the borders.
pub(super) const BLOCK: usize = 128;

/// The most vectors of a patch. More would cost memory, since the vectors that they replace stay,
/// and time in every scan. With fewer, scattered writes would copy whole blocks more often.
const MAX_PATCH: usize = 8;
const _: () = assert!(BLOCK <= u128::BITS as usize && MAX_PATCH <= TILE);

/// Up to [`BLOCK`] vectors, by row.
#[derive(Debug, Clone)]
pub(super) struct Block {
    base: Arc<Rows>,
    patch: Option<Patch>,
}

/// Vectors in the place of some of the base.
#[derive(Debug, Clone)]
pub(super) struct Patch {
    /// A bit for each offset in the block that is replaced.
    offsets: u128,
    /// The vectors of the block, in the order of offsets.
    rows: Rows,
}

impl Patch {
    /// The vectors, at most one tile of them.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The offset in the block that a vector replaces.
    pub fn offset(&self, index: usize) -> usize {
        let without_first = |bits: u128, _| bits & bits.wrapping_sub(1);
        let rest = (0..index).fold(self.offsets, without_first);
        rest.trailing_zeros() as usize
    }

    /// A bit for each replaced offset of the tile that begins with an offset.
    pub fn of_tile(&self, from: usize) -> u64 {
        #[allow(clippy::cast_possible_truncation, reason = "the bits of one tile")]
        let bits = (self.offsets >> from) as u64;
        bits
    }

    /// The index of an offset among the vectors: `Ok` if it is replaced, or `Err` for where it would be.
    fn find(&self, offset: usize) -> Result<usize, usize> {
        let bit = 1_u128 << offset;
        let index = (self.offsets & (bit - 1)).count_ones() as usize;
        if self.offsets & bit == 0 {
            Err(index)
        } else {
            Ok(index)
        }
    }
}

impl RowBlock for Block {
    type Layout = Layout;
    const FULL: usize = BLOCK;

    fn new(layout: &Layout) -> Self {
        Self {
            base: Arc::new(Rows::with_capacity(BLOCK, layout)),
            patch: None,
        }
    }

    fn rows(&self) -> &[i64] {
        &self.base.numbers
    }

    fn copy(&self, _: &Layout) -> Self {
        self.clone()
    }

    fn append(&mut self, other: &Self, entries: Range<usize>, layout: &Layout) {
        let rows = self.own(layout);
        for (block, range) in other.runs(entries) {
            rows.append(block, range);
        }
    }

    fn remove(&mut self, at: usize, layout: &Layout) {
        self.own(layout).remove(at);
    }
}

impl Block {
    /// The number of vectors.
    pub fn len(&self) -> usize {
        self.base.len()
    }

    /// The rows without what replaces some of them.
    pub fn base(&self) -> &Rows {
        &self.base
    }

    /// The vectors that replace some of the base.
    pub fn patch(&self) -> Option<&Patch> {
        self.patch.as_ref()
    }

    /// Where the vector of an offset is.
    pub fn at(&self, offset: usize) -> (&Rows, usize) {
        if let Some(patch) = &self.patch
            && let Ok(index) = patch.find(offset)
        {
            return (&patch.rows, index);
        }
        (&self.base, offset)
    }

    /// Keep the vector of a row: over the one at `Ok`, or before the one at `Err`.
    pub fn put(
        &mut self,
        row: i64,
        encoded: &EncodedVector,
        found: Result<usize, usize>,
        layout: &Layout,
    ) {
        match found {
            Ok(at) => self.replace(at, row, encoded, layout),
            Err(at) => self.own(layout).insert(at, row, encoded),
        }
    }

    fn replace(&mut self, at: usize, row: i64, encoded: &EncodedVector, layout: &Layout) {
        let new = || Patch {
            offsets: 0,
            rows: Rows::with_capacity(1, layout),
        };
        let is_shared = Arc::get_mut(&mut self.base).is_none();
        if !is_shared || self.patch.as_ref().map_or(0, |patch| patch.rows.len()) >= MAX_PATCH {
            return self.own(layout).replace(at, encoded);
        }
        let patch = self.patch.get_or_insert_with(new);
        match patch.find(at) {
            Ok(index) => patch.rows.replace(index, encoded),
            Err(index) => {
                patch.rows.insert(index, row, encoded);
                patch.offsets |= 1 << at;
            }
        }
    }

    /// All rows, with what replaces some of them, for this block alone.
    fn own(&mut self, layout: &Layout) -> &mut Rows {
        if self.patch.is_some() || Arc::get_mut(&mut self.base).is_none() {
            let mut rows = Rows::with_capacity(BLOCK, layout);
            for (block, range) in self.runs(0..self.len()) {
                rows.append(block, range);
            }
            *self = Self {
                base: Arc::new(rows),
                patch: None,
            };
        }
        // Nothing else has it, so nothing is copied.
        Arc::make_mut(&mut self.base)
    }

    /// The vectors of a range of offsets, in runs of the base and of the patch.
    fn runs(&self, entries: Range<usize>) -> impl Iterator<Item = (&Rows, Range<usize>)> {
        let mut next = entries.start;
        std::iter::from_fn(move || {
            if next >= entries.end {
                return None;
            }
            let (rows, from) = self.at(next);
            let start = next;
            next += 1;
            if std::ptr::eq(rows, &raw const *self.base) {
                let is_of_base =
                    |offset: usize| self.patch.as_ref().is_none_or(|p| p.find(offset).is_err());
                while next < entries.end && is_of_base(next) {
                    next += 1;
                }
            }
            Some((rows, from..from + next - start))
        })
    }

    /// The bytes of memory of the block.
    pub fn bytes(&self) -> usize {
        let patch = self.patch.as_ref();
        self.base.bytes()
            + size_of::<Rows>()
            + patch.map_or(0, |patch| size_of::<Rows>() + patch.rows.bytes())
    }
}
