//! Comparison of JSON values by meaning.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

/// JSON equality; numbers are equal when their values are, however they are written.
fn equal(left: &Value, right: &Value) -> bool {
    compare(left, right).is_eq()
}

/// Whether every key of `wanted` is there with an equal value.
pub(super) fn holds(metadata: &Map<String, Value>, wanted: &Map<String, Value>) -> bool {
    wanted
        .iter()
        .all(|(key, value)| metadata.get(key).is_some_and(|found| equal(found, value)))
}

/// Whether two values are of one kind, so that one may come before the other in a condition.
pub(crate) fn comparable(left: &Value, right: &Value) -> bool {
    kind(left) == kind(right)
}

/// A total order: by kind, then numbers by value, texts by code points, arrays item by item.
pub(crate) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let pairs = left.iter().zip(right);
            let differing = pairs
                .map(|(l, r)| compare(l, r))
                .find(|order| order.is_ne());
            differing.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        (Value::Object(left), Value::Object(right)) => compare_objects(left, right),
        _ => kind(left).cmp(&kind(right)),
    }
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

/// Whatever the order of their keys.
fn compare_objects(left: &Map<String, Value>, right: &Map<String, Value>) -> Ordering {
    let sorted = |map| {
        let mut entries: Vec<(&String, &Value)> = Map::iter(map).collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        entries
    };
    let (left, right) = (sorted(left), sorted(right));
    let pairs = left.iter().zip(&right);
    let differing = pairs
        .map(|(l, r)| l.0.cmp(r.0).then_with(|| compare(l.1, r.1)))
        .find(|order| order.is_ne());
    differing.unwrap_or_else(|| left.len().cmp(&right.len()))
}

fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(whole), None) => compare_whole(whole, float(right)),
        (None, Some(whole)) => compare_whole(whole, float(left)).reverse(),
        // NaN is missing from JSON.
        (None, None) => float(left)
            .partial_cmp(&float(right))
            .unwrap_or(Ordering::Equal),
    }
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default()
}

/// An integer of 64 bits and a float. Converting the integer instead would round it.
fn compare_whole(whole: i128, float: f64) -> Ordering {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a float out of range saturates"
    )]
    let truncated = float as i128;
    whole.cmp(&truncated).then_with(|| {
        let rest = float.fract();
        0.0.partial_cmp(&rest).unwrap_or(Ordering::Equal)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn json_is_equal_by_value() {
        for (left, right, expected) in [
            ("1", "1.0", true),
            ("-0.0", "0", true),
            ("1e3", "1000", true),
            ("9007199254740993", "9007199254740992.0", false),
            ("18446744073709551615", "1.8446744073709552e19", false),
            ("18446744073709551615", "-1", false),
            ("1", "true", false),
            ("0", "false", false),
            ("\"1\"", "1", false),
            ("null", "false", false),
            ("[1, {\"a\": 2}]", "[1.0, {\"a\": 2.0}]", true),
            ("[1, 2]", "[2, 1]", false),
            ("[1]", "[1, 1]", false),
            ("{\"a\": 1, \"b\": 2}", "{\"b\": 2, \"a\": 1}", true),
            ("{\"a\": null}", "{}", false),
            ("{\"a\": null}", "{\"b\": null}", false),
        ] {
            assert_eq!(equal(&json(left), &json(right)), expected, "{left} {right}");
            assert_eq!(equal(&json(right), &json(left)), expected, "{right} {left}");
        }
    }

    #[test]
    fn numbers_are_ordered_exactly() {
        let ascending = [
            "-1e300",
            "-9223372036854775808",
            "-1.5",
            "-1",
            "0",
            "5e-324",
            "0.5",
            "1",
            "9007199254740992.0",
            "9007199254740993",
            "9007199254740994.0",
            "18446744073709551615",
            "1.8446744073709552e19",
            "1e300",
        ];
        for (at, left) in ascending.iter().enumerate() {
            for (other, right) in ascending.iter().enumerate() {
                assert_eq!(
                    compare(&json(left), &json(right)),
                    at.cmp(&other),
                    "{left} {right}"
                );
            }
        }
    }
}
