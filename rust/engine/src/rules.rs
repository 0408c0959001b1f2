//! The list of the engine's rules (docs/explanation/rules.md).

use crate::rule::Rule;

/// The rules of this crate, by subject.
pub static RULES: &[&Rule] = &[
    &crate::query::FUNCTION_WORDS,
    &crate::query::NAMES_AND_SHORT_WORDS,
    &crate::query::PHRASES_OF_PARTS,
    &crate::query::EDITS,
    &crate::bm25::ENDINGS,
    &crate::query::SPLITS,
    &crate::query::JOINS,
    &crate::query::BEGINNINGS,
    &crate::query::VOWEL_MARKS,
    &crate::text::words::STEMS,
    &crate::text::words::foldings::FOLDINGS,
    &crate::bm25::SHORT_TEXTS,
    &crate::retrieval::KEYWORD_COVERAGE,
    &crate::retrieval::NEIGHBORS,
    &crate::retrieval::NAMED_PERIODS,
    &crate::retrieval::WORDS_OF_PERIODS,
    &crate::retrieval::SPEAKERS,
    &crate::retrieval::FIRST_PERSON,
    &crate::retrieval::ANSWERS,
    &crate::chunks::SPEAKER_NAMES,
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let names: HashSet<&str> = RULES.iter().map(|rule| rule.name).collect();
        assert_eq!(names.len(), RULES.len());
    }
}
