//! The fixture of files: what becomes of each (spec/fixtures/ingest/files.jsonl).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may panic"
)]

use std::fs;
use std::path::Path;

use hedgerow_engine::chunks::Chunk;
use hedgerow_memory::folder::{SourceFile, text_of};
use hedgerow_memory::format::{FrontMatter, read_chunks};
use serde_json::{Value, json};

fn front_matter(text: &str) -> Value {
    let text = text_of(text.as_bytes()).unwrap();
    let read = FrontMatter::read(&text.split('\n').collect::<Vec<_>>());
    json!({
        "fields": read.to_json(),
        "metadata": read.metadata(),
        "tags": read.tags(),
        "title": read.text(&["title"]),
        "bodyStart": read.body_start,
        "isValid": read.problem.is_none(),
        "unread": read.unread,
    })
}

fn described(chunk: &Chunk) -> Value {
    json!({
        "ordinal": chunk.ordinal,
        "title": chunk.title,
        "summary": chunk.summary,
        "tags": chunk.tags,
        "lineStart": chunk.metadata["line_start"],
        "lineEnd": chunk.metadata["line_end"],
        "content": chunk.content,
    })
}

fn read(case: &Value) -> Value {
    let path = case["path"].as_str().unwrap();
    let text = case["text"].as_str().unwrap();
    let file = format!("/{path}");
    let source = SourceFile { path, file: &file };
    let mut result = json!({});
    if case["expected"].get("frontMatter").is_some() {
        result["frontMatter"] = front_matter(text);
    }
    let chunks = read_chunks(&source, Some(text.as_bytes()));
    let results = chunks.and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match results {
        Ok(results) => {
            let chunks = results.iter().filter_map(|result| result.as_ref().ok());
            result["chunks"] = chunks.map(described).collect();
        }
        Err(error) => result["error"] = error.code.into(),
    }
    result
}

#[test]
fn every_file_of_the_fixture_becomes_the_chunks_that_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/fixtures/ingest");
    let cases = fs::read_to_string(folder.join("files.jsonl")).unwrap();
    let mut failures = Vec::new();
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let mut expected = case["expected"].clone();
        if let Some(front_matter) = expected["frontMatter"].as_object_mut() {
            front_matter.remove("problemLine");
        }
        if expected["frontMatter"].is_null() {
            expected.as_object_mut().unwrap().remove("frontMatter");
        }
        let result = read(&case);
        if result != expected {
            let parts = expected.as_object().unwrap().iter();
            let parts = parts.filter(|(key, value)| result.get(*key) != Some(value));
            let parts: Vec<String> = parts
                .map(|(key, value)| {
                    format!("{key}\n  expected {value}\n  result   {}", result[key])
                })
                .collect();
            failures.push(format!("{}: {}", case["id"], parts.join("\n")));
        }
    }
    assert!(
        failures.is_empty(),
        "{} files\n{}",
        failures.len(),
        failures.join("\n")
    );
}
