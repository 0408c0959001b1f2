//! Any text, compiled in every way, against the judge that matters: FTS5 itself.
//!
//! FTS5 may find nothing, but it may not refuse the expression; and parsing may not panic.
#![no_main]

use std::sync::LazyLock;

use hedgerow_engine::query::{AliasTable, Connective, MatchOptions, Matching, compile_match, parse};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use libfuzzer_sys::fuzz_target;
use rusqlite::Connection;

static ALIASES: LazyLock<AliasTable> = LazyLock::new(|| {
    AliasTable::new([
        ("k8s", ["kubernetes", "cluster manager"]),
        ("oak", ["elm", "ash tree"]),
    ])
});

thread_local! {
    static TABLES: [Connection; 3] = TokenizerKind::ALL.map(|tokenizer| {
        let connection = Connection::open_in_memory().expect("an in-memory database opens");
        let create =
            format!("CREATE VIRTUAL TABLE d USING fts5(t, tokenize='{}')", tokenizer.as_str());
        connection.execute_batch(&create).expect("the table is made");
        connection
            .execute("INSERT INTO d VALUES ('oak and elm in the winter garden, 東京都')", [])
            .expect("the row is written");
        connection
    });
}

fuzz_target!(|input: (u8, &str)| {
    let (flags, text) = input;
    let tokenizer = TokenizerKind::ALL[usize::from(flags % 3)];
    let extended = flags & 0x10 != 0;
    let options = MatchOptions {
        aliases: (flags & 0x20 != 0).then_some(&ALIASES),
        default_operator: match flags & 0x40 != 0 && !extended {
            true => Connective::And,
            false => Connective::Or,
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
    let Ok(query) = parse(text) else { return };
    let Ok(expression) = compile_match(&query, &options) else {
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
});
