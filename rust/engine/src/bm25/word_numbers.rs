//! Numbers for distinct words, in the order in which the words come first.

use std::collections::HashMap;

/// The most bytes of a word in a key, next to the length. Longer words are rare; each takes an
/// allocation and an access to other memory.
const SHORT: usize = 15;

/// The first bytes of a word and its length, as a number in the order of words.
type Key = u128;

/// Distinct words with their numbers, which count from 0.
#[derive(Default)]
pub(super) struct WordNumbers {
    short: HashMap<Key, u32>,
    long: HashMap<Box<[u8]>, u32>,
}

/// A word with its number.
pub(super) struct NumberedWord {
    key: Key,
    /// All bytes of a long word; of a short one none.
    long: Box<[u8]>,
    pub number: u32,
}

impl WordNumbers {
    /// The number of words.
    pub fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }

    /// The number of a word, a new one for a new word.
    pub fn number(&mut self, word: &[u8]) -> u32 {
        let new = u32::try_from(self.len()).unwrap_or(u32::MAX);
        if word.len() <= SHORT {
            return *self.short.entry(key(word)).or_insert(new);
        }
        if let Some(number) = self.long.get(word) {
            return *number;
        }
        self.long.insert(word.into(), new);
        new
    }

    /// All words in order.
    pub fn sorted(self) -> Vec<NumberedWord> {
        let short = self.short.into_iter().map(|(key, number)| NumberedWord {
            key,
            long: Box::default(),
            number,
        });
        let long = self.long.into_iter().map(|(long, number)| NumberedWord {
            key: key(&long),
            long,
            number,
        });
        let mut words: Vec<NumberedWord> = short.chain(long).collect();
        words.sort_unstable_by(|one, other| {
            let by_key = one.key.cmp(&other.key);
            by_key.then_with(|| one.long.cmp(&other.long))
        });
        words
    }
}

impl NumberedWord {
    /// Call `work` with the bytes of the word.
    pub fn with_bytes<T>(&self, work: impl FnOnce(&[u8]) -> T) -> T {
        let bytes = self.key.to_be_bytes();
        let length = usize::from(bytes[SHORT]);
        work(bytes.get(..length).unwrap_or(&self.long))
    }
}

/// The key of a word. A long word comes after all short ones that it begins with.
fn key(word: &[u8]) -> Key {
    let mut bytes = [0; SHORT + 1];
    let length = word.len().min(SHORT);
    bytes[..length].copy_from_slice(&word[..length]);
    let is_long = word.len() > SHORT;
    #[allow(clippy::cast_possible_truncation, reason = "at most 15")]
    let count = if is_long { u8::MAX } else { length as u8 };
    bytes[SHORT] = count;
    Key::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn words_are_numbered_as_they_come_and_sorted_by_their_bytes(
            words in prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(0_u8..3, 0..4),
                    prop::collection::vec(prop::sample::select(vec![0, b'a', 255]), 13..18),
                ],
                0..200,
            ),
        ) {
            let mut numbers = WordNumbers::default();
            let mut expected: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
            for word in &words {
                let new = u32::try_from(expected.len()).unwrap();
                let number = *expected.entry(word.clone()).or_insert(new);
                prop_assert_eq!(numbers.number(word), number);
            }
            prop_assert_eq!(numbers.len(), expected.len());
            let sorted = numbers.sorted();
            let sorted = sorted.iter().map(|word| (word.with_bytes(<[u8]>::to_vec), word.number));
            prop_assert_eq!(sorted.collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
        }
    }
}
