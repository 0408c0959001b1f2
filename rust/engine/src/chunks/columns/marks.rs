//! A bit for each distinct value of a column.

use std::ops::Range;

/// Some positions of a list.
#[derive(Debug, Clone)]
pub(super) struct Marks {
    words: Vec<u64>,
    len: usize,
}

impl Marks {
    /// Return marks at none of `len` positions.
    pub fn new(len: usize) -> Self {
        Self {
            words: vec![0; len.div_ceil(64)],
            len,
        }
    }

    pub fn add(&mut self, position: usize) {
        self.words[position / 64] |= 1 << (position % 64);
    }

    pub fn add_range(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let (first, last) = (range.start / 64, (range.end - 1) / 64);
        let from = u64::MAX << (range.start % 64);
        let to = u64::MAX >> (63 - (range.end - 1) % 64);
        if first == last {
            self.words[first] |= from & to;
            return;
        }
        self.words[first] |= from;
        self.words[first + 1..last].fill(u64::MAX);
        self.words[last] |= to;
    }

    pub fn union(&mut self, other: &Self) {
        let words = self.words.iter_mut().zip(&other.words);
        words.for_each(|(word, other)| *word |= other);
    }

    pub fn intersect(&mut self, other: &Self) {
        let words = self.words.iter_mut().zip(&other.words);
        words.for_each(|(word, other)| *word &= other);
    }

    pub fn subtract(&mut self, other: &Self) {
        let words = self.words.iter_mut().zip(&other.words);
        words.for_each(|(word, other)| *word &= !other);
    }

    /// The marked positions as ascending ranges with gaps between them.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.next(at, 0)?;
            at = self.next(start, u64::MAX).unwrap_or(self.len);
            Some(start..at)
        })
    }

    /// The first position from `at` on whose bit differs from those of `word`.
    fn next(&self, at: usize, word: u64) -> Option<usize> {
        if at >= self.len {
            return None;
        }
        let mut number = at / 64;
        let mut bits = (self.words[number] ^ word) & (u64::MAX << (at % 64));
        while bits == 0 {
            number += 1;
            bits = self.words.get(number)? ^ word;
        }
        let found = number * 64 + bits.trailing_zeros() as usize;
        (found < self.len).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_are_the_marked_positions(
            len in 0_usize..300,
            added in prop::collection::vec((0_usize..300, 0_usize..150, any::<bool>()), 0..6),
        ) {
            let mut marks = Marks::new(len);
            let mut expected = BTreeSet::new();
            for (start, count, single) in added {
                let end = (start + count).min(len);
                if single && start < len {
                    marks.add(start);
                    expected.insert(start);
                } else if !single && start <= end {
                    marks.add_range(start..end);
                    expected.extend(start..end);
                }
            }
            let ranges: Vec<Range<usize>> = marks.ranges().collect();
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
            let found: Vec<usize> = ranges.into_iter().flatten().collect();
            prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
