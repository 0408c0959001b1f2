//! The values of scalars: YAML 1.2, with dates, exponents and long numbers as text.

use hedgerow_engine::calendar::iso_date_time;
use serde_json::{Number, Value};

use crate::text;

/// A number with more characters is text: nothing that it is stored in could hold it.
const LONGEST_NUMBER: usize = 40;

/// The value of a scalar without quotes and without a tag.
pub fn plain(text: &str) -> Value {
    match text.as_bytes().first() {
        None => return Value::Null,
        Some(b'~' | b'n' | b'N') if matches!(text, "~" | "null" | "Null" | "NULL") => {
            return Value::Null;
        }
        Some(b't' | b'T' | b'f' | b'F') => {
            return match text {
                "true" | "True" | "TRUE" => Value::Bool(true),
                "false" | "False" | "FALSE" => Value::Bool(false),
                _ => text.into(),
            };
        }
        Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'_') => {}
        Some(_) => return text.into(),
    }
    if let Some(value) = decimal(text) {
        return value;
    }
    if let Some(value) = whole(text) {
        return value;
    }
    Value::String(iso_time(text))
}

/// The value of a scalar with a core tag; None if the text is not of that type.
pub fn tagged(text: &str, tag: &str) -> Option<Value> {
    match tag {
        "str" | "!" => Some(text.into()),
        "null" => Some(Value::Null),
        "bool" => match text.to_lowercase().as_str() {
            "yes" | "y" | "true" | "on" => Some(Value::Bool(true)),
            "no" | "n" | "false" | "off" => Some(Value::Bool(false)),
            _ => None,
        },
        "int" => whole(text),
        "float" => decimal(text).or_else(|| {
            // A whole number as a decimal one.
            let number: f64 = text.replace('_', "").parse().ok()?;
            if text.to_lowercase().contains('e') || text::length(text) > LONGEST_NUMBER {
                return Some(text.into());
            }
            Number::from_f64(number).map(Value::Number)
        }),
        "timestamp" => Some(Value::String(iso_time(text))),
        _ => None,
    }
}

/// A number with a point, `.inf` or `.nan`; as text if it has an exponent or cannot be JSON.
fn decimal(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    match unsigned {
        ".inf" | ".Inf" | ".INF" => {
            let sign = if text.starts_with('-') { "-" } else { "" };
            return Some(Value::String(format!("{sign}inf")));
        }
        ".nan" | ".NaN" | ".NAN" if unsigned.len() == text.len() => return Some("nan".into()),
        _ => {}
    }
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let is_digits = |digits: &str| {
        digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_')
    };
    let (before, after) = match mantissa.split_once('.') {
        Some((before, after)) => (before, Some(after)),
        None => (mantissa, None),
    };
    let has_digits = mantissa.bytes().any(|byte| byte.is_ascii_digit());
    let is_number = has_digits
        && !before.starts_with('_')
        && is_digits(before)
        && after.is_none_or(is_digits)
        && (after.is_some() || exponent.is_some());
    if !is_number {
        return None;
    }
    if exponent.is_some() || text::length(text) > LONGEST_NUMBER {
        return Some(text.into());
    }
    let number: f64 = text.replace('_', "").parse().ok()?;
    Number::from_f64(number).map(Value::Number)
}

/// A whole number; as text if it has more than 64 bits.
fn whole(text: &str) -> Option<Value> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (base, digits) = match unsigned.get(..2) {
        Some("0b") => (2, &unsigned[2..]),
        Some("0o") => (8, &unsigned[2..]),
        Some("0x") => (16, &unsigned[2..]),
        _ => (10, unsigned),
    };
    if !digits.chars().all(|one| one == '_' || one.is_digit(base)) {
        return None;
    }
    if text::length(text) > LONGEST_NUMBER {
        return Some(text.into());
    }
    let digits = digits.replace('_', "");
    if digits.is_empty() {
        return None;
    }
    let written = decimal_digits(&digits, base);
    let number = format!("{sign}{written}");
    match number.parse::<i64>() {
        Ok(number) => Some(number.into()),
        Err(_) => Some(Value::String(number)),
    }
}

/// The digits in base 10 of a number of at most 40 digits in another base.
fn decimal_digits(digits: &str, base: u32) -> String {
    // The digits in base 10, the last one first.
    let mut number: Vec<u32> = vec![0];
    for digit in digits.chars().filter_map(|digit| digit.to_digit(base)) {
        let mut carry = digit;
        for place in &mut number {
            let value = *place * base + carry;
            *place = value % 10;
            carry = value / 10;
        }
        while carry > 0 {
            number.push(carry % 10);
            carry /= 10;
        }
    }
    while number.len() > 1 && number.last() == Some(&0) {
        number.pop();
    }
    let digits = number.iter().rev();
    digits
        .filter_map(|digit| char::from_digit(*digit, 10))
        .collect()
}

/// Return a date-time as ISO 8601; any other text unchanged. A date is in this form already.
fn iso_time(text: &str) -> String {
    iso_date_time(text).unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn plain_scalars_have_the_types_of_yaml() {
        for (text, value) in [
            ("12", json!(12)),
            ("-0", json!(0)),
            ("007", json!(7)),
            ("0o17", json!(15)),
            ("0x1F", json!(31)),
            ("1_000", json!(1000)),
            ("9223372036854775808", json!("9223372036854775808")),
            ("0xffffffffffffffffffff", json!("1208925819614629174706175")),
            ("1.", json!(1.0)),
            (".5", json!(0.5)),
            ("1.2.3", json!("1.2.3")),
            ("1e3", json!("1e3")),
            ("-.inf", json!("-inf")),
            ("yes", json!("yes")),
            ("True", json!(true)),
            ("", json!(null)),
            (
                "2026-4-8 9:30:00 +02:00",
                json!("2026-04-08T09:30:00+02:00"),
            ),
            (
                "2026-04-18T09:30:00+0200",
                json!("2026-04-18T09:30:00+0200"),
            ),
        ] {
            assert_eq!(plain(text), value, "{text}");
        }
    }
}
