//! The words by which an English text is recognized.

/// The most frequent function words of English, in lower case, without those that are frequent in
/// other languages too (`a`, `in`, `an`, `i`, `he`, `me`, `so`, `no`, `am`, `do`, `has`).
const FREQUENT: [&str; 38] = [
    "about", "and", "are", "as", "at", "be", "been", "but", "by", "can", "for", "from", "had",
    "have", "his", "is", "it", "its", "not", "of", "on", "or", "that", "the", "their", "they",
    "this", "to", "was", "were", "what", "when", "which", "who", "will", "with", "would", "you",
];

/// Whether `word` is one of the 38 frequent words, in any case.
pub(super) fn is_frequent(word: &str) -> bool {
    (2..=5).contains(&word.len())
        && FREQUENT
            .iter()
            .any(|frequent| frequent.eq_ignore_ascii_case(word))
}
