//! JSON values as bytes that are equal and ordered as the values are (spec/filters.md, "Values").

use serde_json::{Map, Number, Value};

/// The first byte of a key, in the order of kinds.
const NULL: u8 = 0;
const BOOL: u8 = 1;
const NUMBER: u8 = 2;
pub(super) const TEXT: u8 = 3;
const LIST: u8 = 4;
const OBJECT: u8 = 5;
/// The key of a field that is present but has no scalar. No value has this key.
pub(super) const NO_SCALAR: &[u8] = &[6];

/// The key of a value. Two values have the same key if and only if they are equal, and the keys of two
/// scalars of one kind are ordered as these. Keys of lists and objects have no useful order.
pub(super) fn value_key(value: &Value) -> Vec<u8> {
    let mut key = Vec::new();
    append(value, &mut key);
    key
}

/// The key of a text.
pub(super) fn text_key(text: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(text.len() + 1);
    key.push(TEXT);
    key.extend_from_slice(text.as_bytes());
    key
}

/// The text of a key, or None if the key is of another kind.
pub(super) fn text_of(key: &[u8]) -> Option<&str> {
    let (TEXT, text) = key.split_first().map(|(kind, text)| (*kind, text))? else {
        return None;
    };
    std::str::from_utf8(text).ok()
}

fn append(value: &Value, key: &mut Vec<u8>) {
    match value {
        Value::Null => key.push(NULL),
        Value::Bool(value) => key.extend([BOOL, u8::from(*value)]),
        Value::Number(number) => {
            key.push(NUMBER);
            append_number(number, key);
        }
        Value::String(text) => {
            key.push(TEXT);
            key.extend_from_slice(text.as_bytes());
        }
        Value::Array(items) => {
            key.push(LIST);
            for item in items {
                append_part(&value_key(item), key);
            }
        }
        Value::Object(map) => {
            key.push(OBJECT);
            append_object(map, key);
        }
    }
}

/// Append a number as the nearest float and the difference from it: some integers are not floats.
fn append_number(number: &Number, key: &mut Vec<u8>) {
    // Neither zero is less than the other.
    let nearest = number.as_f64().unwrap_or_default() + 0.0;
    let bits = nearest.to_bits();
    let sign = 1 << 63;
    let ordered = if bits & sign == 0 { bits | sign } else { !bits };
    key.extend(ordered.to_be_bytes());
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the nearest float of an integer of 64 bits is one of 128, at most 1,024 away"
    )]
    let excess = number.as_i128().map_or(0, |exact| exact - nearest as i128) as i16;
    key.extend((excess.cast_unsigned() ^ (1 << 15)).to_be_bytes());
}

/// The entries of an object by their names, since their order does not count.
fn append_object(map: &Map<String, Value>, key: &mut Vec<u8>) {
    let mut entries: Vec<(&String, &Value)> = map.iter().collect();
    entries.sort_unstable_by_key(|(name, _)| *name);
    for (name, value) in entries {
        append_part(name.as_bytes(), key);
        append_part(&value_key(value), key);
    }
}

/// A part of a key with its length, so that no two lists of parts are the same bytes.
fn append_part(part: &[u8], key: &mut Vec<u8>) {
    key.extend((part.len() as u64).to_be_bytes());
    key.extend_from_slice(part);
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::chunks::filters::{comparable, compare};

    /// Scalars that are often equal or close.
    pub fn scalars() -> impl Strategy<Value = Value> {
        let numbers = [
            "0",
            "-0.0",
            "1",
            "1.0",
            "-1",
            "0.5",
            "1e300",
            "-1e300",
            "5e-324",
            "9007199254740992",
            "9007199254740993",
            "9007199254740992.0",
            "9223372036854775807",
            "9.223372036854775807e18",
            "-9223372036854775808",
            "18446744073709551615",
            "1.8446744073709552e19",
            "18446744073709549568",
        ];
        let numbers = numbers.map(|text| serde_json::from_str::<Value>(text).unwrap());
        let texts = [
            "",
            "a",
            "ab",
            "b",
            "\u{0}",
            "é",
            "\u{ffff}",
            "😀",
            "2024-03-05",
            "2024-03",
        ];
        prop_oneof![
            prop::sample::select(vec![json!(null), json!(true), json!(false)]),
            prop::sample::select(numbers.to_vec()),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            prop::sample::select(texts.map(Value::from).to_vec()),
        ]
    }

    pub fn values() -> impl Strategy<Value = Value> {
        scalars().prop_recursive(3, 12, 3, |inner| {
            let names = prop::sample::select(vec!["n", "m", "n.m"]).prop_map(str::to_owned);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::vec((names, inner), 0..3)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn keys_are_equal_and_ordered_as_values(left in values(), right in values()) {
            let (one, other) = (value_key(&left), value_key(&right));
            prop_assert_eq!(one == other, compare(&left, &right).is_eq());
            prop_assert!(one != NO_SCALAR);
            let is_scalar = !left.is_array() && !left.is_object();
            if is_scalar && comparable(&left, &right) {
                prop_assert_eq!(one.cmp(&other), compare(&left, &right));
            }
            prop_assert_eq!(one[0] == other[0], comparable(&left, &right));
            prop_assert_eq!(text_of(&one), left.as_str());
        }

        #[test]
        fn integers_near_floats_are_ordered(base in any::<i64>(), off in -3000_i64..3000) {
            let (left, right) = (Value::from(base), Value::from(base.saturating_add(off)));
            prop_assert_eq!(value_key(&left).cmp(&value_key(&right)), compare(&left, &right));
            let float = Value::from(left.as_f64().unwrap());
            prop_assert_eq!(value_key(&right).cmp(&value_key(&float)), compare(&right, &float));
        }
    }
}
