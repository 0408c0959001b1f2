//! Texts in the two languages: queries and pipelines.

use std::sync::LazyLock;

use hedgerow_engine::query::{
    AliasTable, Connective, MatchOptions, Matching, compile_match, parse,
};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use hedgerow_graph::graph::{Node, Store};
use hedgerow_graph::pipeline::{self, Options};
use rusqlite::Connection;

const KINDS: [TokenizerKind; 4] = [
    TokenizerKind::Words,
    TokenizerKind::Porter,
    TokenizerKind::Unicode61,
    TokenizerKind::Trigram,
];
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
