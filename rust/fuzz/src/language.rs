//! Texts to tokenize, and texts in the two languages: queries and pipelines.

use std::sync::LazyLock;

use hedgerow_engine::query::{
    AliasTable, Connective, MatchOptions, Matching, compile_match, parse,
};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use hedgerow_engine::text::words::Mode;
use hedgerow_graph::graph::{Node, Store};
use hedgerow_graph::pipeline::{self, Options};
use rusqlite::Connection;

const KINDS: [TokenizerKind; 4] = [
    TokenizerKind::Words,
    TokenizerKind::Porter,
    TokenizerKind::Unicode61,
    TokenizerKind::Trigram,
];
/// The most bytes of tokens of a byte of text: a ligature of Arabic becomes words, each with its stem.
const LARGEST_GROWTH: usize = 24;
const NOW: i64 = 1_800_000_000;

static ALIASES: LazyLock<AliasTable> = LazyLock::new(|| {
    AliasTable::new([
        ("k8s", ["kubernetes", "cluster manager"]),
        ("oak", ["elm", "ash tree"]),
    ])
});

thread_local! {
    static TABLES: [Connection; 4] = KINDS.map(|tokenizer| {
        let connection = Connection::open_in_memory().unwrap();
        hedgerow_engine::text::register(&connection).unwrap();
        let create =
            format!("CREATE VIRTUAL TABLE d USING fts5(t, tokenize='{}')", tokenizer.fts5_name());
        connection.execute_batch(&create).unwrap();
        connection
            .execute("INSERT INTO d VALUES ('oak and elm in the winter garden, 東京都')", [])
            .unwrap();
        connection
    });
    static STORE: Store = store();
    static TEXTS: Connection = {
        let connection = Connection::open_in_memory().unwrap();
        hedgerow_engine::text::register(&connection).unwrap();
        let name = TokenizerKind::Words.fts5_name();
        connection
            .execute_batch(&format!("CREATE VIRTUAL TABLE d USING fts5(t, tokenize='{name}')"))
            .unwrap();
        connection
    };
}

/// Compile any text, with options that the first byte chooses, and run it in FTS5.
///
/// FTS5 may find nothing, but it must not refuse the expression, and parsing must not panic.
pub fn query(input: &[u8]) {
    let Some((flags, text)) = input.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(text);
    let tokenizer = KINDS[usize::from(flags % 4)];
    let extended = flags & 0x10 != 0;
    let options = MatchOptions {
        aliases: (flags & 0x20 != 0).then_some(&ALIASES),
        default_operator: if flags & 0x40 != 0 && !extended {
            Connective::And
        } else {
            Connective::Or
        },
        matching: if extended {
            Matching::Extended
        } else {
            Matching::Spec
        },
        tokenizer,
        ..MatchOptions::default()
    };
    // Only the limits may refuse a text.
    let Ok(parsed) = parse(&text) else { return };
    let Ok(expression) = compile_match(&parsed, &options) else {
        return;
    };
    if expression.is_empty() {
        return;
    }
    TABLES.with(|tables| {
        let found = tables[tokenizer as usize]
            .prepare_cached("SELECT count(*) FROM d WHERE d MATCH ?1")
            .and_then(|mut statement| {
                statement.query_row([&expression], |row| row.get::<_, i64>(0))
            });
        if let Err(error) = found {
            panic!("FTS5 refuses {expression:?} for {text:?}: {error}");
        }
    });
}

/// Tokenize any text in a mode that the first byte chooses, in the engine and in FTS5.
///
/// Tokens must be in the text, in order, and their size must be within a multiple of the length of the text.
/// FTS5 must find the same tokens again when it checks its table.
pub fn tokens(input: &[u8]) {
    let Some((flags, bytes)) = input.split_first() else {
        return;
    };
    let mode = [Mode::Document, Mode::Query, Mode::Prefix][usize::from(flags % 3)];
    let text = String::from_utf8_lossy(bytes);
    let (mut start, mut size) = (0, 0);
    let tokenized = TokenizerKind::Words.tokenize(&text, mode, |token| {
        let at = token.range.clone();
        assert!(
            text.get(at.clone()).is_some_and(|part| !part.is_empty()),
            "{at:?} of {text:?}"
        );
        assert!(
            at.start >= start && !token.text.is_empty(),
            "{at:?} of {text:?}"
        );
        assert!(size > 0 || !token.colocated, "{text:?}");
        assert!(std::str::from_utf8(token.text).is_ok(), "{text:?}");
        start = at.start;
        size += token.text.len();
        true
    });
    tokenized.unwrap();
    assert!(
        size <= LARGEST_GROWTH * text.len(),
        "{size} bytes of tokens of {text:?}"
    );
    // Bytes that are not UTF-8 go to FTS5 as they are.
    TEXTS.with(|texts| {
        let insert = "INSERT INTO d (rowid, t) VALUES (1, CAST(?1 AS TEXT))";
        texts
            .prepare_cached(insert)
            .unwrap()
            .execute([bytes])
            .unwrap();
        texts
            .execute_batch("INSERT INTO d (d) VALUES ('integrity-check')")
            .unwrap();
        texts.execute_batch("DELETE FROM d").unwrap();
    });
}

fn store() -> Store {
    let store = Store::in_memory().unwrap();
    let nodes: Vec<Node> = (0..8)
        .map(|number| Node {
            key: format!("n{number}"),
            content: "oak and elm".to_owned(),
            ..Node::default()
        })
        .collect();
    store
        .upsert(&nodes.iter().collect::<Vec<_>>(), NOW)
        .unwrap();
    store
}

/// Parse any text as a pipeline. If it parses, its printed form must parse to an equal one, and it
/// must run or end with an error.
pub fn pipeline(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let Ok(parsed) = pipeline::parse(&text, &[], &[]) else {
        return;
    };
    let written = parsed.to_string();
    match pipeline::parse_canonical(&written, &[]) {
        Ok(again) => assert_eq!(again, parsed, "{text:?} became {written:?}"),
        Err(problem) => panic!("{text:?} became {written:?}: {}", problem.message()),
    }
    let options = Options {
        now: NOW,
        explain: true,
        ..Options::default()
    };
    STORE.with(|store| {
        if let Err(error) = pipeline::run(store, &parsed, &options) {
            assert!(
                !error.message().contains("please report"),
                "{text:?}: {error}"
            );
        }
    });
}
