//! Files that another program wrote to: a record of an index is replaced, and everything is read.

use std::fs;
use std::sync::LazyLock;

use hedgerow_engine::bm25::Ranking;
use hedgerow_engine::chunks::{Chunk, Filters};
use hedgerow_engine::index::{Index, Methods};
use hedgerow_engine::query::{MatchOptions, parse};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use hedgerow_engine::vectors::{Resident, Vectors};
use hedgerow_engine::{ErrorCode, Result};
use rusqlite::Connection;
use serde_json::{Map, Value};
use tempfile::TempDir;

const DIMENSIONS: u16 = 64;
const QUERIES: [&str; 4] = ["oak", "\"oak elm\" AND ash", "wor* OR fir", "nowhere"];

/// A written index: a few segments of postings, vectors, tags and metadata.
static TEMPLATE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index.db");
    let index = Index::open(&path, TokenizerKind::Porter, false).unwrap();
    for batch in 0..3 {
        let chunks: Vec<Chunk> = (0..20).map(|number| chunk(batch, number)).collect();
        index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
    }
    index.delete(&["0-3", "1-4"]).unwrap();
    index.close().unwrap();
    fs::read(&path).unwrap()
});

fn chunk(batch: u16, number: u16) -> Chunk {
    let words = ["oak", "elm", "ash", "fir"][usize::from(number % 4)];
    Chunk {
        id: format!("{batch}-{number}"),
        path: format!("p{}", number % 5),
        content: format!("{words} elm word{number} ").repeat(usize::from(number) + 1),
        tags: vec!["garden".to_owned()],
        metadata: [("n".to_owned(), Value::from(number))]
            .into_iter()
            .collect(),
        embedding: Some(
            (0..DIMENSIONS)
                .map(|at| f32::from(at % (number + 2)))
                .collect(),
        ),
        ..Chunk::default()
    }
}

/// The bytes of the index that is damaged.
pub fn template() -> &'static [u8] {
    &TEMPLATE
}

/// Replace a record of the postings, chosen by the first byte, with the bytes after it.
pub fn postings(input: &[u8]) {
    let Some((which, bytes)) = input.split_first() else {
        return;
    };
    // The records: the structure, the totals, pages of segments in turn, the index of pages, and
    // the lengths of the chunks.
    let (table, column, condition) = match which % 6 {
        0 => ("knowledge_fts_data", "block", "id = 10".to_owned()),
        1 => ("knowledge_fts_data", "block", "id = 1".to_owned()),
        2 | 3 => {
            let skipped = which / 6 % 4;
            let page = format!(
                "id = (SELECT id FROM knowledge_fts_data WHERE id > 10 ORDER BY id LIMIT 1 \
                 OFFSET {skipped})"
            );
            ("knowledge_fts_data", "block", page)
        }
        4 => ("knowledge_fts_idx", "term", "TRUE".to_owned()),
        _ => (
            "knowledge_fts_docsize",
            "sz",
            format!("id = {}", which / 6 + 1),
        ),
    };
    let sql = format!("UPDATE {table} SET {column} = ?1 WHERE {condition}");
    read_damaged(&sql, &[&bytes]);
}

/// Replace a text of a chunk, chosen by the first byte, with the bytes after it.
pub fn rows(input: &[u8]) {
    let Some((which, bytes)) = input.split_first() else {
        return;
    };
    let column = ["tags", "metadata", "title", "id", "path"][usize::from(which % 5)];
    let row = which / 5 + 1;
    // SQLite keeps bytes that are written as text, UTF-8 or not.
    let sql = format!("UPDATE knowledge_chunks SET {column} = CAST(?1 AS TEXT) WHERE row = {row}");
    read_damaged(&sql, &[&bytes]);
}

/// Replace a vector, or a setting of the vectors, chosen by the first byte, with the bytes after
/// it.
pub fn vectors(input: &[u8]) {
    let Some((which, bytes)) = input.split_first() else {
        return;
    };
    if which % 4 == 0 {
        let name = ["dimensions", "center"][usize::from(which / 4 % 2)];
        let text = String::from_utf8_lossy(bytes);
        let sql = "INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)";
        read_damaged(sql, &[&name, &text]);
    } else {
        let sql = format!(
            "UPDATE embeddings SET vector = ?1 WHERE row = {}",
            which / 4 + 1
        );
        read_damaged(&sql, &[&bytes]);
    }
}

fn read_damaged(sql: &str, values: &[&dyn rusqlite::ToSql]) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index.db");
    fs::write(&path, &*TEMPLATE).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("PRAGMA synchronous = OFF")
        .unwrap();
    // A constraint may refuse it; then no file can have it.
    let written = connection.execute(sql, values);
    drop(connection);
    if written.is_err() {
        return;
    }
    let methods = [
        (Ranking::Memory, Vectors::Exact),
        (Ranking::Fts5, Vectors::Fast),
    ];
    for (ranking, vectors) in methods {
        let methods = Methods {
            ranking,
            vectors,
            resident: Resident::All,
        };
        let opened = Index::open_with(&path, TokenizerKind::Porter, true, methods);
        if let Some(index) = named(opened) {
            read_all(&index);
        }
    }
}

fn read_all(index: &Index) {
    let tagged = Filters {
        tags: vec!["garden".to_owned()],
        metadata: Map::from_iter([("n".to_owned(), Value::from(3))]),
        ..Filters::default()
    };
    for filters in [Filters::default(), tagged] {
        for text in QUERIES {
            let query = parse(text).unwrap();
            named(index.search_bm25(&query, 100, &filters, &MatchOptions::default()));
        }
        let vector: Vec<f32> = (0..DIMENSIONS).map(f32::from).collect();
        named(index.search_vector(&vector, 100, &filters));
    }
    named(index.page(0, 1000));
    named(index.get("0-0"));
    named(index.stats());
    named(index.check());
}

/// The result, or None for an error. An error that blames hedgerow rather than the file is a
/// failure.
fn named<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            assert_ne!(error.code(), ErrorCode::EngineFault, "{error}");
            None
        }
    }
}
