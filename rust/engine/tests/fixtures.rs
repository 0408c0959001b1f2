//! The shared cases of spec/fixtures, as the engine answers them; pytest runs the same files.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod cases;

use cases::{check, fixture, jsonl, text};
use hedgerow_engine::chunks::{Chunk, Filters, Where};
use hedgerow_engine::query::{AliasTable, Connective, Query, TokenKind, alias, compile_fts, parse};
use hedgerow_engine::retrieval::retry;
use hedgerow_engine::text::normalise::normalise;
use hedgerow_engine::text::slug::slug_text;
use hedgerow_engine::text::trigram::printable_grams;
use serde_json::{Value, json};

fn tokens(query: &Query) -> Value {
    let token = |token: &hedgerow_engine::query::Token| {
        let mut value = json!({"kind": token.kind.as_str(), "text": token.text});
        if let Some(operator) = token.operator {
            value["operator"] = json!(operator.as_str());
        }
        value
    };
    query.tokens.iter().map(token).collect()
}

#[test]
fn normalise_cases() {
    check(jsonl("normalise.jsonl"), |case| {
        json!(normalise(text(case, "raw")))
    });
}

#[test]
fn parse_cases() {
    let cases: Vec<Value> = serde_json::from_str(&fixture("query-parser/cases.json")).unwrap();
    check(cases.into_iter(), |case| {
        let query = parse(text(case, "input")).unwrap();
        json!({
            "raw": query.raw,
            "tokens": tokens(&query),
            "hasOperators": query.has_operators,
            "fts": compile_fts(&query, None, Connective::Or).unwrap(),
        })
    });
}

#[test]
fn alias_cases() {
    check(jsonl("alias.jsonl"), |case| {
        let table = case["table"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(key, surfaces)| {
                let surfaces: Vec<&str> = surfaces
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|s| s.as_str().unwrap())
                    .collect();
                (key.as_str(), surfaces)
            });
        let query = parse(text(case, "input")).unwrap();
        let expanded = alias::expand(&query, &AliasTable::new(table)).unwrap();
        json!({
            "tokens": tokens(&expanded),
            "hasOperators": expanded.has_operators,
            "fts": compile_fts(&expanded, None, Connective::Or).unwrap(),
        })
    });
}

#[test]
fn retry_cases() {
    check(jsonl("retry.jsonl"), |case| {
        let query = text(case, "query");
        json!({
            "sanitised": retry::sanitise_query(query),
            "strongest": retry::strongest_term(query),
            "tokens": retry::query_tokens(query),
        })
    });
}

#[test]
fn slug_cases() {
    check(jsonl("slug.jsonl"), |case| {
        json!(slug_text(text(case, "path")))
    });
}

#[test]
fn trigram_cases() {
    check(jsonl("trigram_grams.jsonl"), |case| {
        json!(printable_grams(text(case, "text")))
    });
}

#[test]
fn a_token_kind_has_one_name() {
    for kind in [TokenKind::Term, TokenKind::Phrase, TokenKind::Prefix] {
        assert_eq!(TokenKind::from_name(kind.as_str()), Some(kind));
    }
}

#[test]
fn filter_cases() {
    check(jsonl("filters.jsonl"), |case| {
        let given = &case["chunk"];
        let or = |key: &str, default: Value| match &given[key] {
            Value::Null => default,
            value => value.clone(),
        };
        let chunk = Chunk {
            id: or("id", json!("a")).as_str().unwrap().to_owned(),
            path: or("path", json!("p")).as_str().unwrap().to_owned(),
            ordinal: or("ordinal", json!(0)).as_i64().unwrap(),
            tags: serde_json::from_value(or("tags", json!([]))).unwrap(),
            metadata: or("metadata", json!({})).as_object().unwrap().clone(),
            ..Chunk::default()
        };
        let source = case["where"].as_object().unwrap().clone();
        match Where::new("where", source) {
            Ok(wanted) => {
                let filters = Filters {
                    wanted,
                    ..Filters::default()
                };
                json!(filters.accept(&chunk))
            }
            Err(error) => json!({"error": error.message()}),
        }
    });
}
