//! Where in a filter something is wrong, and what to write instead.

use std::fmt::{self, Display, Formatter};

use serde_json::{Map, Value};

use crate::error::{Error, ErrorCode, Result};
use crate::text::suggest::nearest;

/// Operators that join conditions.
pub(super) const JOINS: [&str; 4] = ["$and", "$or", "$nor", "$not"];
/// Operators that compare a field.
pub(super) const OPERATORS: [&str; 14] = [
    "$eq",
    "$ne",
    "$gt",
    "$gte",
    "$lt",
    "$lte",
    "$in",
    "$nin",
    "$between",
    "$exists",
    "$all",
    "$contains",
    "$glob",
    "$not",
];
/// Names that people use instead.
const OTHERS: [(&str, &str); 12] = [
    ("=", "$eq"),
    ("==", "$eq"),
    ("!=", "$ne"),
    (">", "$gt"),
    (">=", "$gte"),
    ("<", "$lt"),
    ("<=", "$lte"),
    ("$neq", "$ne"),
    ("$any", "$in"),
    ("$notin", "$nin"),
    ("$not_in", "$nin"),
    ("$like", "$glob"),
];

/// Where in a filter something is; put into words only when it is wrong.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Root(&'a str),
    Key(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl Display for Place<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(name) => f.write_str(name),
            Self::Key(parent, key) => write!(f, "{parent}[{key:?}]"),
            Self::Item(parent, item) => write!(f, "{parent}[{item}]"),
        }
    }
}

impl Place<'_> {
    pub fn error(self, what: &str) -> Error {
        Error::new(ErrorCode::InvalidFilter, format!("{self} {what}"))
    }
}

/// Refuse an object to compare with whose keys look like operators.
pub(super) fn check_plain(map: &Map<String, Value>, place: Place<'_>) -> Result<()> {
    let meant = |key: &str| {
        let with_sign = format!("${}", key.to_lowercase());
        let known = |name: &&str| **name == with_sign && *name != "$all";
        OPERATORS.into_iter().find(known).or_else(|| other(key))
    };
    for key in map.keys() {
        if let Some(operator) = meant(key) {
            return Err(place.error(&format!(
                "has the key {key:?}; did you mean {operator:?}? Write {{\"$eq\": {{...}}}} for an \
                 object that has this key"
            )));
        }
    }
    Ok(())
}

fn other(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let found = OTHERS.iter().find(|(other, _)| *other == name);
    found.map(|(_, operator)| *operator)
}

/// Return the message for an operator that does not exist.
pub(super) fn unknown(name: &str, known: &[&str]) -> String {
    let meant = other(name).filter(|meant| known.contains(meant));
    let advice = match meant.or_else(|| nearest(name, known.iter().copied())) {
        Some(meant) => format!("did you mean {meant:?}?"),
        None => format!("the operators are {}", known.join(", ")),
    };
    format!("has no operator {name:?}; {advice}")
}

pub(super) fn object<'v>(
    value: &'v Value,
    place: Place<'_>,
    what: &str,
) -> Result<&'v Map<String, Value>> {
    let wrong = || place.error(&format!("must be {what}, not {}", kind(value)));
    value.as_object().ok_or_else(wrong)
}

pub(super) fn list<'v>(value: &'v Value, place: Place<'_>, what: &str) -> Result<&'v [Value]> {
    let wrong = || place.error(&format!("must be {what}, not {}", kind(value)));
    value.as_array().map(Vec::as_slice).ok_or_else(wrong)
}

/// A list that is not empty: joining nothing could mean everything or nothing.
pub(super) fn some<'v>(value: &'v Value, place: Place<'_>, what: &str) -> Result<&'v [Value]> {
    let items = list(value, place, what)?;
    if items.is_empty() {
        return Err(place.error("is empty; leave it out, or give it at least one"));
    }
    Ok(items)
}

/// Return the kind of a value, for a message.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a bool",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
