//! Shortcuts for common texts against the specification, followed to the letter.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hedgerow_engine::query::stopwords::{DUTCH, ENGLISH, is_stopword};
use hedgerow_engine::query::{AliasTable, Connective, compile_fts, compile_fts_text, parse};
use hedgerow_engine::text::normalise::normalise;
use hedgerow_engine::text::whitespace::is_whitespace;
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

const STRIP_SET: &str = "*():^+\"-?!.,;/\\[]{}<>|&'$#@%=~`";

/// Steps 1 to 4 of spec/normalise.md, one after the other.
fn normalised(raw: &str) -> String {
    let composed: String = raw.nfc().collect();
    let visible = composed.replace(['\u{200B}', '\u{200C}', '\u{200D}', '\u{FEFF}'], "");
    let words = visible.split(is_whitespace).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The terms of a text that has neither quotes nor operators (spec/query.md, "Filtering").
fn terms(text: &str) -> Vec<String> {
    let clean = |word: &str| word.replace(|c| STRIP_SET.contains(c), "").to_lowercase();
    let is_noise = |word: &String| {
        ["and", "or", "not"].contains(&word.as_str())
            || word.encode_utf16().count() <= 2
            || [&ENGLISH, &DUTCH]
                .iter()
                .any(|list| list.words().contains(&word.as_str()))
    };
    let words = normalised(text);
    let words = words.split(' ').map(clean);
    words.filter(|word| !is_noise(word)).collect()
}

fn word() -> impl Strategy<Value = String> {
    let known: Vec<&str> = ENGLISH
        .words()
        .iter()
        .chain(DUTCH.words())
        .copied()
        .collect();
    prop_oneof![
        4 => "[a-z]{1,9}",
        2 => "[A-Za-z0-9*'./?-]{1,6}",
        2 => prop::sample::select(known).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["AND", "OR", "NOT", "\"", "oak*", "It's", "Not", "É", "İx", "ΑΣ",
            "😀", "😀😀", "e\u{301}t\u{301}", "\u{200B}", "the\u{200D}", "\u{1F}", "\u{85}"])
            .prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn text() -> impl Strategy<Value = String> {
    let gap = prop::sample::select(vec!["", " ", " ", " ", "  ", "\t", "\u{A0}", "\n"]);
    prop::collection::vec((word(), gap), 0..12)
        .prop_map(|words| words.into_iter().map(|(word, gap)| word + gap).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn a_text_is_normalised_step_by_step(text in text()) {
        prop_assert_eq!(normalise(&text), normalised(&text));
    }

    #[test]
    fn a_bare_text_is_filtered_word_by_word(text in text()) {
        let query = parse(&text).unwrap();
        // A query in five; a search that assumed no operators would be rejected after as many.
        if query.has_operators {
            return Ok(());
        }
        let tokens: Vec<String> = query.tokens.into_iter().map(|token| token.text).collect();
        prop_assert_eq!(tokens, terms(&text));
    }

    #[test]
    fn a_text_compiles_as_its_query_does(text in text(), and: bool, aliased: bool) {
        let connective = if and { Connective::And } else { Connective::Or };
        let table = AliasTable::new([("oak", ["tree", "a b"])]);
        let aliases = aliased.then_some(&table);
        let query = parse(&text).unwrap();
        prop_assert_eq!(
            compile_fts_text(&text, aliases, connective).unwrap(),
            compile_fts(&query, aliases, connective).unwrap()
        );
    }

    #[test]
    fn a_stop_word_is_a_word_of_a_list(word in word()) {
        let listed = [&ENGLISH, &DUTCH].iter().any(|list| list.words().contains(&word.as_str()));
        prop_assert_eq!(is_stopword(&word), listed);
    }
}

#[test]
fn a_text_over_the_limits_fails_as_its_query_does() {
    for text in ["x".repeat(65_537), "oak ".repeat(4097)] {
        let error = parse(&text).unwrap_err();
        let same = compile_fts_text(&text, None, Connective::Or).unwrap_err();
        assert_eq!(
            (error.code(), error.message()),
            (same.code(), same.message())
        );
        assert!(same.message().contains("and the limit is"), "{same}");
    }
}
