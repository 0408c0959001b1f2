//! Times in front matter: ISO 8601 dates and date-times (spec/memory.md, "Time").

use std::cmp::Ordering;

use serde_json::{Map, Value};

use crate::day_format::day_of_name;
use crate::text::trimmed;

/// The fields that say when a memory is from; the first that holds a time counts.
pub const TIME_FIELDS: [&str; 4] = ["date", "created_at", "created", "updated_at"];

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// The longest difference from UTC of a zone, in minutes, excluded.
const DAY_MINUTES: i32 = 24 * 60;

/// A moment, and the zone that it is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    /// Microseconds since 1970 in UTC.
    pub micros: i64,
    /// The minutes that the zone is ahead of UTC.
    pub offset: i32,
}

/// A time of front matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatedTime {
    /// The time; of a date alone, its midnight in UTC.
    pub time: Time,
    /// Whether it is a date alone.
    pub is_day: bool,
}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> Ordering {
        self.micros
            .cmp(&other.micros)
            .then(self.offset.cmp(&other.offset))
    }
}

impl Time {
    /// Return the time in ISO 8601, with microseconds unless they are zero.
    pub fn to_iso(self) -> String {
        let local = self.micros + i64::from(self.offset) * 60 * SECOND;
        let (days, rest) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let (year, month, day) = civil(days);
        let (seconds, micros) = (rest / SECOND, rest % SECOND);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let fraction = match micros {
            0 => String::new(),
            _ => format!(".{micros:06}"),
        };
        let sign = if self.offset < 0 { '-' } else { '+' };
        let (hours, minutes) = (self.offset.abs() / 60, self.offset.abs() % 60);
        format!(
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}\
             {sign}{hours:02}:{minutes:02}"
        )
    }

    /// The time some days later; None after the year 9999.
    pub fn after_days(self, days: i64) -> Option<Self> {
        let micros = days.checked_mul(DAY)?.checked_add(self.micros)?;
        let local = micros + i64::from(self.offset) * 60 * SECOND;
        (local < days_of(10_000, 1, 1) * DAY).then_some(Self { micros, ..self })
    }
}

/// The time that a value is: a date or a date-time, in UTC if it has no zone. None for anything else.
///
/// A date may also be written with slashes or full stops, as a month, which means its first day, or as a
/// link to the note of a day.
pub fn parse_time(value: &Value) -> Option<StatedTime> {
    iso_time(&plain(&unlinked(value)?))
}

/// The time that a value is as an end: a date ends with its day, a month with its last day. None for
/// anything else.
pub fn parse_end(value: &Value) -> Option<Time> {
    let text = unlinked(value)?;
    let StatedTime { time, is_day } = iso_time(&plain(&text))?;
    if !is_day {
        return Some(time);
    }
    let next = match month(&text) {
        Some(_) => {
            let (year, month, _) = civil(time.micros.div_euclid(DAY));
            let (year, month) = (year + month / 12, month % 12 + 1);
            days_of(year, month, 1) * DAY
        }
        None => time.micros + DAY,
    };
    Some(Time {
        micros: next - 1,
        ..time
    })
}

/// The days of an age such as `30d` or `2w`. None for anything else.
pub fn parse_age(value: &Value) -> Option<i64> {
    let text = trimmed(value.as_str()?);
    let (number, days) = match text.strip_suffix('d') {
        Some(number) => (number, 1),
        None => (text.strip_suffix('w')?, 7),
    };
    let is_number = (1..=5).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    let number: i64 = number.parse().ok().filter(|_| is_number)?;
    Some(number * days)
}

/// When a memory is from: by its front matter, else by the day its name begins with.
pub fn memory_time(path: &str, metadata: &Map<String, Value>) -> Option<StatedTime> {
    event_time(path, metadata, &TIME_FIELDS)
}

/// The time under the first of the keys that holds one, else the day with which the name begins.
pub fn event_time(path: &str, metadata: &Map<String, Value>, keys: &[&str]) -> Option<StatedTime> {
    let mut stated = keys.iter().filter_map(|key| metadata.get(*key));
    stated
        .find_map(parse_time)
        .or_else(|| day_of_name(path, None))
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

/// Return a text that is a date in another form as ISO 8601; any other text unchanged.
fn plain(text: &str) -> String {
    if let Some((year, month)) = month(text) {
        return format!("{year}-{month:0>2}-01");
    }
    day_in_another_form(text).unwrap_or_else(|| text.to_owned())
}

/// The year and month of a text such as `2026-03` or `2026/3`.
fn month(text: &str) -> Option<(&str, &str)> {
    let (year, month) = text.split_once(['-', '/'])?;
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_month = year.len() == 4 && matches!(month.len(), 1 | 2);
    (is_month && digits(year) && digits(month)).then_some((year, month))
}

/// `2026/3/5` or `2026.03.05 10:00` with dashes and two digits.
fn day_in_another_form(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let digits = |from: usize, most: usize| {
        let count = bytes.iter().skip(from).take(most);
        count.take_while(|byte| byte.is_ascii_digit()).count()
    };
    let separator = *bytes.get(4)?;
    if digits(0, 4) != 4 || !matches!(separator, b'-' | b'/' | b'.' | b'_') {
        return None;
    }
    let month = digits(5, 2);
    let day_at = 5 + month + 1;
    if month == 0 || bytes.get(day_at - 1) != Some(&separator) {
        return None;
    }
    let day = digits(day_at, 2);
    let end = day_at + day;
    if day == 0 || digits(end, 1) == 1 {
        return None;
    }
    let (month, day) = (&text[5..day_at - 1], &text[day_at..end]);
    Some(format!(
        "{}-{month:0>2}-{day:0>2}{}",
        &text[..4],
        &text[end..]
    ))
}

/// Return the time of a text in ISO 8601; None if the time does not exist.
pub fn iso_time(text: &str) -> Option<StatedTime> {
    let mut rest = Digits(trimmed(text).as_bytes());
    let year = rest.number(4)?;
    let month = rest.after(b"-")?.number(2)?;
    let day = rest.after(b"-")?.number(2)?;
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    let length = days_of(year + month / 12, month % 12 + 1, 1) - days_of(year, month, 1);
    if !(1..=length).contains(&day) {
        return None;
    }
    let days = days_of(year, month, day);
    if rest.0.is_empty() {
        let time = Time {
            micros: days * DAY,
            offset: 0,
        };
        return Some(StatedTime { time, is_day: true });
    }
    let clock = rest.after(b"Tt ")?.clock()?;
    let offset = rest.zone()?;
    let micros = days * DAY + clock - i64::from(offset) * 60 * SECOND;
    Some(StatedTime {
        time: Time { micros, offset },
        is_day: false,
    })
}

/// A text being read.
struct Digits<'t>(&'t [u8]);

impl Digits<'_> {
    /// The number of the next digits, of which there must be as many as `count`.
    fn number(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        digits.iter().try_fold(0, |number, digit| {
            let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
            Some(number * 10 + digit)
        })
    }

    /// Step over one of some characters; None if the next is another.
    fn after(&mut self, characters: &[u8]) -> Option<&mut Self> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        characters.contains(first).then_some(self)
    }

    /// The microseconds since midnight of `HH:MM`, `HH:MM:SS` or `HH:MM:SS.ffffff`.
    fn clock(&mut self) -> Option<i64> {
        let hour = self.number(2)?;
        let minute = self.after(b":")?.number(2)?;
        let (mut second, mut micros) = (0, 0);
        if self.0.first() == Some(&b':') {
            second = self.after(b":")?.number(2)?;
            if matches!(self.0.first(), Some(b'.' | b',')) {
                micros = self.after(b".,")?.fraction()?;
            }
        }
        let exists = hour < 24 && minute < 60 && second < 60;
        exists.then_some(((hour * 60 + minute) * 60 + second) * SECOND + micros)
    }

    /// The microseconds of one to nine digits after the point.
    fn fraction(&mut self) -> Option<i64> {
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit());
        let count = digits.count();
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        let micros = digits.iter().map(|digit| i64::from(digit - b'0'));
        let micros = micros.chain(std::iter::repeat(0)).take(6);
        (1..=9)
            .contains(&count)
            .then(|| micros.fold(0, |number, digit| number * 10 + digit))
    }

    /// The minutes of the zone at the end, 0 without one.
    fn zone(&mut self) -> Option<i32> {
        if let [b' ', rest @ ..] = self.0
            && !rest.is_empty()
        {
            self.0 = rest;
        }
        let sign = match self.0 {
            [] | [b'Z' | b'z'] => return Some(0),
            [b'+', ..] => 1,
            [b'-', ..] => -1,
            _ => return None,
        };
        let hours = self.after(b"+-")?.number(2)?;
        if self.0.len() == 3 {
            self.after(b":")?;
        }
        let minutes = self.number(2)?;
        let offset = i32::try_from(hours * 60 + minutes).ok()?;
        (self.0.is_empty() && offset < DAY_MINUTES).then_some(sign * offset)
    }
}

/// The days since 1970 of a date in the Gregorian calendar.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is the last of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a number of days since 1970.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn iso(value: &Value) -> Option<String> {
        parse_time(value).map(|stated| stated.time.to_iso())
    }

    #[test]
    fn dates_in_every_form() {
        for given in [
            json!("2026-03-05"),
            json!(" 2026-03-05 "),
            json!("2026/3/5"),
            json!("2026.03.5"),
            json!("2026_3_05"),
            json!("[[2026-03-05]]"),
            json!("[[days/2026-03-05|Thursday]]"),
            json!(["[\"2026-03-05\"]"]),
        ] {
            let stated = parse_time(&given).unwrap();
            assert!(stated.is_day, "{given}");
            assert_eq!(stated.time.to_iso(), "2026-03-05T00:00:00+00:00", "{given}");
        }
        for (given, expected) in [
            ("2026-03", "2026-03-01T00:00:00+00:00"),
            ("2026-03-05T10:20", "2026-03-05T10:20:00+00:00"),
            (
                "2026-03-05 10:20:30.5 Z",
                "2026-03-05T10:20:30.500000+00:00",
            ),
            (
                "2026/3/5t10:20:30,1234567+02:30",
                "2026-03-05T10:20:30.123456+02:30",
            ),
            ("0001-01-01T00:00-2359", "0001-01-01T00:00:00-23:59"),
        ] {
            assert_eq!(iso(&json!(given)).as_deref(), Some(expected), "{given}");
        }
        for given in [
            "",
            "soon",
            "2026",
            "2026-3-32",
            "2026-02-29",
            "2026-13",
            "0000-01-01",
            "2026-03-05T24:00",
            "2026-03-05T10",
            "2026-03-05T10:20+24:00",
            "2026-03-05 ",
            "2026-03-051",
            "2026-3/5",
            "2026-03-05T10:20:30.",
            "2026-03-05T10:20  Z",
        ] {
            let found = iso(&json!(given));
            assert_eq!(
                found.is_some(),
                given == "2026-03-05 ",
                "{given}: {found:?}"
            );
        }
    }

    #[test]
    fn ends_of_days_and_months() {
        for (given, expected) in [
            ("2026-03-05", "2026-03-05T23:59:59.999999+00:00"),
            ("2026-02", "2026-02-28T23:59:59.999999+00:00"),
            ("2024/2", "2024-02-29T23:59:59.999999+00:00"),
            ("9999-12", "9999-12-31T23:59:59.999999+00:00"),
            ("2026-03-05T10:00+01:00", "2026-03-05T10:00:00+01:00"),
        ] {
            let end = parse_end(&json!(given)).map(Time::to_iso);
            assert_eq!(end.as_deref(), Some(expected), "{given}");
        }
    }

    #[test]
    fn ages_are_days_or_weeks() {
        let ages = ["30d", " 2w ", "99999w", "100000d", "d", "-1d", "3m", "1 d"];
        let days = ages.map(|age| parse_age(&json!(age)));
        assert_eq!(
            days,
            [
                Some(30),
                Some(14),
                Some(699_993),
                None,
                None,
                None,
                None,
                None
            ]
        );
        let last = parse_time(&json!("9999-12-31")).unwrap().time;
        assert_eq!(last.after_days(1), None);
    }

    proptest! {
        #[test]
        fn every_day_has_a_date(days in -719_162_i64..2_932_897) {
            let (year, month, day) = civil(days);
            prop_assert_eq!(days_of(year, month, day), days);
            let (next_year, next_month, next_day) = civil(days + 1);
            let follows = (next_year, next_month, next_day) == (year, month, day + 1)
                || next_day == 1 && (next_year, next_month) == (year + month / 12, month % 12 + 1);
            prop_assert!(follows);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,30}|[0-9/._\\-T:+Z ]{0,30}") {
            let value = Value::from(text);
            parse_time(&value);
            parse_end(&value);
            parse_age(&value);
        }

        #[test]
        fn a_time_in_iso_is_that_time(micros in -62_135_596_800_000_000_i64..253_402_300_800_000_000, offset in -1439..1440) {
            let time = Time { micros, offset };
            let local = micros + i64::from(offset) * 60 * SECOND;
            prop_assume!((-62_135_596_800_000_000..253_402_300_800_000_000).contains(&local));
            let read = parse_time(&Value::from(time.to_iso())).unwrap().time;
            prop_assert_eq!(read, time);
        }
    }
}
