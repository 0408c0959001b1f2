//! A sorted map from rows to whatever a block keeps for them, in blocks that versions share: to
//! clone it copies pointers, and to change it copies the block that changes.

use std::ops::Range;
use std::sync::Arc;

/// Entries that follow each other, by row.
pub trait RowBlock: Sized {
    /// The parameters of the form of a block.
    type Layout;
    /// The most entries of a block.
    const FULL: usize;

    /// An empty block with room for [`Self::FULL`] entries.
    fn new(layout: &Self::Layout) -> Self;

    /// The row of each entry, ascending.
    fn rows(&self) -> &[i64];

    /// Append entries of another block, which come after its own.
    fn append(&mut self, other: &Self, entries: Range<usize>, layout: &Self::Layout);

    /// Remove the entry at `at`.
    fn remove(&mut self, at: usize, layout: &Self::Layout);

    /// Return a copy to change, which leaves this block unchanged.
    #[must_use]
    fn copy(&self, layout: &Self::Layout) -> Self {
        self.part(0..self.rows().len(), layout)
    }

    /// Return a block of these entries, with room for more.
    #[must_use]
    fn part(&self, entries: Range<usize>, layout: &Self::Layout) -> Self {
        let mut part = Self::new(layout);
        part.append(self, entries, layout);
        part
    }
}

/// Blocks in the order of rows, none of them empty.
#[derive(Debug)]
pub struct RowBlocks<B> {
    blocks: Vec<Arc<B>>,
    /// The first row of each block, which finds a row without a look into blocks.
    firsts: Vec<i64>,
    len: usize,
}

impl<B> Clone for RowBlocks<B> {
    fn clone(&self) -> Self {
        Self {
            blocks: self.blocks.clone(),
            firsts: self.firsts.clone(),
            len: self.len,
        }
    }
}

impl<B> Default for RowBlocks<B> {
    fn default() -> Self {
        Self {
            blocks: Vec::new(),
            firsts: Vec::new(),
            len: 0,
        }
    }
}

impl<B: RowBlock> RowBlocks<B> {
    /// Return the number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are zero rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The blocks, in order.
    pub fn blocks(&self) -> &[Arc<B>] {
        &self.blocks
    }

    /// The number of the block that has a row, and the offset there.
    pub fn find(&self, row: i64) -> Option<(usize, usize)> {
        let number = self.firsts.partition_point(|first| *first <= row);
        let number = number.checked_sub(1)?;
        let offset = offset_of(row, self.firsts[number], self.blocks[number].rows())?;
        Some((number, offset))
    }

    /// Append the entries of later rows.
    pub fn extend(&mut self, later: Self) {
        self.blocks.extend(later.blocks);
        self.firsts.extend(later.firsts);
        self.len += later.len;
    }

    /// Have `put` write the entry of a row into its block: over that at `Ok`, or before that at `Err`.
    pub fn put(
        &mut self,
        row: i64,
        layout: &B::Layout,
        put: impl FnOnce(&mut B, Result<usize, usize>),
    ) {
        let number = self.block_for(row, layout);
        let found = self.blocks[number].rows().binary_search(&row);
        self.len += usize::from(found.is_err());
        self.change(number, layout, |block| put(block, found));
        self.firsts[number] = self.blocks[number].rows()[0];
    }

    /// Drop the entry of a row, if it has one.
    pub fn remove(&mut self, row: i64, layout: &B::Layout) {
        let Some((number, offset)) = self.find(row) else {
            return;
        };
        self.change(number, layout, |block| block.remove(offset, layout));
        self.len -= 1;
        let Some(first) = self.blocks[number].rows().first() else {
            self.blocks.remove(number);
            self.firsts.remove(number);
            return;
        };
        self.firsts[number] = *first;
        self.join(number, layout);
    }

    /// The number of the block that has a row, or has room for it; one is made where none has.
    fn block_for(&mut self, row: i64, layout: &B::Layout) -> usize {
        let number = self.firsts.partition_point(|first| *first <= row);
        let number = number.saturating_sub(1);
        let Some(block) = self.blocks.get(number) else {
            return self.insert_block(number, row, B::new(layout));
        };
        let rows = block.rows();
        if rows.len() < B::FULL || rows.binary_search(&row).is_ok() {
            return number;
        }
        let is_last = number + 1 == self.blocks.len();
        if is_last && rows.last().is_some_and(|last| *last < row) {
            // Rows mostly come in order: the block stays full.
            return self.insert_block(number + 1, row, B::new(layout));
        }
        let middle = rows[B::FULL / 2];
        let left = block.part(0..B::FULL / 2, layout);
        let right = block.part(B::FULL / 2..B::FULL, layout);
        self.blocks[number] = Arc::new(left);
        self.insert_block(number + 1, middle, right);
        number + usize::from(row >= middle)
    }

    fn insert_block(&mut self, number: usize, first: i64, block: B) -> usize {
        self.blocks.insert(number, Arc::new(block));
        self.firsts.insert(number, first);
        number
    }

    /// Change a block, or a copy of it where another version has it too.
    fn change(&mut self, number: usize, layout: &B::Layout, change: impl FnOnce(&mut B)) {
        let block = &mut self.blocks[number];
        if let Some(block) = Arc::get_mut(block) {
            return change(block);
        }
        let mut copy = block.copy(layout);
        change(&mut copy);
        *block = Arc::new(copy);
    }

    /// Join two blocks that are mostly empty.
    fn join(&mut self, number: usize, layout: &B::Layout) {
        let Some([left, right]) = self.blocks.get(number..number + 2) else {
            return;
        };
        let (left_len, right_len) = (left.rows().len(), right.rows().len());
        if left_len + right_len > B::FULL / 2 {
            return;
        }
        let mut joined = left.part(0..left_len, layout);
        joined.append(right, 0..right_len, layout);
        self.blocks[number] = Arc::new(joined);
        self.blocks.remove(number + 1);
        self.firsts.remove(number + 1);
    }

    /// Return the bytes of memory without the blocks.
    pub fn bytes(&self) -> usize {
        self.blocks.capacity() * (size_of::<Arc<B>>() + size_of::<B>())
            + self.firsts.capacity() * size_of::<i64>()
    }
}

/// The offset of a row in ascending rows that begin with `first`.
fn offset_of(row: i64, first: i64, rows: &[i64]) -> Option<usize> {
    if row < first {
        return None;
    }
    // Rows mostly have no gaps, and a search would miss the cache several times.
    let without_gaps = usize::try_from(row.abs_diff(first)).ok();
    let found = without_gaps.filter(|offset| rows.get(*offset) == Some(&row));
    found.or_else(|| {
        let is_within = rows.last() >= Some(&row);
        is_within.then(|| rows.binary_search(&row).ok())?
    })
}

/// Looks rows up that mostly ascend, in constant time for one that follows the last.
#[derive(Debug)]
pub struct Cursor<'b, B> {
    blocks: &'b RowBlocks<B>,
    /// The block and the offset of the row after the last one found.
    number: usize,
    offset: usize,
}

impl<B: RowBlock> RowBlocks<B> {
    /// A cursor before the first row.
    pub fn cursor(&self) -> Cursor<'_, B> {
        Cursor {
            blocks: self,
            number: 0,
            offset: 0,
        }
    }
}

impl<B: RowBlock> Cursor<'_, B> {
    /// Like [`RowBlocks::find`].
    pub fn find(&mut self, row: i64) -> Option<(usize, usize)> {
        if self.next_row() != Some(row) {
            (self.number, self.offset) = self.find_ahead(row).or_else(|| self.blocks.find(row))?;
        }
        let found = (self.number, self.offset);
        self.offset += 1;
        if self.offset == self.blocks.blocks[self.number].rows().len() {
            (self.number, self.offset) = (self.number + 1, 0);
        }
        Some(found)
    }

    /// The block and the offset of a row that comes later in the block of the last one found.
    fn find_ahead(&self, row: i64) -> Option<(usize, usize)> {
        let block = self.blocks.blocks.get(self.number)?;
        let ahead = block.rows().get(self.offset..)?;
        let found = offset_of(row, *ahead.first()?, ahead)?;
        Some((self.number, self.offset + found))
    }

    fn next_row(&self) -> Option<i64> {
        let block = self.blocks.blocks.get(self.number)?;
        block.rows().get(self.offset).copied()
    }
}

impl<V: Clone> Cursor<'_, RowValues<V>> {
    /// Like [`RowBlocks::get`].
    pub fn get(&mut self, row: i64) -> Option<&V> {
        let (number, offset) = self.find(row)?;
        Some(&self.blocks.blocks[number].values[offset])
    }
}

/// A value for each row.
#[derive(Debug)]
pub struct RowValues<V> {
    rows: Vec<i64>,
    values: Vec<V>,
}

impl<V: Clone> RowBlock for RowValues<V> {
    type Layout = ();
    const FULL: usize = 256;

    fn new((): &()) -> Self {
        Self {
            rows: Vec::with_capacity(Self::FULL),
            values: Vec::with_capacity(Self::FULL),
        }
    }

    fn rows(&self) -> &[i64] {
        &self.rows
    }

    fn append(&mut self, other: &Self, entries: Range<usize>, (): &()) {
        self.rows.extend_from_slice(&other.rows[entries.clone()]);
        self.values.extend_from_slice(&other.values[entries]);
    }

    fn remove(&mut self, at: usize, (): &()) {
        self.rows.remove(at);
        self.values.remove(at);
    }
}

impl<V: Clone> RowBlocks<RowValues<V>> {
    /// The value of a row.
    pub fn get(&self, row: i64) -> Option<&V> {
        let (number, offset) = self.find(row)?;
        Some(&self.blocks[number].values[offset])
    }

    /// Keep a value for a row, in the place of the one it had.
    pub fn set(&mut self, row: i64, value: V) {
        self.put(row, &(), |block, found| match found {
            Ok(at) => block.values[at] = value,
            Err(at) => {
                block.rows.insert(at, row);
                block.values.insert(at, value);
            }
        });
    }

    /// Every row with its value, in order.
    pub fn iter(&self) -> impl Iterator<Item = (i64, &V)> {
        let blocks = self.blocks.iter();
        blocks.flat_map(|block| block.rows.iter().copied().zip(&block.values))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn versions_are_what_they_were_when_they_were_made(
            steps in prop::collection::vec((0_i64..2000, any::<u8>(), 0..10_u8), 1..3000),
        ) {
            let mut blocks: RowBlocks<RowValues<u8>> = RowBlocks::default();
            let mut expected = BTreeMap::new();
            let mut versions = Vec::new();
            for (row, value, step) in steps {
                match step {
                    0..6 => {
                        blocks.set(row, value);
                        expected.insert(row, value);
                    }
                    6..9 => {
                        blocks.remove(row, &());
                        expected.remove(&row);
                    }
                    _ if versions.len() < 10 => versions.push((blocks.clone(), expected.clone())),
                    _ => {}
                }
            }
            versions.push((blocks, expected));
            for (blocks, expected) in versions {
                let entries: Vec<(i64, u8)> = blocks.iter().map(|(row, v)| (row, *v)).collect();
                prop_assert_eq!(entries, expected.clone().into_iter().collect::<Vec<_>>());
                prop_assert_eq!(blocks.len(), expected.len());
                let mut cursor = blocks.cursor();
                for row in (0..2000).chain((0..2000).step_by(7)).chain((0..100).rev()) {
                    prop_assert_eq!(blocks.get(row), expected.get(&row));
                    prop_assert_eq!(cursor.get(row), expected.get(&row));
                }
                let full = RowValues::<u8>::FULL;
                prop_assert!(blocks.blocks().iter().all(|b| (1..=full).contains(&b.rows.len())));
            }
        }
    }

    #[test]
    fn rows_in_order_fill_blocks_and_a_change_copies_one() {
        let mut blocks: RowBlocks<RowValues<i64>> = RowBlocks::default();
        for row in 0..10_000 {
            blocks.set(row, row);
        }
        assert_eq!(
            blocks.blocks().len(),
            10_000_usize.div_ceil(RowValues::<i64>::FULL)
        );
        let before = blocks.clone();
        blocks.set(5000, -1);
        blocks.remove(5001, &());
        let pairs = before.blocks().iter().zip(blocks.blocks());
        let shared = pairs.filter(|(one, other)| Arc::ptr_eq(one, other)).count();
        assert_eq!(shared, before.blocks().len() - 1);
        assert_eq!(
            (before.get(5000), blocks.get(5000)),
            (Some(&5000), Some(&-1))
        );
    }
}
