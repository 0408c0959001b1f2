//! The queries of spec/fixtures/words, over its documents in an index.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod cases;

use std::collections::BTreeMap;

use cases::{fixture, jsonl, text};
use hedgerow_engine::bm25::Ranking;
use hedgerow_engine::chunks::{Chunk, Filters};
use hedgerow_engine::index::Index;
use hedgerow_engine::query::{Connective, MatchOptions, Matching, compile_match, explain, parse};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use serde_json::json;

fn documents() -> Vec<Chunk> {
    let texts: BTreeMap<String, String> =
        serde_json::from_str(&fixture("words/documents.json")).unwrap();
    let chunk = |(id, content): (String, String)| Chunk {
        path: id.clone(),
        id,
        content,
        ..Chunk::default()
    };
    texts.into_iter().map(chunk).collect()
}

fn options() -> MatchOptions<'static> {
    MatchOptions {
        tokenizer: TokenizerKind::Words,
        ..MatchOptions::default()
    }
}

fn found(index: &Index, query: &str, options: &MatchOptions<'_>) -> Vec<String> {
    let query = parse(query).unwrap();
    let hits = index
        .search_bm25(&query, 99, &Filters::default(), options)
        .unwrap();
    let mut ids: Vec<String> = hits.into_iter().map(|hit| hit.id.clone()).collect();
    ids.sort();
    ids
}

#[test]
fn queries_are_compiled_and_find_documents() {
    for ranking in [Ranking::Memory, Ranking::Fts5] {
        let index = Index::in_memory_with(TokenizerKind::default(), ranking).unwrap();
        index
            .upsert(&documents().iter().collect::<Vec<_>>())
            .unwrap();
        for case in jsonl("words/queries.jsonl") {
            let query = text(&case, "query");
            let compiled = compile_match(&parse(query).unwrap(), &options()).unwrap();
            assert_eq!(compiled, text(&case, "match"), "{query}");
            for matching in [Matching::Spec, Matching::Extended] {
                let options = MatchOptions {
                    matching,
                    ..options()
                };
                let found = found(&index, query, &options);
                assert_eq!(json!(found), case["found"], "{query} {matching:?}");
            }
        }
    }
}

#[test]
fn a_run_is_one_kept_word_of_an_explanation() {
    for matching in [Matching::Spec, Matching::Extended] {
        let options = MatchOptions {
            matching,
            ..options()
        };
        let explanation = explain("東京 都庁舎に the", &options).unwrap();
        let words: Vec<_> = explanation
            .words
            .iter()
            .map(|word| (word.source.as_str(), word.outcome, word.tokens.len()))
            .collect();
        let expected = [
            ("東京", "kept", 1),
            ("都庁舎に", "kept", 1),
            ("the", "dropped", 0),
        ];
        assert_eq!(words, expected);
        assert!(explanation.match_text.contains("\"庁舎\" OR \"舎に\""));
    }
}

#[test]
fn operators_keep_runs_whole() {
    let and = MatchOptions {
        default_operator: Connective::And,
        ..options()
    };
    for (query, options, expected) in [
        ("東京都 AND 京", options(), r#""東京都" AND "京" *"#),
        ("都庁舎 garden", and, r#""都庁" AND "庁舎" AND "garden""#),
        ("東京都*", options(), r#""東京都" *"#),
        ("“winter garden”", options(), r#""winter garden""#),
        ("e\u{301}te\u{301}", options(), r#""ete""#),
    ] {
        let compiled = compile_match(&parse(query).unwrap(), &options).unwrap();
        assert_eq!(compiled, expected);
    }
}

#[test]
fn compounds_are_split_where_latin_words_have_stems() {
    let inflected = MatchOptions {
        latin_stems: true,
        ..options()
    };
    let and = MatchOptions {
        default_operator: Connective::And,
        ..inflected
    };
    for (query, options, expected) in [
        (
            "Größe Amazonas-Regenwald",
            inflected,
            r#""grosse" OR "amazonasregenwald" OR "amazonas" OR "regenwald" OR "amazonas regenwald""#,
        ),
        (
            "Größe Amazonas-Regenwald",
            options(),
            r#""grosse" OR "amazonasregenwald""#,
        ),
        (
            "Größe Amazonas-Regenwald",
            and,
            r#""grosse" AND "amazonasregenwald""#,
        ),
        (
            "Größe AND Amazonas-Regenwald",
            inflected,
            r#""grosse" AND "amazonasregenwald""#,
        ),
        ("Amazonas-Regenwald", inflected, r#""amazonasregenwald""#),
        ("Regenwald", inflected, r#""regenwald""#),
    ] {
        let compiled = compile_match(&parse(query).unwrap(), &options).unwrap();
        assert_eq!(compiled, expected, "{query}");
    }
}

#[test]
fn too_many_pairs_are_refused() {
    let query = parse(&"漢".repeat(5_000)).unwrap();
    assert!(compile_match(&query, &options()).is_err());
    assert!(compile_match(&query, &MatchOptions::default()).is_ok());
}

#[test]
fn words_as_they_are_written_come_first() {
    let index = Index::in_memory(TokenizerKind::default()).unwrap();
    let chunk = |(id, content): (&str, &str)| Chunk {
        id: id.to_owned(),
        content: content.to_owned(),
        ..Chunk::default()
    };
    let chunks = [
        ("a", "программисты"),
        ("b", "программа"),
        ("c", "кусты"),
        ("d", "ежи"),
        ("e", "лес"),
    ];
    let chunks: Vec<Chunk> = chunks.map(chunk).into();
    index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
    let query = parse("программа").unwrap();
    let hits = index
        .search_bm25(&query, 9, &Filters::default(), &MatchOptions::default())
        .unwrap();
    let ids: Vec<&str> = hits.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!(ids, ["b", "a"]);
}

#[test]
fn english_texts_have_the_expressions_and_scores_of_porter() {
    let make = |tokenizer| {
        let index = Index::in_memory(tokenizer).unwrap();
        index
            .upsert(&documents()[8..9].iter().collect::<Vec<_>>())
            .unwrap();
        index
    };
    let indexes = [TokenizerKind::Words, TokenizerKind::Porter].map(make);
    for query in [
        "hedgehogs",
        "sleeping gardens",
        "\"hedge of the garden\"",
        "hedge* NOT oak",
        "café",
    ] {
        let scores = indexes.each_ref().map(|index| {
            let query = parse(query).unwrap();
            let hits = index
                .search_bm25(&query, 9, &Filters::default(), &MatchOptions::default())
                .unwrap();
            hits.iter()
                .map(|hit| hit.score.to_bits())
                .collect::<Vec<_>>()
        });
        assert_eq!(scores[0], scores[1], "{query}");
    }
}

/// Texts in English with other letters than ASCII's: what else differs from `porter unicode61`.
#[test]
fn letters_outside_ascii_are_what_differs_in_english_texts() {
    let texts = [
        // A ligature, a soft hyphen, and a title with an accent and without frequent words, which has stems.
        ("ligature", "genes that we have identi\u{FB01}ed here"),
        ("hyphen", "the liveli\u{AD}hood of the hedge"),
        ("title", "Activated Kr\u{FC}ppel-like factors"),
        ("ascii", "the factors of activated hedges"),
    ];
    let make = |tokenizer| {
        let index = Index::in_memory(tokenizer).unwrap();
        let chunk = |(id, content): (&str, &str)| Chunk {
            id: id.to_owned(),
            content: content.to_owned(),
            ..Chunk::default()
        };
        let chunks = texts.map(chunk);
        index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
        index
    };
    let (words, porter) = (make(TokenizerKind::Words), make(TokenizerKind::Porter));
    for (query, by_words, by_porter) in [
        ("identified", vec!["ligature"], vec![]),
        ("livelihood", vec!["hyphen"], vec![]),
        ("activation-inhibitor", vec!["title"], vec![]),
        ("activated", vec!["ascii", "title"], vec!["ascii", "title"]),
    ] {
        let options = MatchOptions::default();
        assert_eq!(found(&words, query, &options), by_words, "{query}");
        assert_eq!(found(&porter, query, &options), by_porter, "{query}");
    }
}
