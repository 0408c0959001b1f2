//! Times in front matter and in the names of files (spec/memory.md, "Time").

use hedgerow_engine::calendar::{self, Precision, Time};
use jiff::civil::Date;
use serde_json::Value;

use crate::text::trimmed;

/// A time of front matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatedTime {
    /// The time; of a date alone, its midnight in UTC.
    pub time: Time,
    /// Whether it is a date alone.
    pub is_day: bool,
}

impl StatedTime {
    /// The day, since 1970: of a date alone that day, of a time its day in a zone some seconds ahead of UTC.
    pub fn day(self, offset: i32) -> i32 {
        let zone = if self.is_day {
            self.time.offset
        } else {
            offset
        };
        Time {
            offset: zone,
            ..self.time
        }
        .day()
    }

    /// The date, in the zone of the time.
    pub fn date(self) -> Date {
        self.time.date()
    }

    /// The date in ISO 8601, in the zone of the time.
    pub fn iso_day(self) -> String {
        self.date().to_string()
    }
}

/// The time of a text that is a date or a date-time, in UTC if it has no zone. None for anything else.
pub fn stated_time(text: &str) -> Option<StatedTime> {
    let stated = calendar::read(text)?;
    Some(StatedTime {
        time: stated.time(),
        is_day: stated.precision() != Precision::Time,
    })
}

/// The time of a value, which may also be a link to the note of a day. None for anything else.
pub fn parse_time(value: &Value) -> Option<StatedTime> {
    stated_time(&unlinked(value)?)
}

/// The time that a value is as an end: a date ends with its day, a month or a year with its last day. None for
/// anything else.
pub fn parse_end(value: &Value) -> Option<Time> {
    calendar::read(&unlinked(value)?).map(|stated| stated.end())
}

/// The days of an age such as `30d` or `2w`. None for anything else.
pub fn parse_age(value: &Value) -> Option<i64> {
    calendar::age(value.as_str()?)
}

/// The text of a value; of a link to a note, the name of the note.
fn unlinked(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text,
        // YAML reads an unquoted `[[name]]` as a list in a list, whose items are JSON here.
        Value::Array(items) => match items.as_slice() {
            [Value::String(item)] => item.trim_matches(['[', ']', '"', ' ']),
            _ => return None,
        },
        _ => return None,
    };
    let text = trimmed(text);
    let name = linked_name(text).map(|name| name.rsplit('/').next().unwrap_or(name));
    Some(trimmed(name.unwrap_or(text)).to_owned())
}

/// The name of a text that is a `[[name]]`, `[[name|alias]]` or `[[name#heading]]`.
fn linked_name(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("[[")?.strip_suffix("]]")?;
    let end = inner.find(['|', '#']).unwrap_or(inner.len());
    (!inner.contains(['[', ']'])).then(|| &inner[..end])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_link_to_the_note_of_a_day_is_that_day() {
        for value in [
            json!(" 2026-03-05 "),
            json!("2026/3/5"),
            json!("[[2026-03-05]]"),
            json!("[[days/2026-03-05|Thursday]]"),
            json!(["[\"2026-03-05\"]"]),
        ] {
            let stated = parse_time(&value).unwrap();
            assert!(stated.is_day, "{value}");
            assert_eq!(stated.iso_day(), "2026-03-05", "{value}");
        }
        for value in [
            json!(""),
            json!("soon"),
            json!(2026),
            json!(["2026-03-05", "x"]),
            json!("[[a]]"),
        ] {
            assert_eq!(parse_time(&value), None, "{value}");
        }
    }

    #[test]
    fn the_day_of_a_time_is_that_of_a_zone() {
        let evening = stated_time("2026-03-05T22:30Z").unwrap();
        assert_eq!(evening.day(7200) - evening.day(0), 1);
        let date = stated_time("2026-03-05").unwrap();
        assert_eq!(date.day(-7200), date.day(0));
    }
}
