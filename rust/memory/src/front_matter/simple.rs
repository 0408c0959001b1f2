//! The fast path for most notes: one `key: value` a line, with short lists.
//!
//! Its result equals that of the YAML parser; None for anything that only the parser can judge.

use serde_json::{Map, Value};

/// The most digits of a whole number, and of each part of a decimal one.
const MOST_DIGITS: usize = 15;
const MOST_DECIMALS: usize = 9;

/// Read the lines of a block.
pub fn fields(lines: &[&str]) -> Option<Map<String, Value>> {
    let mut fields = Map::with_capacity(lines.len());
    // The key whose list is being read, the indent of its items, and these.
    let mut list: Option<(&str, Option<usize>, Vec<Value>)> = None;
    for line in lines {
        if !line.chars().all(is_usual) {
            return None;
        }
        let line = line.trim_end_matches(' ');
        if let Some((key, value)) = entry(line) {
            finish(&mut fields, list.take())?;
            if fields.contains_key(key) {
                return None;
            }
            match value {
                // The place of the key among the others.
                None => {
                    fields.insert(key.to_owned(), Value::Null);
                    list = Some((key, None, Vec::new()));
                }
                Some(text) => {
                    fields.insert(key.to_owned(), self::value(text)?);
                }
            }
            continue;
        }
        let (indent, text) = item(line)?;
        let (_, first, items) = list.as_mut()?;
        if *first.get_or_insert(indent) != indent {
            return None;
        }
        let value = value(text)?;
        if value.is_array() {
            return None;
        }
        items.push(value);
    }
    finish(&mut fields, list)?;
    Some(fields)
}

/// Put a list in the place of its key; None if it is empty.
fn finish(
    fields: &mut Map<String, Value>,
    list: Option<(&str, Option<usize>, Vec<Value>)>,
) -> Option<()> {
    if let Some((key, _, items)) = list {
        if items.is_empty() {
            return None;
        }
        *fields.get_mut(key)? = Value::Array(items);
    }
    Some(())
}

/// Whether YAML treats a character without special rules: no control character and no line end.
fn is_usual(character: char) -> bool {
    let is_control = character.is_control();
    let is_line_end = matches!(character, '\u{2028}' | '\u{2029}');
    !is_control && !is_line_end && !matches!(character, '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Split `key: value`; the value is None if the line ends after the colon.
fn entry(line: &str) -> Option<(&str, Option<&str>)> {
    let is_key = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let end = line.bytes().position(|byte| !is_key(byte))?;
    let rest = line[end..].strip_prefix(':')?;
    if end == 0 || line.starts_with('-') {
        return None;
    }
    if rest.is_empty() {
        return Some((&line[..end], None));
    }
    let value = rest.trim_start_matches(' ');
    let has_space = value.len() < rest.len();
    (has_space && starts_with_text(value)).then_some((&line[..end], Some(value)))
}

/// Split the indent and the value of an item of a list.
fn item(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches(' ');
    let value = rest.strip_prefix('-')?;
    let text = value.trim_start_matches(' ');
    let is_item = text.len() < value.len() && starts_with_text(text);
    is_item.then_some((line.len() - rest.len(), text))
}

fn starts_with_text(value: &str) -> bool {
    value
        .chars()
        .next()
        .is_some_and(|first| !first.is_whitespace())
}

/// Read a value on one line.
pub fn value(text: &str) -> Option<Value> {
    if !text.chars().all(is_usual) {
        return None;
    }
    match text.chars().next()? {
        '"' => quoted(text, '"').map(Value::from),
        '\'' => quoted(text, '\'').map(Value::from),
        '[' => list(text),
        '0'..='9' | '-' => number(text).or_else(|| is_date(text).then(|| text.into())),
        first if first.is_alphabetic() => plain(text),
        _ => None,
    }
}

/// The text between quotes, without a backslash or a quote in it.
fn quoted(text: &str, quote: char) -> Option<&str> {
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains([quote, '\\'])).then_some(inner)
}

/// A text without quotes: colons and number signs in it stand between other characters.
fn plain(text: &str) -> Option<Value> {
    if text.bytes().any(|byte| byte == b':' || byte == b'#') {
        let mut before = ' ';
        let mut rest = text.chars().peekable();
        while let Some(character) = rest.next() {
            let next = rest.peek().copied().unwrap_or(':');
            let is_apart = match character {
                ':' => next.is_whitespace() || next == ':',
                '#' => before.is_whitespace() || before == '#',
                _ => false,
            };
            if is_apart {
                return None;
            }
            before = character;
        }
    }
    word(text)
}

/// A boolean or text; None for other spellings that YAML may read as values.
fn word(text: &str) -> Option<Value> {
    match text {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ if ["true", "false", "null"]
            .iter()
            .any(|one| text.eq_ignore_ascii_case(one)) =>
        {
            None
        }
        _ => Some(text.into()),
    }
}

fn number(text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = |digits: &str, most: usize| {
        let is_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
        is_digits && (1..=most).contains(&digits.len())
    };
    let has_no_zeros = |digits: &str| digits == "0" || !digits.starts_with('0');
    if let Some((before, after)) = digits.split_once('.') {
        let is_decimal = is_plain(before, MOST_DECIMALS)
            && has_no_zeros(before)
            && is_plain(after, MOST_DECIMALS);
        let number: f64 = is_decimal.then(|| text.parse().ok())??;
        return serde_json::Number::from_f64(number).map(Value::Number);
    }
    if !is_plain(digits, MOST_DIGITS) || !has_no_zeros(digits) {
        return None;
    }
    text.parse::<i64>().ok().map(Value::from)
}

/// Whether a text is a date or a date-time in the form that is stored.
fn is_date(text: &str) -> bool {
    let matches = |text: &str, form: &str| {
        text.len() == form.len()
            && text
                .bytes()
                .zip(form.bytes())
                .all(|(byte, form)| match form {
                    b'0' => byte.is_ascii_digit(),
                    b'+' => byte == b'+' || byte == b'-',
                    _ => byte == form,
                })
    };
    let Some((date, rest)) = text.split_at_checked(10) else {
        return false;
    };
    if !matches(date, "0000-00-00") {
        return false;
    }
    if rest.is_empty() {
        return true;
    }
    let Some((time, zone)) = rest.split_at_checked(9) else {
        return false;
    };
    let zone = match zone.strip_prefix('.') {
        None => zone,
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|one: char| one.is_ascii_digit());
            if zone.len() == fraction.len() {
                return false;
            }
            zone
        }
    };
    matches(time, "T00:00:00") && (zone == "Z" || matches(zone, "+00:00"))
}

/// A list on one line: all in double quotes, or all words.
fn list(text: &str) -> Option<Value> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    if inner.is_empty() {
        return Some(Value::Array(Vec::new()));
    }
    if inner.starts_with('"') {
        let mut items = Vec::new();
        let mut rest = inner;
        loop {
            let (item, after) = rest.strip_prefix('"')?.split_once('"')?;
            if item.contains('\\') {
                return None;
            }
            items.push(item.into());
            if after.is_empty() {
                return Some(Value::Array(items));
            }
            let after = after.strip_prefix(',')?;
            rest = after.strip_prefix(' ').unwrap_or(after);
        }
    }
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"./_ -".contains(&byte);
    let words = inner.split(", ").map(|item| {
        let is_word = item.starts_with(|first: char| first.is_ascii_alphabetic())
            && item.bytes().all(is_word);
        if is_word {
            word(item.trim_end_matches(' '))
        } else {
            None
        }
    });
    words.collect::<Option<Vec<_>>>().map(Value::Array)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn most_front_matter_is_simple() {
        let lines = [
            "title: What's new, in v2",
            "tags:",
            "  - a",
            "date: 2026-04-18",
            "aliases: [b, c d]",
            "type: \"note\"",
            "done: false",
            "weight: 0.8",
        ];
        let fields = fields(&lines).map(Value::Object);
        let expected = json!({
            "title": "What's new, in v2", "tags": ["a"], "date": "2026-04-18",
            "aliases": ["b", "c d"], "type": "note", "done": false, "weight": 0.8,
        });
        assert_eq!(fields, Some(expected));
    }

    #[test]
    fn anything_else_is_left_to_the_parser() {
        for line in [
            "a: b: c",
            "a: b #c",
            "a: [a, 1]",
            "a: &x b",
            "a:b",
            "a: Null",
            "a: 007",
            "a: \"b\\n\"",
            "# a",
            "",
            "a: b:",
            "- b",
            "a: 2026-04-18 10:00:00",
            "a: {b: c}",
            "a b: c",
        ] {
            assert_eq!(fields(&[line]), None, "{line}");
        }
        assert_eq!(fields(&["a: b", "a: c"]), None);
        assert_eq!(fields(&["a:", "b: c"]), None);
    }
}
