//! Some rows of an index: a bit for each, in blocks.

/// Rows per block.
const BLOCK: i64 = 4096;
const WORDS: usize = 64;

/// Distinct rows, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowSet {
    /// Ascending by number, none of them empty.
    blocks: Vec<SetBlock>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SetBlock {
    /// The first row divided by [`BLOCK`].
    number: i64,
    words: [u64; WORDS],
}

impl SetBlock {
    fn of(number: i64) -> Self {
        Self {
            number,
            words: [0; WORDS],
        }
    }

    fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// The rows of a block, ascending.
    fn rows(&self) -> impl Iterator<Item = i64> + '_ {
        let words = self.words.iter().zip((0..).step_by(64));
        words.flat_map(|(word, first)| {
            let start = self.number * BLOCK + first;
            bits(*word).map(move |bit| start + i64::from(bit))
        })
    }
}

/// The block of a row, the word there and the bit in it.
#[allow(
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation,
    reason = "the rest of a division is small and not negative"
)]
fn place(row: i64) -> (i64, usize, u64) {
    let offset = row.rem_euclid(BLOCK) as usize;
    (row.div_euclid(BLOCK), offset / 64, 1 << (offset % 64))
}

impl RowSet {
    /// Whether a row is one of them.
    pub fn contains(&self, row: i64) -> bool {
        let (number, word, bit) = place(row);
        let found = self.find(number);
        found.is_ok_and(|at| self.blocks[at].words[word] & bit != 0)
    }

    /// Return a bit for each of up to 64 ascending rows: set if the row is in the set.
    pub fn bits_of(&self, rows: &[i64]) -> u64 {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return 0;
        };
        let there = u64::MAX >> (64 - rows.len().min(64));
        let gaps = last.abs_diff(*first) != (rows.len() - 1) as u64;
        if gaps {
            let bits = rows.iter().enumerate();
            let bits = bits.map(|(at, row)| u64::from(self.contains(*row)) << at);
            return bits.fold(0, |all, bit| all | bit);
        }
        // Without gaps they are the rest of one word and the beginning of the next.
        let shift = first.rem_euclid(64);
        let low = self.word(*first) >> shift;
        let high = match shift {
            0 => 0,
            _ => self.word(last.saturating_sub(last.rem_euclid(64))) << (64 - shift),
        };
        let spans = first.div_euclid(64) != last.div_euclid(64);
        (low | if spans { high } else { 0 }) & there
    }

    /// The word that has the bit of a row.
    fn word(&self, row: i64) -> u64 {
        let (number, word, _) = place(row);
        self.find(number)
            .map_or(0, |at| self.blocks[at].words[word])
    }

    /// Add a row.
    pub fn insert(&mut self, row: i64) {
        let (number, word, bit) = place(row);
        let at = match self.find(number) {
            Ok(at) => at,
            Err(at) => {
                self.blocks.insert(at, SetBlock::of(number));
                at
            }
        };
        self.blocks[at].words[word] |= bit;
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Return the number of rows.
    pub fn len(&self) -> usize {
        let words = self.blocks.iter().flat_map(|block| &block.words);
        words.map(|word| word.count_ones() as usize).sum()
    }

    /// Each, ascending.
    #[cfg(test)]
    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        self.blocks.iter().flat_map(SetBlock::rows)
    }

    /// Up to `limit` rows after another one, ascending.
    pub fn after(&self, row: i64, limit: usize) -> Vec<i64> {
        let number = row.div_euclid(BLOCK);
        let first = self.blocks.partition_point(|block| block.number < number);
        let rows = self.blocks.iter().skip(first).flat_map(SetBlock::rows);
        rows.filter(|next| *next > row).take(limit).collect()
    }

    /// Add the rows of another set.
    pub fn union(&mut self, other: &Self) {
        for block in &other.blocks {
            match self.find(block.number) {
                Ok(at) => {
                    let words = self.blocks[at].words.iter_mut().zip(&block.words);
                    words.for_each(|(word, more)| *word |= more);
                }
                Err(at) => self.blocks.insert(at, block.clone()),
            }
        }
    }

    /// Only those that are in the other too.
    pub fn intersect(&mut self, other: &Self) {
        self.blocks.retain_mut(|block| {
            let Ok(at) = other.find(block.number) else {
                return false;
            };
            let words = block.words.iter_mut().zip(&other.blocks[at].words);
            words.for_each(|(word, kept)| *word &= kept);
            !block.is_empty()
        });
    }

    /// Without those that are in the other.
    pub fn subtract(&mut self, other: &Self) {
        self.blocks.retain_mut(|block| {
            let Ok(at) = other.find(block.number) else {
                return true;
            };
            let words = block.words.iter_mut().zip(&other.blocks[at].words);
            words.for_each(|(word, gone)| *word &= !gone);
            !block.is_empty()
        });
    }

    /// Return the bytes of memory in use.
    pub fn bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<SetBlock>()
    }

    /// Where a block is, or belongs.
    fn find(&self, number: i64) -> Result<usize, usize> {
        // Rows mostly have no gaps: then a block is where its number says.
        let first = self.blocks.first().map_or(0, |block| block.number);
        let guess = usize::try_from(number.saturating_sub(first));
        if let Ok(guess) = guess
            && self
                .blocks
                .get(guess)
                .is_some_and(|block| block.number == number)
        {
            return Ok(guess);
        }
        self.blocks
            .binary_search_by_key(&number, |block| block.number)
    }
}

impl Extend<i64> for RowSet {
    fn extend<T: IntoIterator<Item = i64>>(&mut self, rows: T) {
        for row in rows {
            self.insert(row);
        }
    }
}

impl FromIterator<i64> for RowSet {
    fn from_iter<T: IntoIterator<Item = i64>>(rows: T) -> Self {
        let mut set = Self::default();
        set.extend(rows);
        set
    }
}

/// The numbers of the bits of a word that are set, the lowest first.
fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros());
        word &= word.wrapping_sub(1);
        bit
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn rows() -> impl Strategy<Value = BTreeSet<i64>> {
        let row = prop_oneof![
            -5000..20_000_i64,
            Just(i64::MAX),
            Just(i64::MIN),
            4090..4100_i64
        ];
        prop::collection::btree_set(row, 0..200)
    }

    fn set(rows: &BTreeSet<i64>) -> RowSet {
        rows.iter().rev().copied().collect()
    }

    proptest! {
        #[test]
        fn rows_without_gaps_are_read_by_words(
            rows in rows(),
            first in prop_oneof![-5000..20_000_i64, 4000..4100_i64],
            len in 0..=64_i64,
        ) {
            let set = set(&rows);
            let run: Vec<i64> = (first..first + len).collect();
            let bits = run.iter().enumerate().map(|(at, row)| u64::from(set.contains(*row)) << at);
            prop_assert_eq!(set.bits_of(&run), bits.fold(0, |all, bit| all | bit));
        }

        #[test]
        fn it_is_a_set(left in rows(), right in rows()) {
            let [one, other] = [set(&left), set(&right)];
            prop_assert_eq!(one.iter().collect::<BTreeSet<i64>>(), left.clone());
            prop_assert!(one.iter().is_sorted());
            prop_assert_eq!(one.len(), left.len());
            prop_assert!(right.iter().all(|row| one.contains(*row) == left.contains(row)));
            let some: Vec<i64> = right.iter().copied().take(64).collect();
            let bits = some.iter().enumerate().map(|(at, row)| u64::from(one.contains(*row)) << at);
            prop_assert_eq!(one.bits_of(&some), bits.sum::<u64>());
            let mut united = one.clone();
            united.union(&other);
            prop_assert_eq!(united, set(&left.union(&right).copied().collect()));
            let mut both = one.clone();
            both.intersect(&other);
            prop_assert_eq!(both, set(&left.intersection(&right).copied().collect()));
            let mut rest = one.clone();
            rest.subtract(&other);
            let expected = set(&left.difference(&right).copied().collect());
            prop_assert_eq!(rest, expected);
        }
    }
}
