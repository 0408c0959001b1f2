//! A column of values, in blocks that its copies share until one of them changes a value.

use std::ops::Index;
use std::sync::Arc;

/// A block has two to the power of this many values.
const BITS: usize = if cfg!(test) { 3 } else { 12 };
const BLOCK: usize = 1 << BITS;

/// A number stored in a column.
pub trait Value: Copy + Default {
    /// Whether two values are the same, to the bit.
    fn is(self, other: Self) -> bool;
}

impl Value for f64 {
    fn is(self, other: Self) -> bool {
        self.to_bits() == other.to_bits()
    }
}

macro_rules! value {
    ($($type:ty),*) => {
        $(impl Value for $type {
            fn is(self, other: Self) -> bool {
                self == other
            }
        })*
    };
}
value!(bool, u8, u16, u32, u64, i64, super::node::Category);

/// Values, each at its slot.
#[derive(Debug, Clone)]
pub struct Column<T> {
    /// All are full but the last, which is filled up with defaults.
    blocks: Vec<Arc<[T; BLOCK]>>,
    len: usize,
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self {
            blocks: Vec::new(),
            len: 0,
        }
    }
}

impl<T: Value> Column<T> {
    /// Return the number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value at a slot.
    pub fn get(&self, at: usize) -> Option<T> {
        (at < self.len).then(|| self[at])
    }

    /// The last value.
    pub fn last(&self) -> Option<T> {
        self.get(self.len.wrapping_sub(1))
    }

    /// All values.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.slices().flatten().copied()
    }

    /// Add a value at the end.
    pub fn push(&mut self, value: T) {
        self.extend_from_slice(&[value]);
    }

    /// Add values at the end.
    pub fn extend_from_slice(&mut self, mut values: &[T]) {
        while !values.is_empty() {
            let at = self.len % BLOCK;
            if at == 0 {
                self.blocks.push(Arc::new([T::default(); BLOCK]));
            }
            let (some, rest) = values.split_at(values.len().min(BLOCK - at));
            if let Some(block) = self.blocks.last_mut() {
                Arc::make_mut(block)[at..at + some.len()].copy_from_slice(some);
            }
            self.len += some.len();
            values = rest;
        }
    }

    /// Add the values of another column at the end.
    pub fn append(&mut self, next: &Self) {
        next.slices()
            .for_each(|values| self.extend_from_slice(values));
    }

    /// Replace a value.
    pub fn set(&mut self, at: usize, value: T) {
        if !self[at].is(value) {
            Arc::make_mut(&mut self.blocks[at / BLOCK])[at % BLOCK] = value;
        }
    }

    /// Grow to `len` values, each new one equal to `value`.
    pub fn grow(&mut self, len: usize, value: T) {
        if len > self.len {
            self.extend_from_slice(&vec![value; len - self.len]);
        }
    }

    /// The values in the order of slots, block by block.
    pub fn slices(&self) -> impl Iterator<Item = &[T]> {
        let ends = (0..).map(move |number| (self.len - number * BLOCK).min(BLOCK));
        let blocks = self.blocks.iter().zip(ends);
        blocks.map(|(block, end)| &block[..end])
    }

    /// All values in one piece.
    pub fn to_vec(&self) -> Vec<T> {
        let mut values = Vec::with_capacity(self.len);
        self.slices()
            .for_each(|some| values.extend_from_slice(some));
        values
    }
}

impl<T> Index<usize> for Column<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        debug_assert!(at < self.len, "{at} is beyond {}", self.len);
        &self.blocks[at / BLOCK][at % BLOCK]
    }
}

impl<T: Value> From<Vec<T>> for Column<T> {
    fn from(values: Vec<T>) -> Self {
        let mut column = Self::default();
        column.extend_from_slice(&values);
        column
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_column_is_a_vector_and_copies_stay_as_they_were(
            first in prop::collection::vec(0_u8..9, 0..40),
            second in prop::collection::vec(0_u8..9, 0..40),
            changes in prop::collection::vec((0_usize..80, 0_u8..9), 0..20),
            grown in 0_usize..100,
        ) {
            let mut column = Column::from(first.clone());
            let before = column.clone();
            let mut expected = first.clone();
            column.append(&Column::from(second.clone()));
            expected.extend(second);
            for (at, value) in changes {
                if at < expected.len() {
                    column.set(at, value);
                    expected[at] = value;
                } else {
                    column.push(value);
                    expected.push(value);
                }
            }
            column.grow(grown, 7);
            expected.resize(expected.len().max(grown), 7);
            prop_assert_eq!(column.to_vec(), expected.clone());
            prop_assert_eq!(column.iter().collect::<Vec<_>>(), expected.clone());
            prop_assert_eq!((column.len(), column.last()), (expected.len(), expected.last().copied()));
            prop_assert_eq!(column.is_empty(), expected.is_empty());
            for at in 0..expected.len() + 2 {
                prop_assert_eq!(column.get(at), expected.get(at).copied());
            }
            prop_assert_eq!(before.to_vec(), first);
        }
    }

    #[test]
    fn only_what_changes_is_copied() {
        let column = Column::from(vec![5_u8; 4 * BLOCK]);
        let mut changed = column.clone();
        changed.set(BLOCK, 5);
        changed.set(2 * BLOCK + 1, 6);
        let shared = |number: usize| Arc::ptr_eq(&column.blocks[number], &changed.blocks[number]);
        assert_eq!([0, 1, 2, 3].map(shared), [true, true, false, true]);
        let mut zero = Column::from(vec![0.0_f64]);
        zero.set(0, -0.0);
        assert!(zero[0].is_sign_negative());
    }
}
