//! Dates, times and ages as people write them (spec/dates.md, "Dates").

use std::cmp::Ordering;

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time as Clock};
use jiff::fmt::temporal::Pieces;

use super::days::{EPOCH, day_of, seconds_of};
use crate::text::whitespace::trim;

/// Seconds since 1970 in UTC, and nanoseconds.
pub type Instant = (i64, u32);

const MICROS: i64 = 1_000_000;
const DAY_SECONDS: i32 = 86_400;
/// The most digits of an age. More days than these lie outside the calendar.
const AGE_DIGITS: usize = 5;

/// The part of a date that a text states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// A year.
    Year,
    /// A month of a year.
    Month,
    /// A day.
    Day,
    /// A day with a time.
    Time,
}

/// A date as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stated {
    /// The local time; of a day, a month or a year, its first moment.
    at: DateTime,
    /// The seconds that the zone is ahead of UTC, 0 without one.
    offset: i32,
    precision: Precision,
}

/// A moment, and the zone that it is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    /// Microseconds since 1970 in UTC.
    pub micros: i64,
    /// The seconds that the zone is ahead of UTC.
    pub offset: i32,
}

impl Stated {
    /// The date, in its own zone.
    pub fn date(&self) -> Date {
        self.at.date()
    }

    /// The part of the date that is stated.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The first moment, in nanoseconds.
    pub fn instant(&self) -> Instant {
        let nanos = self.at.subsec_nanosecond().unsigned_abs();
        (seconds_of(self.at) - i64::from(self.offset), nanos)
    }

    /// The first moment.
    pub fn time(&self) -> Time {
        let (seconds, nanos) = self.instant();
        Time {
            micros: seconds * MICROS + i64::from(nanos / 1_000),
            offset: self.offset,
        }
    }

    /// The last microsecond of a day, a month or a year; of a time, that time.
    pub fn end(&self) -> Time {
        let date = self.date();
        let last = match self.precision {
            Precision::Year => date.last_of_year(),
            Precision::Month => date.last_of_month(),
            Precision::Day => date,
            Precision::Time => return self.time(),
        };
        let next = (i64::from(day_of(last)) + 1) * i64::from(DAY_SECONDS);
        Time {
            micros: next * MICROS - 1,
            offset: 0,
        }
    }
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
    /// The local time. Outside the calendar, its first or last moment.
    fn local(self) -> DateTime {
        let local = self.micros + i64::from(self.offset) * MICROS;
        let epoch = EPOCH.to_datetime(Clock::midnight());
        epoch.saturating_add(SignedDuration::from_micros(local))
    }

    /// The date in the zone of the time.
    pub fn date(self) -> Date {
        self.local().date()
    }

    /// The day in the zone of the time, since 1970.
    pub fn day(self) -> i32 {
        day_of(self.date())
    }

    /// Return the time in ISO 8601, with microseconds unless they are zero.
    pub fn to_iso(self) -> String {
        let local = self.local();
        let micros = local.subsec_nanosecond() / 1_000;
        let fraction = match micros {
            0 => String::new(),
            _ => format!(".{micros:06}"),
        };
        let sign = if self.offset < 0 { '-' } else { '+' };
        let ahead = self.offset.abs();
        let seconds = match ahead % 60 {
            0 => String::new(),
            seconds => format!(":{seconds:02}"),
        };
        format!(
            "{}T{:02}:{:02}:{:02}{fraction}{sign}{:02}:{:02}{seconds}",
            local.date(),
            local.hour(),
            local.minute(),
            local.second(),
            ahead / 3600,
            ahead / 60 % 60,
        )
    }

    /// The time some days later; None after the year 9999.
    pub fn after_days(self, days: i64) -> Option<Self> {
        let micros = days
            .checked_mul(i64::from(DAY_SECONDS) * MICROS)?
            .checked_add(self.micros)?;
        let later = Self { micros, ..self };
        let local = micros.checked_add(i64::from(self.offset) * MICROS)?;
        let last = DateTime::MAX.duration_since(EPOCH.to_datetime(Clock::midnight()));
        (SignedDuration::from_micros(local) <= last).then_some(later)
    }
}

/// The date that a text is, from end to end. None for anything else, and for a date that does not exist.
///
/// `2024`, `2024-03`, `2024-3-5`, `2024/03/05`, `2024-03-05T14:30`, `2024-03-05 14:30:00.5 +02:00`.
pub fn read(text: &str) -> Option<Stated> {
    match parts(text)? {
        (date, None) => Some(date),
        (date, Some(time)) => match Stated::of_time(trim(text)) {
            Some(stated) => Some(stated),
            None => Stated::of_time(&iso(date, time)?),
        },
    }
}

/// A text that is a day with a time, in ISO 8601 with a `T`. None for anything else.
pub fn iso_date_time(text: &str) -> Option<String> {
    let (date, time) = parts(text)?;
    let iso = iso(date, time?)?;
    Stated::of_time(&iso).map(|_| iso)
}

/// A date and a time such as `9:30`, `14:30:00.5+02:00` or `14:30 Z` in ISO 8601. None for a text that is too long.
fn iso(date: Stated, time: &str) -> Option<String> {
    let time = time.trim_start_matches(' ');
    let zone = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = (time[..zone].trim_end_matches(' '), &time[zone..]);
    let hour = clock.find(':').unwrap_or(clock.len());
    if clock.len() > hour + LONGEST_AFTER_HOUR || zone.len() > LONGEST_ZONE {
        return None;
    }
    let padding = if hour == 1 { "0" } else { "" };
    Some(format!("{}T{padding}{clock}{zone}", date.date()))
}

/// The date that a text begins with, and the text of the time after it.
fn parts(text: &str) -> Option<(Stated, Option<&str>)> {
    let text = trim(text);
    let bytes = text.as_bytes();
    let (year, _) = number(bytes, 4, 4)?;
    let Some(separator) = bytes.get(4) else {
        return Some((Stated::of(year, 1, 1, Precision::Year)?, None));
    };
    if !matches!(separator, b'-' | b'/' | b'.' | b'_') {
        return None;
    }
    let (month, digits) = number(&bytes[5..], 1, 2)?;
    let at = 5 + digits;
    if at == bytes.len() {
        let month = Stated::of(year, month, 1, Precision::Month)?;
        return matches!(separator, b'-' | b'/').then_some((month, None));
    }
    if bytes[at] != *separator {
        return None;
    }
    let (day, digits) = number(&bytes[at + 1..], 1, 2)?;
    let stated = Stated::of(year, month, day, Precision::Day)?;
    match text.get(at + 1 + digits..)? {
        "" => Some((stated, None)),
        rest => Some((stated, Some(rest.strip_prefix(['T', 't', ' '])?))),
    }
}

impl Stated {
    fn of(year: i16, month: i16, day: i16, precision: Precision) -> Option<Self> {
        let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
        let date = Date::new(year, month, day).ok().filter(|_| year > 0)?;
        Some(Self {
            at: date.to_datetime(Clock::midnight()),
            offset: 0,
            precision,
        })
    }

    /// The day and the time of a text in ISO 8601.
    fn of_time(iso: &str) -> Option<Self> {
        let pieces = Pieces::parse(iso).ok()?;
        let offset = pieces
            .offset()
            .map_or(0, |offset| offset.to_numeric_offset().seconds());
        if pieces.time_zone_annotation().is_some() || offset.abs() >= DAY_SECONDS {
            return None;
        }
        Some(Self {
            at: pieces.date().to_datetime(pieces.time()?),
            offset,
            precision: Precision::Time,
        })
    }
}

/// The longest text after an hour: `:30:00.123456789`.
const LONGEST_AFTER_HOUR: usize = 16;
/// The longest zone: `+02:00:30`.
const LONGEST_ZONE: usize = 9;

/// The number at the beginning of a text, of `least` to `most` digits, and the count of these. None if another digit
/// follows.
fn number(bytes: &[u8], least: usize, most: usize) -> Option<(i16, usize)> {
    let digits = bytes.iter().take(most + 1);
    let count = digits.take_while(|byte| byte.is_ascii_digit()).count();
    if !(least..=most).contains(&count) {
        return None;
    }
    let digits = bytes.iter().take(count);
    let number = digits.fold(0, |number, digit| number * 10 + i16::from(digit - b'0'));
    Some((number, count))
}

/// The first moment of the date that a text is; None for anything that [`read`] does not read.
pub fn instant(text: &str) -> Option<Instant> {
    read(text).map(|stated| stated.instant())
}

/// The day that a text begins with, in days since 1970, whatever time and offset follow. None for anything that does
/// not begin with `2024-03-05`. Quick, as it is read for each chunk.
pub fn day_at(text: &str) -> Option<i32> {
    let bytes = text.as_bytes();
    if bytes.get(4) != Some(&b'-') || bytes.get(7) != Some(&b'-') {
        return None;
    }
    let (year, _) = number(bytes, 4, 4)?;
    let (month, _) = number(&bytes[5..], 2, 2)?;
    let (day, _) = number(&bytes[8..], 2, 2)?;
    Stated::of(year, month, day, Precision::Day).map(|stated| day_of(stated.date()))
}

/// The days that two numbers and a year may be: `18` and `4`, in one order of day and month, `5` and `4` in both.
pub fn days_of_numbers(first: i16, second: i16, year: i16) -> Vec<Date> {
    let day = |month, day| Stated::of(year, month, day, Precision::Day).map(|stated| stated.date());
    let mut days: Vec<Date> = [day(second, first), day(first, second)]
        .into_iter()
        .flatten()
        .collect();
    days.dedup();
    days
}

/// The days of an age such as `30d` or `2w`. None for anything else.
pub fn age(text: &str) -> Option<i64> {
    let text = trim(text);
    let (number, days) = match text.strip_suffix('d') {
        Some(number) => (number, 1),
        None => (text.strip_suffix('w')?, 7),
    };
    let is_number =
        (1..=AGE_DIGITS).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    let number: i64 = number.parse().ok().filter(|_| is_number)?;
    Some(number * days)
}
