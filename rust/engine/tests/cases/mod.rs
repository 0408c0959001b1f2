//! Reading and running the cases of spec/fixtures.
#![allow(dead_code, reason = "each file of tests uses its part")]

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

/// The text of a file in spec/fixtures.
pub fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../spec/fixtures")
        .join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Run `answer` on every case of a subject; report all mismatches together.
pub fn check(cases: impl Iterator<Item = Value>, answer: impl Fn(&Value) -> Value) {
    let mut count = 0;
    let mut wrong = Vec::new();
    for case in cases {
        count += 1;
        let actual = answer(&case);
        if actual != case["expected"] {
            wrong.push(format!("{case}\n   got {actual}"));
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

/// The cases of a subject; only `\n` ends a line.
pub fn jsonl(name: &str) -> impl Iterator<Item = Value> {
    let lines: Vec<Value> = fixture(name)
        .split('\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    lines.into_iter()
}

/// A text of a case.
pub fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().unwrap()
}
