//! Fields as plain JSON, in the form in which an index stores them.

use std::fmt::Write;

use serde_json::{Map, Number, Value};

/// The most values of a field.
const MOST_VALUES: usize = 10_000;
/// The most that a field nests.
const DEEPEST: usize = 20;

/// Return the fields with the items of lists as text, without those that are too large.
pub(super) fn fields(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut plain = Map::with_capacity(fields.len());
    for (key, value) in fields {
        // Lists of names, in which neither nothing nor a list is one.
        let is_names = matches!(key.as_str(), "tags" | "aliases");
        let mut budget = MOST_VALUES;
        let value = match value {
            Value::Array(items) if is_names => {
                let names = items.iter().filter(|item| is_scalar(item));
                Writer {
                    budget: &mut budget,
                }
                .list(names, DEEPEST)
            }
            value => Writer {
                budget: &mut budget,
            }
            .value(value, DEEPEST),
        };
        if let Some(value) = value {
            plain.insert(key.clone(), value);
        }
    }
    plain
}

/// Makes plain values while the budget lasts.
struct Writer<'a> {
    budget: &'a mut usize,
}

impl Writer<'_> {
    /// Count one value; None if it is one too many.
    fn count(&mut self, depth: usize) -> Option<usize> {
        *self.budget = self.budget.checked_sub(1)?;
        depth.checked_sub(1)
    }

    fn value(&mut self, value: &Value, depth: usize) -> Option<Value> {
        match value {
            Value::Array(items) => self.list(items.iter(), depth),
            Value::Object(fields) => {
                let depth = self.count(depth)?;
                let fields = fields
                    .iter()
                    .map(|(key, value)| Some((key.clone(), self.value(value, depth)?)));
                fields.collect::<Option<Map<_, _>>>().map(Value::Object)
            }
            scalar => {
                self.count(depth)?;
                Some(scalar.clone())
            }
        }
    }

    fn list<'v>(&mut self, items: impl Iterator<Item = &'v Value>, depth: usize) -> Option<Value> {
        let depth = self.count(depth)?;
        let texts = items.map(|item| {
            Some(Value::String(match self.value(item, depth)? {
                Value::String(text) => text,
                value => python_json(&value, ", ", ": "),
            }))
        });
        texts.collect::<Option<Vec<_>>>().map(Value::Array)
    }
}

/// A number as Python writes it: `1.0`, `1e+19`.
pub fn number_text(number: &Number) -> String {
    if number.is_f64() {
        return number.as_f64().map_or_else(String::new, float_text);
    }
    number.to_string()
}

fn float_text(number: f64) -> String {
    let written = format!("{number:e}");
    let Some((mantissa, exponent)) = written.split_once('e') else {
        return written;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if number != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let plain = number.to_string();
    if plain.contains('.') {
        plain
    } else {
        format!("{plain}.0")
    }
}

/// The number that a value is, or that its text says: `1.50` is text, because it would be written as `1.5`.
pub fn number_of(value: &Value) -> Option<f64> {
    let number = match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_f64(),
    };
    number.filter(|number: &f64| number.is_finite())
}

/// A value as JSON on one line, with spaces.
pub fn json_text(value: &Value) -> String {
    python_json(value, ", ", ": ")
}

/// A value as JSON in the form that Python writes, with these separators and no ASCII escapes.
pub(crate) fn python_json(value: &Value, comma: &str, colon: &str) -> String {
    let mut text = String::new();
    write_json(value, comma, colon, &mut text);
    text
}

fn write_json(value: &Value, comma: &str, colon: &str, text: &mut String) {
    match value {
        Value::Number(number) => text.push_str(&number_text(number)),
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                text.push_str(if at > 0 { comma } else { "" });
                write_json(item, comma, colon, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            text.push('{');
            for (at, (key, value)) in fields.iter().enumerate() {
                text.push_str(if at > 0 { comma } else { "" });
                write_text(key, text);
                text.push_str(colon);
                write_json(value, comma, colon, text);
            }
            text.push('}');
        }
        Value::String(string) => write_text(string, text),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Null => text.push_str("null"),
    }
}

fn write_text(string: &str, text: &mut String) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\x08' => text.push_str("\\b"),
            '\x0c' => text.push_str("\\f"),
            '\0'..='\x1f' => {
                // Writing to a text cannot fail.
                let _ = write!(text, "\\u{:04x}", u32::from(character));
            }
            _ => text.push(character),
        }
    }
    text.push('"');
}

fn dumped_length(value: &Value) -> usize {
    match value {
        Value::Number(number) => number_text(number).len(),
        Value::Array(items) => {
            let separators = 2 * items.len().saturating_sub(1);
            2 + separators + items.iter().map(dumped_length).sum::<usize>()
        }
        Value::Object(fields) => fields_length(fields),
        Value::String(text) => text_length(text),
        Value::Bool(value) => {
            if *value {
                4
            } else {
                5
            }
        }
        Value::Null => 4,
    }
}

/// The characters of fields as JSON in ASCII, with a space after commas and colons.
pub fn fields_length(fields: &Map<String, Value>) -> usize {
    let separators = 2 * fields.len().saturating_sub(1);
    let entries = fields
        .iter()
        .map(|(key, value)| text_length(key) + 2 + dumped_length(value));
    2 + separators + entries.sum::<usize>()
}

fn text_length(text: &str) -> usize {
    let lengths = text.chars().map(|character| match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\x08' | '\x0c' => 2,
        ' '..='\x7f' => 1,
        _ => 6 * character.len_utf16(),
    });
    2 + lengths.sum::<usize>()
}

/// Whether a value is a text, a number or a boolean.
pub(super) fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_written_as_python_does() {
        for (number, text) in [
            (1.0, "1.0"),
            (-0.25, "-0.25"),
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.234_567_890_123_456_7e19, "1.2345678901234567e+19"),
            (0.0, "0.0"),
        ] {
            assert_eq!(float_text(number), text);
        }
    }

    #[test]
    fn the_length_is_that_of_json_in_ascii() {
        let value = json!({"a": ["é", 1, true, null], "🦔": "\n\u{7f}\x01"});
        let text = r#"{"a": ["\u00e9", 1, true, null], "\ud83e\udd94": "\n?\u0001"}"#;
        assert_eq!(dumped_length(&value), text.len());
    }
}
