//! The values of scalars: YAML 1.2, with dates and every number that would be written in another way as text.

use hedgerow_engine::calendar::iso_date_time;
use serde_json::{Number, Value};

use super::json::number_text;

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
        Some(b'0'..=b'9' | b'-') => {}
        Some(_) => return text.into(),
    }
    number(text).map_or_else(|| Value::String(iso_time(text)), Value::Number)
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
        "int" => text.parse::<i64>().ok().map(Value::from),
        "float" => Number::from_f64(text.parse().ok()?).map(Value::Number),
        "timestamp" => Some(Value::String(iso_time(text))),
        _ => None,
    }
}

/// A number that is written as it is here. None for any other, as `007`, `1.10`, `0x1F` and `1e3`: its text tells more.
fn number(text: &str) -> Option<Number> {
    let is_of_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    if !text.bytes().all(is_of_number) {
        return None;
    }
    let number = match text.parse::<i64>() {
        Ok(number) => Number::from(number),
        Err(_) => Number::from_f64(text.parse().ok()?)?,
    };
    (number_text(&number) == text).then_some(number)
}

/// Return a date-time as ISO 8601; any other text unchanged. A date is in this form already.
fn iso_time(text: &str) -> String {
    // Most times are those of memories, which are written in this form.
    let written = b"0000-00-00T00:00:00.000Z";
    let is_of = |(byte, form): (&u8, &u8)| byte == form || (*form == b'0' && byte.is_ascii_digit());
    if text.len() == written.len() && text.as_bytes().iter().zip(written).all(is_of) {
        return text.to_owned();
    }
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
            ("-5", json!(-5)),
            ("1.5", json!(1.5)),
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

    #[test]
    fn a_number_that_would_be_written_in_another_way_is_text() {
        for text in [
            "007",
            "-0",
            "+5",
            "0o17",
            "0x1F",
            "1_000",
            "1.",
            ".5",
            "1.10",
            "1.2.3",
            "1e3",
            "-.inf",
            ".nan",
            "9223372036854775808",
            "100000000000000000.0",
            "0.00001",
            "-",
            "2026-04-18",
        ] {
            assert_eq!(plain(text), json!(text));
        }
    }

    proptest::proptest! {
        #[test]
        fn numbers_are_read_as_they_are_written(whole: i64, decimal in -1e15..1e15_f64) {
            for number in [Number::from(whole), Number::from_f64(decimal).unwrap()] {
                proptest::prop_assert_eq!(plain(&number_text(&number)), Value::Number(number));
            }
        }
    }
}
