//! How the retry ladder rewrites a query that found nothing (spec/retrieval.md).

use std::collections::HashSet;

use crate::query::stopwords::RETRY;
use crate::text::category::is_punctuation_or_symbol;
use crate::text::lower::lower;
use crate::text::{utf16, whitespace};

/// The shortest word, in UTF-16 units, that is searched on its own.
const MIN_WORD_UNITS: usize = 3;

/// `text` with every run of punctuation and symbols as white space, collapsed and trimmed.
pub fn sanitise_query(text: &str) -> String {
    let spaced = text
        .chars()
        .map(|c| if is_punctuation_or_symbol(c) { ' ' } else { c });
    let mut out = String::with_capacity(text.len());
    whitespace::collapse_into(&mut out, spaced);
    out
}

/// The distinct words of the sanitised text that the fuzzy rung compares, in lower case.
pub fn query_tokens(text: &str) -> Vec<String> {
    let sanitised = lower(sanitise_query(text));
    let mut seen = HashSet::new();
    whitespace::words(&sanitised)
        .filter(|word| utf16::len(word) >= MIN_WORD_UNITS && !RETRY.contains(word))
        .filter(|word| seen.insert(*word))
        .map(str::to_owned)
        .collect()
}

/// The longest of [`query_tokens`], the first among equals.
pub fn strongest_term(text: &str) -> Option<String> {
    query_tokens(text).into_iter().reduce(|strongest, word| {
        if utf16::len(&word) > utf16::len(&strongest) {
            word
        } else {
            strongest
        }
    })
}
