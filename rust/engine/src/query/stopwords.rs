//! The stop words (spec/query.md, "Filtering"), a file for each list.

use std::sync::LazyLock;

/// What the parser drops from bare queries, of English.
pub static ENGLISH: LazyLock<WordList> =
    LazyLock::new(|| WordList::new(include_str!("stopwords/english.txt")));

/// What the parser drops from bare queries, of Dutch.
pub static DUTCH: LazyLock<WordList> =
    LazyLock::new(|| WordList::new(include_str!("stopwords/dutch.txt")));

/// What the retry ladder skips, a different set.
pub static RETRY: LazyLock<WordList> =
    LazyLock::new(|| WordList::new(include_str!("stopwords/retry.txt")));

/// Whether `token` (lower-case) is in one of the lists of the parser.
pub fn is_stopword(token: &str) -> bool {
    ENGLISH.contains(token) || DUTCH.contains(token)
}

/// A sorted list of words, looked up for every word of every query.
pub struct WordList {
    words: Vec<&'static str>,
    /// For each first byte, the index of its first word; one more at the end.
    starts: [usize; 257],
    /// For each first byte, the lengths of its words as a set of bits.
    lengths: [u64; 256],
}

impl WordList {
    /// The lines of a text, ascending, each shorter than 64 bytes.
    fn new(text: &'static str) -> Self {
        let words: Vec<&str> = text.lines().collect();
        let mut lengths = [0; 256];
        for word in &words {
            lengths[usize::from(word.as_bytes()[0])] |= 1 << word.len();
        }
        let starts = std::array::from_fn(|byte| {
            words.partition_point(|word| usize::from(word.as_bytes()[0]) < byte)
        });
        Self {
            words,
            starts,
            lengths,
        }
    }

    /// Whether the list holds `word`.
    pub fn contains(&self, word: &str) -> bool {
        let Some(&first) = word.as_bytes().first() else {
            return false;
        };
        let first = usize::from(first);
        // Most words end here.
        if word.len() >= 64 || self.lengths[first] & (1 << word.len()) == 0 {
            return false;
        }
        self.words[self.starts[first]..self.starts[first + 1]].contains(&word)
    }

    /// The words, sorted.
    pub fn words(&self) -> &[&'static str] {
        &self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_the_fixtures() {
        for (list, fixture) in [
            (
                &ENGLISH,
                include_str!("../../../../spec/fixtures/stopwords/en.json"),
            ),
            (
                &DUTCH,
                include_str!("../../../../spec/fixtures/stopwords/nl.json"),
            ),
            (
                &RETRY,
                include_str!("../../../../spec/fixtures/stopwords/retry.json"),
            ),
        ] {
            let expected: Vec<&str> = serde_json::from_str(fixture).unwrap();
            assert_eq!(list.words(), expected);
            assert!(expected.is_sorted() && expected.iter().all(|word| list.contains(word)));
            assert!(
                !["", "hedgehog", "zz", "東"]
                    .into_iter()
                    .any(|word| list.contains(word))
            );
        }
    }
}
