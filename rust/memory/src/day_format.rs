//! The days of daily notes, which the names of files state (spec/memory.md, "Daily notes").

use std::borrow::Cow;

use hedgerow_engine::calendar::{NameLength, days_of_numbers, month_at, weekday_at};
use jiff::civil::Date;
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::times::{StatedTime, stated_time};

/// The years that eight digits may begin with. Longer numbers are seldom days.
const YEARS: std::ops::RangeInclusive<&str> = "1900"..="2199";

/// The format of the names of daily notes, in the tokens of Moment.js: `DD-MM-YYYY`, `YYYY/MMMM/D`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayFormat {
    parts: Vec<Part>,
    /// The number of folders in the format.
    folders: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Year,
    /// With two digits, or else with one or two.
    Month {
        is_padded: bool,
    },
    MonthName(NameLength),
    Day {
        is_padded: bool,
    },
    /// `18th`.
    Ordinal,
    Weekday(NameLength),
    Text(String),
}

impl DayFormat {
    /// Parse a format. Fails with a sentence for a format without a year, a month and a day, and for other
    /// tokens, such as weeks.
    pub fn parse(format: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = format.trim().trim_matches('/');
        while let Some(first) = rest.chars().next() {
            let (part, length) = if first == '[' {
                let end = rest.find(']').ok_or("a bracket is not closed")?;
                (Part::Text(rest[1..end].to_owned()), end + 1)
            } else if first.is_ascii_alphabetic() {
                let length = rest.chars().take_while(|one| *one == first).count();
                let length = if rest.starts_with("Do") { 2 } else { length };
                (part_of(&rest[..length])?, length)
            } else {
                (Part::Text(first.to_string()), first.len_utf8())
            };
            parts.push(part);
            rest = &rest[length..];
        }
        let has = |wanted: fn(&Part) -> bool| parts.iter().any(wanted);
        let is_month = |part: &Part| matches!(part, Part::Month { .. } | Part::MonthName(_));
        let is_day = |part: &Part| matches!(part, Part::Day { .. } | Part::Ordinal);
        if !(has(|part| *part == Part::Year) && has(is_month) && has(is_day)) {
            return Err("it needs a year (YYYY), a month (MM) and a day (DD)".to_owned());
        }
        let slashes = |part: &Part| match part {
            Part::Text(text) => text.matches('/').count(),
            _ => 0,
        };
        let folders = parts.iter().map(slashes).sum();
        Ok(Self { parts, folders })
    }

    /// Return the day with which the name of a file begins in this format, together with as many folders as the
    /// format has. None for another name, and for a day that does not exist.
    pub fn day(&self, path: &str) -> Option<StatedTime> {
        let path = composed(path);
        let mut starts = path.rmatch_indices('/').map(|(at, _)| at + 1);
        let start = match starts.nth(self.folders) {
            Some(start) => start,
            None if path.matches('/').count() == self.folders => 0,
            None => return None,
        };
        let mut name = Name(&path[start..]);
        let (mut year, mut month, mut day) = (None, None, None);
        for part in &self.parts {
            let (field, value) = match part {
                Part::Year => (&mut year, name.digits(4, 4)?),
                Part::Month { is_padded } => {
                    (&mut month, name.digits(1 + usize::from(*is_padded), 2)?)
                }
                Part::MonthName(length) => (&mut month, name.name(month_at, *length)?),
                Part::Day { is_padded } => (&mut day, name.digits(1 + usize::from(*is_padded), 2)?),
                Part::Ordinal => (&mut day, name.ordinal()?),
                Part::Weekday(length) => {
                    name.name(weekday_at, *length)?;
                    continue;
                }
                Part::Text(text) => {
                    name.0 = name.0.strip_prefix(text.as_str())?;
                    continue;
                }
            };
            // A folder may repeat a part of the name, but not contradict it.
            if field.is_some_and(|known| known != value) {
                return None;
            }
            *field = Some(value);
        }
        let ends = !name.0.starts_with(char::is_alphanumeric);
        ends.then(|| stated_time(&format!("{:04}-{:02}-{:02}", year?, month?, day?)))?
    }
}

impl DayFormat {
    /// Return a day in this format, with English names.
    pub fn text(&self, day: Date) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::Year => format!("{:04}", day.year()),
            Part::Month { is_padded } => number(day.month(), *is_padded),
            Part::MonthName(NameLength::Wide) => day.strftime("%B").to_string(),
            Part::MonthName(NameLength::Short) => day.strftime("%b").to_string(),
            Part::Day { is_padded } => number(day.day(), *is_padded),
            Part::Ordinal => format!("{}{}", day.day(), ordinal_ending(day.day())),
            Part::Weekday(NameLength::Wide) => day.strftime("%A").to_string(),
            Part::Weekday(NameLength::Short) => day.strftime("%a").to_string(),
            Part::Text(text) => text.clone(),
        });
        parts.collect()
    }
}

fn number(value: i8, is_padded: bool) -> String {
    if is_padded {
        format!("{value:02}")
    } else {
        value.to_string()
    }
}

fn ordinal_ending(day: i8) -> &'static str {
    match day {
        1 | 21 | 31 => "st",
        2 | 22 => "nd",
        3 | 23 => "rd",
        _ => "th",
    }
}

fn part_of(token: &str) -> Result<Part, String> {
    Ok(match token {
        "YYYY" => Part::Year,
        "MM" | "M" => Part::Month {
            is_padded: token == "MM",
        },
        "MMMM" => Part::MonthName(NameLength::Wide),
        "MMM" => Part::MonthName(NameLength::Short),
        "DD" | "D" => Part::Day {
            is_padded: token == "DD",
        },
        "Do" => Part::Ordinal,
        "dddd" => Part::Weekday(NameLength::Wide),
        "ddd" => Part::Weekday(NameLength::Short),
        _ => {
            return Err(format!(
                "{token:?} is none of YYYY, MM, M, MMMM, MMM, DD, D, Do, dddd and ddd; letters that stand \
                 for themselves go in brackets, as in [day]"
            ));
        }
    })
}

/// The unread part of a name.
struct Name<'n>(&'n str);

impl Name<'_> {
    /// The number of the next digits, between `least` and `most` of them.
    fn digits(&mut self, least: usize, most: usize) -> Option<u32> {
        let digits = self.0.bytes().take(most);
        let count = digits.take_while(u8::is_ascii_digit).count();
        if count < least {
            return None;
        }
        let (number, rest) = self.0.split_at(count);
        self.0 = rest;
        number.parse().ok()
    }

    /// The number, from 1, of the name that comes next.
    fn name(&mut self, at: NameReader, length: NameLength) -> Option<u32> {
        let (number, rest) = at(self.0, length)?;
        self.0 = rest;
        Some(number.into())
    }

    /// The number before up to three letters, or a sign, such as `18th`, `1er` or `1º`.
    fn ordinal(&mut self) -> Option<u32> {
        let number = self.digits(1, 2)?;
        let is_ending = |c: &char| c.is_alphabetic() || matches!(c, 'º' | 'ª');
        let ending = self.0.chars().take_while(is_ending);
        let length: usize = ending.map(char::len_utf8).sum();
        let letters = self.0[..length].chars().count();
        self.0 = &self.0[length..];
        (1..=LONGEST_ENDING).contains(&letters).then_some(number)
    }
}

/// The number of the name that a text begins with, and the rest of the text.
type NameReader = fn(&str, NameLength) -> Option<(u8, &str)>;

/// The most letters of the ending of an ordinal number.
const LONGEST_ENDING: usize = 3;

/// A path whose letters are composed with their accents. Some systems store names decomposed.
fn composed(path: &str) -> Cow<'_, str> {
    if is_nfc(path) {
        Cow::Borrowed(path)
    } else {
        Cow::Owned(path.nfc().collect())
    }
}

/// The days with which a name may begin without a known format. Of `05-04-2026` there are two: the order
/// of day and month is unknown.
pub fn days_in_name(path: &str) -> Vec<StatedTime> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let digits = |from: usize, to: usize| {
        let part = name.get(from..to)?;
        part.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(part)
    };
    let ends = |at: usize| !name[at..].starts_with(|next: char| next.is_ascii_digit());
    let separated = |first: usize, second: usize| {
        let bytes = name.as_bytes();
        matches!(bytes[first], b'-' | b'_' | b'.') && bytes[first] == bytes[second]
    };
    let day = |year: &str, month: &str, day: &str| stated_time(&format!("{year}-{month}-{day}"));
    if let (Some(year), Some(month), Some(last)) = (digits(0, 4), digits(5, 7), digits(8, 10)) {
        let is_day = separated(4, 7) && ends(10);
        return is_day
            .then(|| day(year, month, last))
            .flatten()
            .into_iter()
            .collect();
    }
    if let (Some(first), Some(second), Some(year)) = (digits(0, 2), digits(3, 5), digits(6, 10)) {
        if !(separated(2, 5) && ends(10)) {
            return Vec::new();
        }
        let number = |digits: &str| digits.parse().unwrap_or_default();
        let days = days_of_numbers(number(first), number(second), number(year));
        return days
            .iter()
            .filter_map(|day| stated_time(&day.to_string()))
            .collect();
    }
    match (digits(0, 4), digits(4, 6), digits(6, 8)) {
        (Some(year), Some(month), Some(last)) if YEARS.contains(&year) && ends(8) => {
            day(year, month, last).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// The day of a name by a format, or else the only day with which the name may begin.
pub fn day_of_name(path: &str, format: Option<&DayFormat>) -> Option<StatedTime> {
    let by_format = format.and_then(|format| format.day(path));
    by_format.or_else(|| match days_in_name(path).as_slice() {
        [only] => Some(*only),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn iso(stated: StatedTime) -> String {
        stated.iso_day()
    }

    #[test]
    fn names_in_a_format() {
        for (format, path, expected) in [
            ("DD-MM-YYYY", "18-04-2026.md", Some("2026-04-18")),
            ("DD-MM-YYYY", "daily/05-04-2026 walk.md", Some("2026-04-05")),
            ("MM-DD-YYYY", "05-04-2026.md", Some("2026-05-04")),
            ("DD-MM-YYYY", "32-04-2026.md", None),
            ("DD-MM-YYYY", "18-04-20261.md", None),
            ("DD-MM-YYYY", "18-04-2026a.md", None),
            ("DD-MM-YYYY", "8-4-2026.md", None),
            ("D.M.YYYY", "8.4.2026.md", Some("2026-04-08")),
            ("D.M.YYYY", "18.12.2026.md", Some("2026-12-18")),
            ("YYYYMMDD", "20260418.md", Some("2026-04-18")),
            ("YYYY_MM_DD", "journals/2026_04_18.md", Some("2026-04-18")),
            ("YYYY-DD-MM", "2026-05-04.md", Some("2026-04-05")),
            (
                "YYYY/MM/YYYY-MM-DD",
                "log/2026/04/2026-04-18.md",
                Some("2026-04-18"),
            ),
            ("YYYY/MM/YYYY-MM-DD", "2026/05/2026-04-18.md", None),
            ("YYYY/MM/DD", "2026/04/18.md", Some("2026-04-18")),
            ("YYYY/MM/DD", "04/18.md", None),
            ("YYYY/MM/DD", "18.md", None),
            (
                "dddd, MMMM Do YYYY",
                "Saturday, April 18th 2026.md",
                Some("2026-04-18"),
            ),
            (
                "dddd D MMMM YYYY",
                "samedi 18 avril 2026.md",
                Some("2026-04-18"),
            ),
            ("D. MMMM YYYY", "5. Ma\u{308}rz 2026.md", Some("2026-03-05")),
            ("YYYY年M月D日", "x.md", None),
            ("dddd, MMMM Do YYYY", "someday, april 18th 2026.md", None),
            ("ddd D MMM YYYY", "sat 1 may 2026.md", Some("2026-05-01")),
            ("[day] DD.MM.YYYY", "day 18.04.2026.md", Some("2026-04-18")),
            ("[été] DD.MM.YYYY", "été 18.04.2026.md", Some("2026-04-18")),
            ("DD-MM-YYYY", "é8-04-2026.md", None),
            ("MMMM D YYYY", "é", None),
        ] {
            let format = DayFormat::parse(format).unwrap();
            assert_eq!(format.day(path).map(iso).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_format_has_a_year_a_month_and_a_day_and_nothing_else() {
        for (format, problem) in [
            ("", "it needs a year"),
            ("DD-MM", "it needs a year"),
            ("YYYY-MM", "it needs a year"),
            ("YYYY-[MM]-DD", "it needs a year"),
            ("gggg-[W]ww", "\"gggg\" is none of YYYY"),
            ("YYYY-MM-DD HH", "\"HH\" is none of YYYY"),
            ("YY-MM-DD", "\"YY\" is none of YYYY"),
            ("YYYY-MM-DD [x", "a bracket is not closed"),
        ] {
            let error = DayFormat::parse(format).unwrap_err();
            assert!(error.starts_with(problem), "{format}: {error}");
        }
    }

    #[test]
    fn names_without_a_format() {
        for (path, expected) in [
            ("notes/2026-04-18-slugs.md", &["2026-04-18"][..]),
            ("2026_04_18.md", &["2026-04-18"]),
            ("2026.04.18.md", &["2026-04-18"]),
            ("20260418.md", &["2026-04-18"]),
            ("20260418-slugs.md", &["2026-04-18"]),
            ("18-04-2026.md", &["2026-04-18"]),
            ("04-18-2026 walk.md", &["2026-04-18"]),
            ("18_04_2026.md", &["2026-04-18"]),
            ("05-04-2026.md", &["2026-04-05", "2026-05-04"]),
            ("05-05-2026.md", &["2026-05-05"]),
            ("31-31-2026.md", &[]),
            ("18-04_2026.md", &[]),
            ("18-04-20261.md", &[]),
            ("2026-04_18.md", &[]),
            ("2026-04-181.md", &[]),
            ("202604181.md", &[]),
            ("20261318.md", &[]),
            ("10100101.md", &[]),
            ("é2026-04-18", &[]),
            ("2026-04-1é", &[]),
            ("", &[]),
        ] {
            let found: Vec<String> = days_in_name(path).into_iter().map(iso).collect();
            assert_eq!(found, expected, "{path}");
            let only = day_of_name(path, None).map(iso);
            assert_eq!(only.is_some(), expected.len() == 1, "{path}");
        }
        let format = DayFormat::parse("MM-DD-YYYY").unwrap();
        let found = day_of_name("05-04-2026.md", Some(&format)).map(iso);
        assert_eq!(found.as_deref(), Some("2026-05-04"));
    }

    #[test]
    fn a_day_is_written_as_it_is_read() {
        let april = stated_time("2026-04-18").unwrap();
        for (format, expected) in [
            ("dddd, DD.MM.YYYY", "Saturday, 18.04.2026"),
            ("ddd, D-M-YYYY", "Sat, 18-4-2026"),
            ("MMM Do, YYYY", "Apr 18th, 2026"),
            ("Do MMMM YYYY", "18th April 2026"),
            ("YYYY年MM月DD日", "2026年04月18日"),
            ("[day] YYYYMMDD", "day 20260418"),
        ] {
            let format = DayFormat::parse(format).unwrap();
            assert_eq!(format.text(april.date()), expected);
            assert_eq!(format.day(expected), Some(april), "{expected}");
        }
        let format = DayFormat::parse("YYYY MM Do").unwrap();
        for (day, expected) in [
            (1, "1st"),
            (2, "2nd"),
            (3, "3rd"),
            (11, "11th"),
            (22, "22nd"),
        ] {
            let text = format.text(Date::new(2026, 4, day).unwrap());
            assert_eq!(text, format!("2026 04 {expected}"));
        }
    }

    proptest! {
        #[test]
        fn no_name_panics(path in "\\PC{0,30}|[0-9/._\\-éA]{0,20}", format in "[YMDdo\\[\\]/ .é-]{0,14}") {
            days_in_name(&path);
            if let Ok(format) = DayFormat::parse(&format) {
                format.day(&path);
            }
        }
    }
}
