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

const TEXTS: [(&str, &str); 10] = [
    ("door", "The Handle of the door"),
    ("roses", "pruning roses in winter"),
    ("mail", "write to my email address"),
    ("phone", "please e-mail or phone"),
    ("rooms", "accommodation for hedgehogs, 2024 rooms"),
    ("ежи", "Ежи спят под программными кустами"),
    ("igel", "Die Igel überwintern häufig unter dürren Hecken."),
    ("sea", "a data base of sea shells"),
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

#[test]
fn words_that_no_text_has_are_searched_as_the_nearest() {
    let kinds = [
        TokenizerKind::Words,
        TokenizerKind::Porter,
        TokenizerKind::Unicode61,
    ];
    for (tokenizer, ranking) in kinds
        .into_iter()
        .flat_map(|kind| [(kind, Ranking::Memory), (kind, Ranking::Fts5)])
    {
        let index = index(tokenizer, ranking);
        let is_words = tokenizer == TokenizerKind::Words;
        let of_words = |found: Vec<&'static str>| if is_words { found } else { vec![] };
        for (query, expected, notices) in [
            (
                "hanlde",
                vec!["door"],
                vec!["For hanlde, also searched: handle."],
            ),
            (
                "Prubing",
                vec!["roses"],
                vec!["For prubing, also searched: pruning."],
            ),
            (
                "emial",
                vec!["mail"],
                vec!["For emial, also searched: email."],
            ),
            (
                "acommodation",
                vec!["rooms"],
                vec!["For acommodation, also searched: accommodation."],
            ),
            (
                "hedgegohs",
                vec!["rooms"],
                vec!["For hedgegohs, also searched: hedgehogs."],
            ),
            (
                "кустамы",
                vec!["ежи"],
                vec!["For кустамы, also searched: кустами."],
            ),
            (
                "e-mail",
                vec!["mail", "phone"],
                vec!["For e-mail, also searched: email."],
            ),
            (
                "email",
                vec!["mail", "phone"],
                vec!["For email, also searched: e mail."],
            ),
            (
                "database",
                vec!["sea"],
                vec!["For database, also searched: data base."],
            ),
            (
                "hanlde AND door",
                vec!["door"],
                vec!["For hanlde, also searched: handle."],
            ),
            // Only texts with accents have stems.
            (
                "mai",
                of_words(vec!["mail", "phone"]),
                of_words(vec!["For mai, also searched: mai*."]),
            ),
            // Another first letter, too few letters, digits, stop words, quotes, prefixes, pairs of characters.
            ("bandle", vec![], vec![]),
            ("ma", vec![], vec![]),
            ("2025", vec![], vec![]),
            ("thier", vec![], vec![]),
            ("\"hanlde\"", vec![], vec![]),
            ("hanld*", vec![], vec![]),
            ("西京都", of_words(vec!["東京"]), vec![]),
        ] {
            // Stems of words in Cyrillic find it without another spelling.
            if query == "кустамы" && tokenizer == TokenizerKind::Words {
                continue;
            }
            let found = found(&index, query, &Filters::default());
            assert_eq!(paths(&found), expected, "{query} {tokenizer:?} {ranking:?}");
            assert_eq!(
                found.trace.notices, notices,
                "{query} {tokenizer:?} {ranking:?}"
            );
        }
    }
}

#[test]
fn a_misspelled_ending_is_searched_as_the_ending_it_resembles() {
    for ranking in [Ranking::Memory, Ranking::Fts5] {
        let index = index(TokenizerKind::Words, ranking);
        for (query, expected, notices) in [
            (
                "prunign",
                vec!["roses"],
                vec!["For prunign, also searched: pruning."],
            ),
            (
                "handlign",
                vec!["door"],
                vec!["For handlign, also searched: handle."],
            ),
            (
                "handledd",
                vec!["door"],
                vec!["For handledd, also searched: handle."],
            ),
            (
                "winterd",
                vec!["roses"],
                vec!["For winterd, also searched: winter."],
            ),
            ("oakign", vec![], vec![]),
        ] {
            let found = found(&index, query, &Filters::default());
            assert_eq!(paths(&found), expected, "{query} {ranking:?}");
            assert_eq!(found.trace.notices, notices, "{query} {ranking:?}");
        }
    }
}

#[test]
fn german_letters_and_endings_are_searched_as_the_texts_have_them() {
    let texts = [
        ("sharp", "Unsere Straße ist heute gesperrt."),
        (
            "ss",
            "Unsere Strasse ist wieder frei, und das Maedchen kommt.",
        ),
        ("insurance", "Die Versicherung zahlt den Schaden nicht."),
        ("meeting", "De vergadering met de klant is verplaatst."),
        ("walker", "Ein Fußgänger wartet."),
    ];
    let index = index_of(&texts, TokenizerKind::Words, Ranking::Memory);
    for (query, expected, notices) in [
        (
            "STRASSE",
            vec!["sharp", "ss"],
            vec!["For strasse, also searched: straße."],
        ),
        (
            "Straße",
            vec!["sharp", "ss"],
            vec!["For straße, also searched: strasse."],
        ),
        (
            "Fussgaenger",
            vec!["walker"],
            vec!["For fussgaenger, also searched: fußganger."],
        ),
        (
            "Mädchen",
            vec!["ss"],
            vec!["For mädchen, also searched: maedchen."],
        ),
        (
            "Versicherungen",
            vec!["insurance"],
            vec!["For versicherungen, also searched: versicherung."],
        ),
        (
            "vergaderingen",
            vec!["meeting"],
            vec!["For vergaderingen, also searched: vergadering."],
        ),
        ("Schadens", vec!["insurance"], vec![]),
        ("klasse", vec![], vec![]),
    ] {
        let found = found(&index, query, &Filters::default());
        assert_eq!(paths(&found), expected, "{query}");
        assert_eq!(found.trace.notices, notices, "{query}");
    }
}

#[test]
fn abbreviations_and_numbers_are_searched_with_their_signs_and_without() {
    let texts = [
        ("dotted", "A trip to the U.S.A. with a Ph.D. at 5 p.m."),
        ("plain", "USA, PhD, pm, OBrien, nodejs, CO2 and 12000"),
        ("signs", "O'Brien, node.js, CO₂ and 12,000"),
        ("arabic", "عام ٢٠٢٦"),
        ("hindi", "वर्ष २०२६"),
        ("lines", "multi-line and multiline"),
        ("line", "multi-line alone"),
    ];
    for tokenizer in [TokenizerKind::Words, TokenizerKind::Porter] {
        let index = index_of(&texts, tokenizer, Ranking::Memory);
        for (query, expected, also) in [
            (
                "USA",
                vec!["dotted", "plain"],
                "For usa, also searched: u s a.",
            ),
            (
                "U.S.A.",
                vec!["dotted", "plain"],
                "For U.S.A, also searched: usa.",
            ),
            (
                "PhD",
                vec!["dotted", "plain"],
                "For phd, also searched: ph d.",
            ),
            (
                "Ph.D.",
                vec!["dotted", "plain"],
                "For Ph.D, also searched: phd.",
            ),
            ("PM", vec!["dotted", "plain"], "For pm, also searched: p m."),
            (
                "O'Brien",
                vec!["plain", "signs"],
                "For O'Brien, also searched: obrien.",
            ),
            (
                "CO2",
                vec!["plain", "signs"],
                "For co2, also searched: co₂.",
            ),
            (
                "CO₂",
                vec!["plain", "signs"],
                "For co₂, also searched: co2.",
            ),
            (
                "12000",
                vec!["plain", "signs"],
                "For 12000, also searched: 12 000.",
            ),
            (
                "12,000",
                vec!["plain", "signs"],
                "For 12,000, also searched: 12000.",
            ),
            (
                "12'000",
                vec!["plain", "signs"],
                "For 12'000, also searched: 12000.",
            ),
            (
                "2026",
                vec!["arabic", "hindi"],
                "For 2026, also searched: ٢٠٢٦, २०२६.",
            ),
            (
                "२०२६",
                vec!["arabic", "hindi"],
                "For २०२६, also searched: ٢٠٢٦.",
            ),
            (
                "multiline",
                vec!["line", "lines"],
                "For multiline, also searched: multi line.",
            ),
            // Typed in small letters a word that a text has means itself, and a quoted one always does.
            ("usa", vec!["plain"], ""),
            ("\"USA\"", vec!["plain"], ""),
            // Its parts are words too.
            ("12,00", vec!["signs"], ""),
        ] {
            let found = found(&index, query, &Filters::default());
            assert_eq!(paths(&found), expected, "{query} {tokenizer:?}");
            assert_eq!(found.trace.notices.join(" "), also, "{query} {tokenizer:?}");
        }
    }
}

#[test]
fn hebrew_words_are_found_with_other_prefixes_and_abbreviations_keep_their_sign() {
    let texts = [
        ("the", "הדירה יפה"),
        ("a", "דירה גדולה"),
        ("in", "גר בדירה"),
        ("usa", "טסנו לארה\"ב בקיץ"),
        ("bare", "ארה\"ב רחוקה"),
        ("other", "ארה אחרת"),
    ];
    let index = index_of(&texts, TokenizerKind::Words, Ranking::Memory);
    for (query, expected, notices) in [
        (
            "דירה",
            vec!["a", "in", "the"],
            vec!["For דירה, also searched: הדירה, בדירה."],
        ),
        (
            "הדירה",
            vec!["a", "in", "the"],
            vec!["For הדירה, also searched: דירה, בדירה."],
        ),
        ("יפה", vec!["the"], vec![]),
        ("ארה\"ב OR יפה", vec!["bare", "the"], vec![]),
        ("\"ארה אחרת\"", vec!["other"], vec![]),
        ("\"ארה\"ב רחוקה\"", vec!["bare"], vec![]),
    ] {
        let found = found(&index, query, &Filters::default());
        assert_eq!(paths(&found), expected, "{query}");
        assert_eq!(found.trace.notices, notices, "{query}");
    }
    let found = found(&index, "ארה\"ב", &Filters::default());
    assert_eq!(found.hits[0].hit.path, "bare");
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
                "r?ses",
                vec!["r?ses was read as words; ? does not stand for a letter."],
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
