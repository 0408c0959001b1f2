//! The cases of spec/fixtures/pipeline, each in a new store. pytest runs the same file.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../../engine/tests/cases/mod.rs"]
mod cases;

use cases::{jsonl, text};
use hedgerow_graph::graph::{Category, EdgeInput, Node, Outcome, Store, VisitInput};
use hedgerow_graph::pipeline::{Cell, Leg, Options, Pipeline, Problem, Ranked, parse, run};
use serde_json::{Value, json};

/// The items of a list, which may be missing.
fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn texts(value: &Value) -> Vec<String> {
    let texts = value.as_array().unwrap().iter();
    texts
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

fn node(given: &Value, now: i64) -> Node {
    let usual = Node::default();
    let number = |key: &str, usual: f64| given[key].as_f64().unwrap_or(usual);
    let updated = given["timestamp"].as_i64().unwrap_or(now);
    Node {
        key: text(given, "key").to_owned(),
        kind: given["type"].as_str().unwrap_or(&usual.kind).to_owned(),
        content: given["content"].as_str().unwrap_or_default().to_owned(),
        weight: number("weight", usual.weight),
        category: given["category"]
            .as_str()
            .map_or(usual.category, |category| {
                Category::from_name(category).unwrap()
            }),
        emotion: number("emotion", usual.emotion),
        provenance: given["provenance"]
            .as_str()
            .unwrap_or(&usual.provenance)
            .to_owned(),
        updated_at: Some(updated),
        created_at: given["created"].as_i64(),
        last_replayed: given["last_replayed"].as_i64().unwrap_or(0),
        replay_interval: u32::try_from(given["interval_days"].as_u64().unwrap_or(1)).unwrap(),
        embedding: given["vec"].as_array().map(|vector| {
            #[allow(clippy::cast_possible_truncation, reason = "vectors are kept as f32")]
            let number = |value: &Value| value.as_f64().unwrap() as f32;
            vector.iter().map(number).collect()
        }),
    }
}

fn store(case: &Value) -> Store {
    let store = Store::in_memory().unwrap();
    let now = case["now"].as_i64().unwrap();
    let nodes: Vec<Node> = list(case, "nodes")
        .iter()
        .map(|given| node(given, now))
        .collect();
    store
        .upsert(&nodes.iter().collect::<Vec<_>>(), now)
        .unwrap();
    let edges: Vec<EdgeInput> = list(case, "edges")
        .iter()
        .map(|edge| EdgeInput {
            source: text(edge, "a").to_owned(),
            target: text(edge, "b").to_owned(),
            relation: "link".to_owned(),
            strength: edge["strength"].as_f64().unwrap_or(1.0),
        })
        .collect();
    store.link(&edges).unwrap();
    let visits: Vec<VisitInput> = list(case, "visits")
        .iter()
        .map(|visit| VisitInput {
            agent: text(visit, "agent").to_owned(),
            key: text(visit, "key").to_owned(),
            at: visit["ts"].as_i64().unwrap(),
            outcome: visit["outcome"]
                .as_str()
                .map_or(Outcome::default(), |name| Outcome::from_name(name).unwrap()),
        })
        .collect();
    store.visit(&visits).unwrap();
    let deleted: Vec<&str> = list(case, "nodes")
        .iter()
        .filter(|given| given["deleted"].as_bool() == Some(true))
        .map(|given| text(given, "key"))
        .collect();
    store.delete(&deleted).unwrap();
    store
}

/// Return the results of the case's legs for the searches of a pipeline.
fn legs(case: &Value, pipeline: &Pipeline) -> Option<Vec<Ranked>> {
    let found = case.get("search")?;
    let ranked = pipeline.searches().flat_map(|search| {
        let legs = Leg::of(search.mode).iter();
        legs.map(|leg| {
            let keys = &found[&search.query][leg.as_str()];
            let keys = if keys.is_null() {
                Vec::new()
            } else {
                texts(keys)
            };
            (search.query.clone(), *leg, keys)
        })
    });
    Some(ranked.collect())
}

fn parsed(case: &Value) -> Result<Pipeline, Problem> {
    let terms = match &case["terms"] {
        Value::Null => Vec::new(),
        terms => texts(terms),
    };
    let pipeline = match &case["pipeline"] {
        Value::String(text) => text.clone(),
        flags => texts(flags).join(" | "),
    };
    parse(&pipeline, &terms, &[])
}

fn answer(case: &Value) -> Value {
    let pipeline = match parsed(case) {
        Ok(pipeline) => pipeline,
        Err(problem) => {
            let mut error = json!({
                "kind": problem.kind.as_str(),
                "stage": problem.stage,
                "start": problem.start,
                "end": problem.end,
            });
            if let Some(suggestion) = problem.suggestion {
                error["suggestion"] = json!(suggestion);
            }
            return json!({ "error": error });
        }
    };
    assert_eq!(
        parse(&pipeline.to_string(), &[], &[]).as_ref(),
        Ok(&pipeline),
        "{pipeline}"
    );
    let options = Options {
        now: case["now"].as_i64().unwrap(),
        legs: legs(case, &pipeline),
        ..Options::default()
    };
    let found = run(&store(case), &pipeline, &options).unwrap();
    if let Some(count) = found.count {
        return json!({ "count": count });
    }
    if let Some(rows) = found.rows {
        let cell = |cell: &Cell| match cell {
            Cell::Text(text) => json!(text),
            Cell::Integer(number) => json!(number),
            Cell::Real(number) => json!(number),
        };
        let rows: Vec<Vec<Value>> = rows
            .iter()
            .map(|row| row.iter().map(cell).collect())
            .collect();
        return json!({ "columns": found.columns, "rows": rows });
    }
    let mut answer = json!({ "keys": found.keys, "scores": found.scores });
    if !found.pairs.is_empty() {
        answer["pairs"] = json!(found.pairs);
    }
    answer
}

/// Equal, numbers within the tolerance.
fn agrees(actual: &Value, expected: &Value, tolerance: f64) -> bool {
    match (actual, expected) {
        (Value::Number(actual), Value::Number(expected)) => {
            (actual.as_f64().unwrap() - expected.as_f64().unwrap()).abs() <= tolerance
        }
        (Value::Array(actual), Value::Array(expected)) => {
            let mut pairs = actual.iter().zip(expected);
            actual.len() == expected.len()
                && pairs.all(|(actual, expected)| agrees(actual, expected, tolerance))
        }
        (Value::Object(actual), Value::Object(expected)) => {
            let mut pairs = expected.iter();
            actual.len() == expected.len()
                && pairs.all(|(key, expected)| {
                    actual
                        .get(key)
                        .is_some_and(|actual| agrees(actual, expected, tolerance))
                })
        }
        _ => actual == expected,
    }
}

#[test]
fn pipeline_cases() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in jsonl("pipeline/cases.jsonl") {
        count += 1;
        let actual = answer(&case);
        if !agrees(&actual, &case["expected"], case["tol"].as_f64().unwrap()) {
            let (id, pipeline) = (&case["id"], &case["pipeline"]);
            let expected = &case["expected"];
            wrong.push(format!(
                "{id} {pipeline}\n   got {actual}\n  want {expected}"
            ));
        }
    }
    assert!(count > 100, "only {count} cases: is the fixture whole?");
    assert!(
        wrong.is_empty(),
        "{} of {count} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
