//! The fixture of nodes: what each file of a root is in its store (spec/fixtures/memory/nodes.jsonl).

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{FileNode, file_node};
use crate::facts::document::Document;
use crate::folder::text_of;

fn node_of(case: &Value) -> Value {
    let text = text_of(case["text"].as_str().unwrap().as_bytes()).unwrap();
    let document = Document::parse(case["path"].as_str().unwrap(), &text);
    let FileNode { node, facts, skips } =
        file_node(&document, case["modified"].as_i64().unwrap()).unwrap();
    let problems: Vec<&str> = skips.iter().map(|skip| &*skip.reason).collect();
    json!({
        "type": node.kind,
        "content": node.content,
        "weight": node.weight,
        "category": node.category.as_str(),
        "emotion": node.emotion,
        "provenance": node.provenance,
        "createdAt": node.created_at,
        "updatedAt": node.updated_at,
        "lastReplayed": node.last_replayed,
        "replayInterval": node.replay_interval,
        "facts": facts,
        "problems": problems,
    })
}

#[test]
fn every_file_of_the_fixture_is_the_node_that_it_says() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/fixtures/memory");
    let cases = fs::read_to_string(fixtures.join("nodes.jsonl")).unwrap();
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        assert_eq!(node_of(&case), case["expected"], "{}", case["path"]);
    }
}
