//! Trigrams over UTF-16 code units, as the fuzzy rung compares them (spec/retrieval.md).

use std::collections::BTreeSet;

use super::category::letter_digit_runs;
use super::lower::lower;

/// Three UTF-16 code units; one may be half of a surrogate pair.
pub type Gram = [u16; 3];

/// The grams of every word in `text`, each word padded to `$word$`, in UTF-16 order.
pub fn grams(text: &str) -> BTreeSet<Gram> {
    let text = lower(text.to_owned());
    let mut grams = BTreeSet::new();
    for word in letter_digit_runs(&text) {
        let dollar = u16::from(b'$');
        let padded: Vec<u16> = std::iter::once(dollar)
            .chain(word.encode_utf16())
            .chain([dollar])
            .collect();
        grams.extend(
            padded
                .windows(3)
                .map(|window| [window[0], window[1], window[2]]),
        );
    }
    grams
}

/// The grams that are valid text: one that cuts a surrogate pair cannot be a string.
pub fn printable_grams(text: &str) -> Vec<String> {
    grams(text)
        .iter()
        .filter_map(|gram| String::from_utf16(gram).ok())
        .collect()
}
