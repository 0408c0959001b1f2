//! The executable form against the judge that matters: a real FTS5 table.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hedgerow_engine::ErrorCode;
use hedgerow_engine::query::{
    AliasTable, Connective, MatchOptions, Matching, compile_match, parse,
};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use proptest::prelude::*;
use rusqlite::Connection;

const DOCUMENTS: [&str; 6] = [
    "winter hedgehog in the garden",
    "urban winter hedgehog",
    "the kubernetes deployment of a cluster",
    "T-cell response to IL-10",
    "opened on 2026-04-18",
    "東京都の天気",
];

fn table(tokenizer: TokenizerKind) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    hedgerow_engine::text::register(&connection).unwrap();
    let create = format!(
        "CREATE VIRTUAL TABLE d USING fts5(t, tokenize='{}')",
        tokenizer.fts5_name()
    );
    connection.execute_batch(&create).unwrap();
    for document in DOCUMENTS {
        connection
            .execute("INSERT INTO d(t) VALUES (?1)", [document])
            .unwrap();
    }
    connection
}

/// The numbers of the documents that match, from 0; an error is FTS5 refusing the text.
fn run(connection: &Connection, expression: &str) -> rusqlite::Result<Vec<i64>> {
    let mut statement =
        connection.prepare_cached("SELECT rowid - 1 FROM d WHERE d MATCH ?1 ORDER BY rowid")?;
    statement
        .query_map([expression], |row| row.get(0))?
        .collect()
}

fn aliases() -> AliasTable {
    AliasTable::new([
        ("k8s", vec!["kubernetes", "cluster manager"]),
        ("pest", vec!["urban", "hedgehog"]),
        ("tv", vec!["television"]),
    ])
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table of cases")]
fn the_text_and_what_it_finds() {
    let and = Connective::And;
    let or = Connective::Or;
    let table = table(TokenizerKind::Porter);
    let aliases = aliases();
    for (text, default_operator, expression, found) in [
        (
            "winter hedgehog",
            or,
            r#""winter" OR "hedgehog""#,
            vec![0, 1],
        ),
        (
            "winter hedgehog NOT urban",
            or,
            r#"("winter" OR "hedgehog") NOT ("urban")"#,
            vec![0],
        ),
        (
            "NOT winter hedgehog",
            or,
            r#""winter" OR "hedgehog""#,
            vec![0, 1],
        ),
        (
            "winter NOT urban NOT garden",
            or,
            r#"("winter") NOT ("urban" OR "garden")"#,
            vec![],
        ),
        (
            "winter NOT urban AND garden",
            or,
            r#"("winter" AND "garden") NOT ("urban")"#,
            vec![0],
        ),
        (
            "deployment OR winter AND urban",
            or,
            r#""deployment" OR "winter" AND "urban""#,
            vec![1, 2],
        ),
        (
            "winter hedgehog",
            and,
            r#""winter" AND "hedgehog""#,
            vec![0, 1],
        ),
        (
            "urban hedgehog OR cluster",
            and,
            r#""urban" AND "hedgehog" OR "cluster""#,
            vec![1, 2],
        ),
        ("kube*", or, r#""kube" *"#, vec![2]),
        ("\"the garden\"", or, r#""the garden""#, vec![0]),
        (
            "winter AND pest",
            or,
            r#""winter" AND ("urban" OR "hedgehog")"#,
            vec![0, 1],
        ),
        (
            "winter pest",
            or,
            r#""winter" OR "urban" OR "hedgehog""#,
            vec![0, 1],
        ),
        (
            "winter NOT pest",
            or,
            r#"("winter") NOT ("urban" OR "hedgehog")"#,
            vec![],
        ),
        (
            "k8s AND deployment",
            or,
            r#"("kubernetes" OR "cluster manager") AND "deployment""#,
            vec![2],
        ),
        ("winter AND …", or, r#""winter""#, vec![0, 1]),
        ("… AND winter", or, r#""winter""#, vec![0, 1]),
        (
            "garden OR … AND deployment",
            or,
            r#""garden" OR "deployment""#,
            vec![0, 2],
        ),
        ("… NOT winter", or, "", vec![]),
        ("to do list", or, "", vec![]),
        ("winter\0garden", or, r#""winter garden""#, vec![]),
    ] {
        let options = MatchOptions {
            aliases: Some(&aliases),
            default_operator,
            ..MatchOptions::default()
        };
        let actual = compile_match(&parse(text).unwrap(), &options).unwrap();
        assert_eq!(actual, expression, "{text:?}");
        if !actual.is_empty() {
            assert_eq!(run(&table, &actual).unwrap(), found, "{text:?}");
        }
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table of cases")]
fn extended_matching_reads_the_words() {
    let aliases = aliases();
    for (text, expression) in [
        (
            "What is the T-cell response to IL-10 in don't-know cases?",
            r#""cell" OR "t cell" OR "response" OR "il" OR "10" OR "il 10" OR "don" OR "know" OR "don t know" OR "cases""#,
        ),
        (
            "When did Caroline's TV show air on 2026-04-18?",
            r#""caroline" OR "television" OR "show" OR "air" OR "2026" OR "04" OR "18" OR "2026 04 18""#,
        ),
        ("Caroline’s cat’s", r#""caroline" OR "cat""#),
        (
            "where is src/main.rs",
            r#""src" OR "main" OR "src main rs""#,
        ),
        ("how is it?", r#""how" OR "is" OR "it""#),
        (
            "version 1.2.10 of AI",
            r#""version" OR "1" OR "2" OR "10" OR "1 2 10" OR "ai""#,
        ),
        ("Ai ai AI", r#""ai""#),
        ("東 の", r#""東" OR "の""#),
        ("kube* q* the*", r#""kube" * OR "q" *"#),
        ("src/ma*", r#""src" OR "ma" * OR "src ma" *"#),
        ("oak oak oak oak", r#""oak" OR "oak" OR "oak""#),
        ("the the it", r#""the" OR "it""#),
        (
            "k8s rollout",
            r#""kubernetes" OR "cluster manager" OR "rollout""#,
        ),
        ("… - !", ""),
        // With a quote or an operator the tokens are the specification's.
        ("T-cell AND the", r#""t cell" AND "the""#),
        (
            "src/ma* NOT k8s",
            r#"("src ma" *) NOT ("kubernetes" OR "cluster manager")"#,
        ),
        (
            "\"T-cell response\" IL-10",
            r#""t-cell response" OR "il 10""#,
        ),
        // A minus sign excludes a word.
        ("beech -oak", r#"("beech") NOT ("oak")"#),
        (
            "-oak the beech -T-cell -src/ma*",
            r#"("beech") NOT ("oak" OR "t cell" OR "src ma" *)"#,
        ),
        ("-oak", r#""oak""#),
        ("oak - elm -5 --ash", r#""oak" OR "elm" OR "5" OR "ash""#),
        ("beech -k8s", r#"("beech") NOT ("k8s")"#),
        ("oak AND elm -ash", r#"("oak" AND "elm") NOT ("ash")"#),
        ("-\"oak ash\" OR beech", r#"("beech") NOT ("oak ash")"#),
        ("-oak AND -elm", r#""oak" OR "elm""#),
        ("beech -(oak OR elm)", r#"("beech") NOT ("oak" OR "elm")"#),
        (
            "-(oak OR elm) OR beech",
            r#"("beech") NOT ("oak" OR "elm")"#,
        ),
        (
            "oak \u{2212}elm \u{2013}ash",
            r#"("oak") NOT ("elm" OR "ash")"#,
        ),
        (
            "oak \u{2013} elm\u{2013}ash",
            r#""oak" OR "elm" OR "ash" OR "elm ash""#,
        ),
        ("«oak ash» beech", r#""oak ash" OR "beech""#),
        // Parentheses group where there are operators.
        ("oak (elm) f(x)", r#""oak" OR "elm" OR "f x""#),
        (
            "(oak OR ash) AND (leaf OR bark)",
            r#"("oak" OR "ash") AND ("leaf" OR "bark")"#,
        ),
        (
            "(oak AND ash OR elm) AND leaf",
            r#""oak" AND "ash" AND "leaf" OR "elm" AND "leaf""#,
        ),
        ("leaf OR oak AND(elm)", r#""leaf" OR "oak" AND "elm""#),
        (
            "oak NOT(elm OR \"ash leaf\")",
            r#"("oak") NOT ("elm" OR "ash leaf")"#,
        ),
        ("oak NOT (elm AND ash)", r#""oak""#),
        ("oak NOT (elm -ash)", r#"("oak") NOT ("elm")"#),
        ("oak AND (elm OR (ash", r#""oak" AND ("elm" OR "ash")"#),
        ("oak) AND )elm", r#""oak" AND "elm""#),
        ("oak AND () elm", r#""oak" OR "elm""#),
        (
            "oak AND f(x) OR (pest)",
            r#""oak" AND "f x" OR "urban" OR "hedgehog""#,
        ),
        // Short words that are names, or nearly all there is.
        ("when did Bo phone?", r#""bo" OR "phone""#),
        ("which Go do we use in the US", r#""go" OR "use" OR "us""#),
        ("What Is To Be Done", r#""done""#),
        ("WHO guidelines for IT", r#""who" OR "guidelines" OR "it""#),
        ("IT department", r#""it" OR "department""#),
        ("WHO IS IT ABOUT", r#""who" OR "is" OR "it" OR "about""#),
        ("Go home. Do it now, I said", r#""home" OR "now" OR "said""#),
        ("x ray", r#""x" OR "ray""#),
        ("go js", r#""go" OR "js""#),
    ] {
        let options = MatchOptions {
            aliases: Some(&aliases),
            matching: Matching::Extended,
            ..MatchOptions::default()
        };
        assert_eq!(
            compile_match(&parse(text).unwrap(), &options).unwrap(),
            expression,
            "{text:?}"
        );
    }
}

#[test]
fn products_of_groups_are_limited() {
    let options = MatchOptions {
        matching: Matching::Extended,
        ..MatchOptions::default()
    };
    let group = "(oak AND elm OR ash AND leaf)";
    let compile = |count| {
        let text = vec![group; count].join(" AND ");
        compile_match(&parse(&text).unwrap(), &options)
    };
    assert_eq!(compile(2).unwrap().matches(" OR ").count(), 3);
    let error = compile(30).unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooManyTokens);
}

#[test]
fn hostile_parentheses_take_linear_time() {
    let options = MatchOptions {
        matching: Matching::Extended,
        ..MatchOptions::default()
    };
    for piece in [
        "(",
        ")",
        "AND(",
        "a)",
        "(a ",
        "(a AND ",
        "a (b) OR (",
        "-a ",
        "-a( ",
        "NOT (a ",
        "\"(",
        "f(x) AND ",
    ] {
        let mut text = piece.repeat(60_000 / piece.len());
        text.push_str(" AND x");
        // Too many tokens, or an expression; neither takes long.
        let _ = parse(&text).and_then(|query| compile_match(&query, &options));
    }
}

#[test]
fn date_hints_widen_a_bare_query() {
    let hints = ["2026/04/18".to_owned(), "2026/04/18".to_owned()];
    let options = MatchOptions {
        date_hints: &hints,
        ..MatchOptions::default()
    };
    for (text, default_operator, expression) in [
        (
            "winter garden",
            Connective::Or,
            r#""winter" OR "garden" OR "2026 04 18""#,
        ),
        (
            "winter garden",
            Connective::And,
            r#""winter" AND "garden" OR "2026 04 18""#,
        ),
        ("what is it", Connective::Or, r#""2026 04 18""#),
        (
            "winter AND garden",
            Connective::Or,
            r#""winter" AND "garden""#,
        ),
    ] {
        let options = MatchOptions {
            default_operator,
            ..options
        };
        assert_eq!(
            compile_match(&parse(text).unwrap(), &options).unwrap(),
            expression,
            "{text:?}"
        );
    }
}

#[test]
fn the_tokenizer_decides_what_is_searchable() {
    let query = parse("東京都 AND ab AND abc").unwrap();
    let compile = |tokenizer| {
        compile_match(
            &query,
            &MatchOptions {
                tokenizer,
                ..MatchOptions::default()
            },
        )
        .unwrap()
    };
    assert_eq!(
        compile(TokenizerKind::Porter),
        r#""東京都" AND "ab" AND "abc""#
    );
    assert_eq!(compile(TokenizerKind::Trigram), r#""東京都" AND "abc""#);
    assert_eq!(
        run(&table(TokenizerKind::Trigram), "\"東京都\"").unwrap(),
        [5]
    );
}

#[test]
fn the_tokenizer_words_searches_short_words_of_scripts_without_spaces() {
    for (text, tokenizer, expression) in [
        ("東 garden", TokenizerKind::Words, r#""東" * OR "garden""#),
        ("東 garden", TokenizerKind::Porter, r#""garden""#),
        // With operators no word is dropped, whatever the tokenizer.
        (
            "東 AND garden",
            TokenizerKind::Words,
            r#""東" * AND "garden""#,
        ),
        (
            "東 AND garden",
            TokenizerKind::Porter,
            r#""東" AND "garden""#,
        ),
    ] {
        let options = MatchOptions {
            tokenizer,
            ..MatchOptions::default()
        };
        let compiled = compile_match(&parse(text).unwrap(), &options).unwrap();
        assert_eq!(compiled, expression, "{text:?} with {tokenizer:?}");
    }
}

#[test]
fn thousands_of_tokens_stay_within_fts5s_depth() {
    let table = table(TokenizerKind::Porter);
    for operator in ["", "AND ", "OR ", "NOT "] {
        let words: Vec<String> = (0..4000).map(|n| format!("{operator}w{n}")).collect();
        let text = words.join(" ");
        let expression = compile_match(&parse(&text).unwrap(), &MatchOptions::default()).unwrap();
        run(&table, &expression).unwrap();
    }
}

/// Pieces that meet the grammar where it bends.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-zA-Z0-9]{1,6}",
        2 => prop::sample::select(vec![
            "AND", "OR", "NOT", "and", "\"", "\"\"", "*", "kube*", "(", ")", "NEAR(", "^", "-", ":",
            "t:", "{t}:", "+", "…", "'", "k8s", "pest", "T-cell", "\0", "\u{1}", "\u{85}", "\u{301}",
            "\u{200B}", "😀", "東", "एक", "ß", "İ", "\u{FDD0}", "\u{10FFFF}", "\\", "%", ";", "--",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn query_text() -> impl Strategy<Value = String> {
    prop::collection::vec((piece(), prop::sample::select(vec!["", " ", "\t"])), 0..24).prop_map(
        |pieces| {
            pieces
                .into_iter()
                .flat_map(|(piece, gap)| [piece, gap.to_owned()])
                .collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn fts5_accepts_whatever_is_compiled(
        text in query_text(),
        extended: bool,
        all: bool,
        with_aliases: bool,
        tokenizer in prop::sample::select(TokenizerKind::ALL.to_vec()),
    ) {
        thread_local! {
            static TABLES: [Connection; 4] = [TokenizerKind::Words, TokenizerKind::Porter, TokenizerKind::Unicode61, TokenizerKind::Trigram].map(table);
        }
        let aliases = aliases();
        let matching = if extended { Matching::Extended } else { Matching::Spec };
        let default_operator = if all && !extended { Connective::And } else { Connective::Or };
        let aliases = with_aliases.then_some(&aliases);
        let options =
            MatchOptions { aliases, default_operator, matching, tokenizer, ..MatchOptions::default() };
        let expression = compile_match(&parse(&text).unwrap(), &options).unwrap();
        if !expression.is_empty() {
            TABLES.with(|tables| run(&tables[tokenizer as usize], &expression))
                .map_err(|error| TestCaseError::fail(format!("{expression}: {error}")))?;
        }
    }

    #[test]
    fn extended_matching_reads_operators_as_the_specification_does(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "oak", "Elm", "the", "kube*", "AND", "OR", "NOT", "\"oak ash\"", "\"\"", "…", "k8s",
            ]),
            0..12,
        ),
    ) {
        let text = format!("\"oak\" {}", words.join(" "));
        let query = parse(&text).unwrap();
        let aliases = aliases();
        let compiled = [Matching::Spec, Matching::Extended].map(|matching| {
            let options = MatchOptions { aliases: Some(&aliases), matching, ..MatchOptions::default() };
            compile_match(&query, &options).unwrap()
        });
        prop_assert_eq!(&compiled[0], &compiled[1]);
    }

    #[test]
    fn a_word_after_a_minus_sign_is_in_no_result(before in query_text(), after in query_text()) {
        thread_local! {
            static TABLE: Connection = table(TokenizerKind::Porter);
        }
        let clear = |text: String| text.replace(['"', '“', '”', '(', ')'], " ");
        let text = format!("{} winter -urban {}", clear(before), clear(after));
        let options = MatchOptions { matching: Matching::Extended, ..MatchOptions::default() };
        let expression = compile_match(&parse(&text).unwrap(), &options).unwrap();
        let found = TABLE.with(|table| run(table, &expression)).unwrap();
        prop_assert!(!found.contains(&1), "{expression}");
    }

    #[test]
    fn an_excluded_word_is_in_no_result(before in query_text(), after in query_text()) {
        thread_local! {
            static TABLE: Connection = table(TokenizerKind::Porter);
        }
        // The word before it keeps the NOT from being the first token; a quote in `before`
        // would swallow it, so quotes go.
        let text = format!("{} winter NOT urban {}", before.replace('"', " "), after.replace('"', " "));
        let expression = compile_match(&parse(&text).unwrap(), &MatchOptions::default()).unwrap();
        // A NOT at the end of `before` leaves exclusions alone, for which no search is run.
        prop_assume!(!expression.is_empty());
        let found = TABLE.with(|table| run(table, &expression)).unwrap();
        prop_assert!(!found.contains(&1), "{expression}");
    }

    #[test]
    fn normalising_a_query_changes_nothing(text in query_text()) {
        let once = parse(&text).unwrap();
        // A zero-width character between a base and its mark leaves text that is not NFC:
        // the one case in which normalising again does something.
        prop_assume!(hedgerow_engine::text::normalise::normalise(&once.raw) == once.raw);
        prop_assert_eq!(parse(&once.raw).unwrap(), once);
    }
}
