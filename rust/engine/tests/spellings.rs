//! Other spellings of the words of a query, in an index.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod searching;

use hedgerow_engine::bm25::Ranking;
use hedgerow_engine::chunks::{Chunk, Filters};
use hedgerow_engine::index::Index;
use hedgerow_engine::query::Matching;
use hedgerow_engine::retrieval::{Embedding, FuzzyChunks, SearchResult, Setup, search};
use hedgerow_engine::text::tokenizer::TokenizerKind;

const TEXTS: [(&str, &str); 11] = [
    ("door", "The Handle of the door"),
    ("roses", "pruning roses in winter"),
    ("mail", "write to my email address"),
    ("phone", "please e-mail or phone"),
    ("rooms", "accommodation for hedgehogs, 2024 rooms"),
    ("ежи", "Ежи спят под программными кустами"),
    ("igel", "Die Igel überwintern häufig unter dürren Hecken."),
    ("sea", "a data base of sea shells"),
    ("names", "OBrien wrote doorjs"),
    ("東京", "東京都庁に行く"),
    ("arabic", "قُنْفُذ صَغِير في البيت"),
];

fn index(tokenizer: TokenizerKind, ranking: Ranking) -> Index {
    index_of(&TEXTS, tokenizer, ranking)
}

fn index_of(texts: &[(&str, &str)], tokenizer: TokenizerKind, ranking: Ranking) -> Index {
    let index = Index::in_memory_with(tokenizer, ranking).unwrap();
    for &(path, content) in texts {
        let chunk = Chunk {
            id: path.to_owned(),
            path: path.to_owned(),
            content: content.to_owned(),
            ..Chunk::default()
        };
        // A part for each.
        index.upsert(&[&chunk]).unwrap();
    }
    index
}

fn found(index: &Index, query: &str, filters: &Filters) -> SearchResult {
    let fuzzy = FuzzyChunks::Own;
    let setup = Setup {
        matching: Matching::Extended,
        ..searching::setup(index, &fuzzy)
    };
    let request = hedgerow_engine::retrieval::Request {
        skip_retry_ladder: true,
        ..searching::request(query, Embedding::Absent, filters)
    };
    search(&setup, &request).unwrap()
}

fn paths(found: &SearchResult) -> Vec<&str> {
    let mut paths: Vec<&str> = found.hits.iter().map(|one| &*one.hit.path).collect();
    paths.sort_unstable();
    paths
}

/// Assert what queries find, and the other spellings in their notices, for each way of ranking.
fn assert_spellings(tokenizer: TokenizerKind, cases: &[(&str, &[&str], &str)]) {
    for ranking in [Ranking::Memory, Ranking::Fts5] {
        let index = index(tokenizer, ranking);
        for (query, expected, spelled) in cases {
            let found = found(&index, query, &Filters::default());
            assert_eq!(
                paths(&found),
                *expected,
                "{query} {tokenizer:?} {ranking:?}"
            );
            let said: Vec<&str> = found.trace.notices.iter().map(String::as_str).collect();
            let said = said.join(" ");
            let spellings = said
                .split_once("also searched: ")
                .map_or(&*said, |(_, rest)| rest);
            assert_eq!(
                spellings.trim_end_matches('.'),
                *spelled,
                "{query} {tokenizer:?} {ranking:?}"
            );
        }
    }
}

const WITH_WORDS: [TokenizerKind; 3] = [
    TokenizerKind::Words,
    TokenizerKind::Porter,
    TokenizerKind::Unicode61,
];

#[test]
fn edits() {
    for tokenizer in WITH_WORDS {
        assert_spellings(
            tokenizer,
            &[
                // Two letters exchanged, another one, one less, and two edits of a long word.
                ("hanlde", &["door"], "handle"),
                ("Prubing", &["roses"], "pruning"),
                ("emial", &["mail"], "email"),
                ("acommodation", &["rooms"], "accommodation"),
                ("hedgegohs", &["rooms"], "hedgehogs"),
                ("hanlde AND door", &["door"], "handle"),
                // Another first letter, too few letters, digits, stop words, quotes, prefixes.
                ("bandle", &[], ""),
                ("ma", &[], ""),
                ("2025", &[], ""),
                ("thier", &[], ""),
                ("\"hanlde\"", &[], ""),
                ("hanld*", &[], ""),
            ],
        );
    }
    // Stems of words in Cyrillic find it without another spelling. No run has other spellings.
    let words = [("кустамы", &["ежи"][..], ""), ("西京都", &["東京"], "")];
    assert_spellings(TokenizerKind::Words, &words);
    let porter = [("кустамы", &["ежи"][..], "кустами")];
    assert_spellings(TokenizerKind::Porter, &porter);
}

#[test]
fn joins_and_splits() {
    for tokenizer in WITH_WORDS {
        assert_spellings(
            tokenizer,
            &[
                ("e-mail", &["mail", "phone"], "email"),
                ("O'Brien", &["names"], "obrien"),
                ("door.js", &["door", "names"], "doorjs"),
                ("database", &["sea"], "data base"),
                ("Data-Base", &["sea"], ""),
            ],
        );
    }
}

#[test]
fn a_word_without_vowel_marks_finds_the_parts_that_marks_cut_it_into() {
    for tokenizer in [TokenizerKind::Porter, TokenizerKind::Unicode61] {
        for ranking in [Ranking::Memory, Ranking::Fts5] {
            let index = index(tokenizer, ranking);
            for (query, expected, notices) in [
                (
                    "قنفذ",
                    vec!["arabic"],
                    vec!["For قنفذ, also searched: ق ن ف ذ."],
                ),
                (
                    "صغير",
                    vec!["arabic"],
                    vec!["For صغير, also searched: ص غ ير."],
                ),
                ("البيت", vec!["arabic"], vec![]),
                ("كتاب", vec![], vec![]),
            ] {
                let found = found(&index, query, &Filters::default());
                assert_eq!(paths(&found), expected, "{query} {tokenizer:?} {ranking:?}");
                assert_eq!(
                    found.trace.notices, notices,
                    "{query} {tokenizer:?} {ranking:?}"
                );
            }
        }
    }
}

#[test]
fn other_spellings_count_half() {
    for ranking in [Ranking::Memory, Ranking::Fts5] {
        let index = index(TokenizerKind::Words, ranking);
        let score = |query| {
            let found = found(&index, query, &Filters::default());
            let keywords = found.hits[0].explanation.keywords.unwrap();
            keywords.score
        };
        let (right, wrong) = (score("handle"), score("hanlde"));
        assert_eq!((right / 2.0).to_bits(), wrong.to_bits(), "{ranking:?}");
    }
}

#[test]
fn spellings_come_from_texts_that_may_be_found() {
    for ranking in [Ranking::Memory, Ranking::Fts5] {
        let index = index(TokenizerKind::Words, ranking);
        let filters = Filters {
            paths: vec!["roses".to_owned()],
            ..Filters::default()
        };
        for query in ["hanlde", "e-mail", "database"] {
            let found = found(&index, query, &filters);
            assert_eq!(found.trace.notices, [] as [&str; 0], "{query}");
        }
        let filtered = found(&index, "prubing", &filters);
        assert_eq!(
            filtered.trace.notices,
            ["For prubing, also searched: pruning."]
        );
        // A text that is gone lends no word.
        index.delete(&["door"]).unwrap();
        let gone = found(&index, "hanlde", &Filters::default());
        assert_eq!(gone.trace.notices, [] as [&str; 0]);
    }
}

#[test]
fn the_most_frequent_of_the_nearest_come_first() {
    for ranking in [Ranking::Memory, Ranking::Fts5] {
        let index = Index::in_memory_with(TokenizerKind::Words, ranking).unwrap();
        for (number, word) in [
            "brick", "brack", "brack", "brock", "brock", "brock", "break", "brackets",
        ]
        .iter()
        .enumerate()
        {
            let chunk = Chunk {
                id: number.to_string(),
                path: number.to_string(),
                content: (*word).to_owned(),
                ..Chunk::default()
            };
            index.upsert(&[&chunk]).unwrap();
        }
        let found = found(&index, "bruck", &Filters::default());
        assert_eq!(
            found.trace.notices,
            ["For bruck, also searched: brock, brack, brick."],
            "{ranking:?}"
        );
    }
}

fn assert_notices(index: &Index, cases: &[(&str, Vec<&str>)]) {
    for (query, notices) in cases {
        let found = found(index, query, &Filters::default());
        assert_eq!(found.trace.notices, *notices, "{query}");
    }
}

#[test]
fn what_other_programs_understand_is_said() {
    let index = index(TokenizerKind::Words, Ranking::Memory);
    assert_notices(
        &index,
        &[
            ("door AND NOT roses", vec![]),
            ("(door OR winter) AND NOT roses", vec![]),
            (
                "!roses door",
                vec!["!roses was read as a word; to exclude it, write -roses."],
            ),
            ("wow! door", vec![]),
            (
                "-#roses door",
                vec!["-#roses was read as a word; to exclude it, write -roses."],
            ),
            (
                "+roses door",
                vec!["+roses was read as a word; to require it, join words with AND."],
            ),
            ("door | roses", vec!["| was left out; write OR."]),
            (
                "door AROUND(3) roses",
                vec!["AROUND(3) was searched for as a word; quotes search for words in a row."],
            ),
            (
                "roses~2 winter",
                vec!["roses~2 was read as words: ~ and ^ do not change how roses counts."],
            ),
            (
                "roses^2.5",
                vec!["roses^2.5 was read as words: ~ and ^ do not change how roses counts."],
            ),
            ("x^2 roses ~/notes", vec![]),
            (
                "r?zes",
                vec!["r?zes was read as words; ? does not stand for a letter."],
            ),
            ("roses? example.org/door?roses=a", vec![]),
            (
                "/ro.*s/",
                vec!["/ro.*s/ was read as words, not as a pattern."],
            ),
            ("/etc/hosts/ roses", vec![]),
            (
                "[status:x] roses",
                vec![
                    "status:x was searched for as words; to filter, use a condition on metadata: status = x.",
                ],
            ),
            (
                "site:example intitle:roses",
                vec![
                    "site:example was searched for as words; to filter, use a path filter: example.",
                    "intitle:roses was searched for as words; to filter, use a condition on metadata: title = roses.",
                ],
            ),
        ],
    );
}

#[test]
fn what_is_not_understood_is_said() {
    let index = index(TokenizerKind::Words, Ranking::Memory);
    assert_notices(
        &index,
        &[
            ("the door", vec![]),
            (
                "door -roses",
                vec!["Left out, for the minus sign: texts with roses."],
            ),
            (
                "door -\"pruning roses\" OR winter",
                vec!["Left out, for the minus sign: texts with \"pruning roses\"."],
            ),
            (
                "door -(roses OR winter)",
                vec!["Left out, for the minus sign: texts with (roses OR winter)."],
            ),
            (
                "door \u{2212}roses \u{2013}winter",
                vec!["Left out, for the minus sign: texts with roses, winter."],
            ),
            (
                "door -tag:roses",
                vec!["Left out, for the minus sign: texts with tag:roses."],
            ),
            ("door \"a -roses\"", vec![]),
            (
                "-door",
                vec!["The minus sign was ignored: there is nothing else to search for."],
            ),
            (
                "tag:#x roses",
                vec!["tag:#x was searched for as words; to filter, use a tag filter: x."],
            ),
            (
                "title:roses",
                vec![
                    "title:roses was searched for as words; to filter, use a condition on metadata: title = roses.",
                ],
            ),
            ("http://title:80 roses", vec![]),
            ("note: roses", vec![]),
            (
                "ro*es",
                vec!["ro*es was searched for without *, which counts at the end of a word only."],
            ),
            ("door && roses", vec!["&& was left out; write AND."]),
            (
                "door NEAR/3 roses",
                vec!["NEAR/3 was searched for as a word; quotes search for words in a row."],
            ),
            (
                "NOT door",
                vec!["Ignored, because it joins no words where it stands: NOT."],
            ),
            (
                "door AND",
                vec!["Ignored, because it joins no words where it stands: AND."],
            ),
            (
                "door AND (roses",
                vec!["Ignored, because it joins no words where it stands: (."],
            ),
            (
                "door \"roses",
                vec!["The last quote is not closed: the phrase goes to the end of the query."],
            ),
            (
                "door NOT (roses AND winter)",
                vec![
                    "NOT excludes words and groups joined by OR; what else is after it was not excluded.",
                ],
            ),
            ("“pruning roses”", vec![]),
            ("« pruning roses »", vec![]),
        ],
    );
    let fuzzy = FuzzyChunks::Own;
    let setup = searching::setup(&index, &fuzzy);
    let filters = Filters::default();
    let request = searching::request("hanlde AND (roses -winter)", Embedding::Absent, &filters);
    let by_specification = search(&setup, &request).unwrap();
    assert_eq!(by_specification.trace.notices, [] as [&str; 0]);
}
