//! Dates in ISO 8601, as instants (spec/filters.md, "Dates").

/// Seconds since 1970 in UTC, and nanoseconds.
pub(crate) type Instant = (i64, u32);

/// The instant that a text names, which is the first of a day, a month or a year; without an offset
/// it is UTC. None for anything that is not a date.
///
/// `2024`, `2024-03`, `2024-03-05`, `2024-03-05T14:30`, `2024-03-05 14:30:00.5+02:00`.
pub(crate) fn instant(text: &str) -> Option<Instant> {
    let mut reader = DateReader(text.as_bytes());
    let year = i64::from(reader.number(4)?);
    let (month, has_month) = reader.part(12)?;
    let (day, has_day) = if has_month {
        reader.part(days_in(year, month))?
    } else {
        (1, false)
    };
    if year == 0 {
        return None;
    }
    let midnight = days_before(year, month) + i64::from(day) - 1;
    let (mut seconds, mut nanos) = (midnight * 86_400, 0);
    if has_day && reader.takes(b"Tt ") {
        let (time, fraction) = reader.time()?;
        nanos = fraction;
        seconds += time - reader.offset()?;
    }
    reader.0.is_empty().then_some((seconds, nanos))
}

/// The day that a text begins with, in days since 1970, whatever its time and offset. None for anything
/// that does not begin with `2024-03-05`.
pub(crate) fn day(text: &str) -> Option<i32> {
    let day = text.get(..10)?;
    let ends = text
        .as_bytes()
        .get(10)
        .is_none_or(|next| !next.is_ascii_digit());
    let (seconds, _) = instant(day).filter(|_| ends)?;
    i32::try_from(seconds / 86_400).ok()
}

/// A number of days since 1970 as a day in ISO 8601.
pub(crate) fn iso_day(days: i32) -> String {
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The year, the month and the day, both from 1, of a number of days since 1970.
pub(crate) fn civil(days: i32) -> (i32, u32, u32) {
    let days = i64::from(days);
    // Near the year; the loop ends after a step or two.
    let mut year = 1970 + days.div_euclid(366);
    while days_before(year + 1, 1) <= days {
        year += 1;
    }
    let mut month = 1;
    while month < 12 && days_before(year, month + 1) <= days {
        month += 1;
    }
    let day = days - days_before(year, month) + 1;
    let year = i32::try_from(year).unwrap_or(i32::MAX);
    (year, month, u32::try_from(day).unwrap_or(1))
}

/// The unread end of the text.
struct DateReader<'t>(&'t [u8]);

impl DateReader<'_> {
    /// Read a number of this many digits.
    fn number(&mut self, digits: usize) -> Option<u32> {
        let (digits, rest) = self.0.split_at_checked(digits)?;
        let mut number = 0;
        for digit in digits {
            number = number * 10 + u32::from(digit.is_ascii_digit().then(|| digit - b'0')?);
        }
        self.0 = rest;
        Some(number)
    }

    /// The next part of a date, from 1 to `most`, and whether it is there; one that is missing is 1.
    fn part(&mut self, most: u32) -> Option<(u32, bool)> {
        if !self.takes(b"-") {
            return Some((1, false));
        }
        let part = self.number(2).filter(|part| (1..=most).contains(part))?;
        Some((part, true))
    }

    /// Whether one of these comes next, which is then read.
    fn takes(&mut self, any: &[u8]) -> bool {
        match self.0.split_first() {
            Some((first, rest)) if any.contains(first) => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    /// Hours and minutes, perhaps with seconds and a part of one.
    fn time(&mut self) -> Option<(i64, u32)> {
        let hours = self.number(2).filter(|hours| *hours < 24)?;
        let minutes = self.takes(b":").then(|| self.number(2))??;
        let (mut seconds, mut nanos) = (0, 0);
        if self.takes(b":") {
            seconds = self.number(2)?;
            if self.takes(b".,") {
                nanos = self.fraction()?;
            }
        }
        (minutes < 60 && seconds < 60)
            .then(|| (i64::from(hours * 3600 + minutes * 60 + seconds), nanos))
    }

    /// A part of a second, of which up to nine digits count.
    fn fraction(&mut self) -> Option<u32> {
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit());
        let (digits, rest) = self.0.split_at(digits.count());
        self.0 = rest;
        let padded = digits.iter().chain(std::iter::repeat(&b'0')).take(9);
        let nanos = padded.fold(0, |nanos, digit| nanos * 10 + u32::from(digit - b'0'));
        (!digits.is_empty()).then_some(nanos)
    }

    /// Read the offset of local time from UTC, in seconds.
    fn offset(&mut self) -> Option<i64> {
        if self.0.is_empty() || self.takes(b"Zz") {
            return Some(0);
        }
        let (sign, rest) = match self.0.split_first()? {
            (b'+', rest) => (1, rest),
            (b'-', rest) => (-1, rest),
            _ => return None,
        };
        self.0 = rest;
        let hours = self.number(2).filter(|hours| *hours < 24)?;
        let mut offset = i64::from(hours) * 3600;
        let colon = self.takes(b":");
        if colon || !self.0.is_empty() {
            offset += i64::from(self.number(2).filter(|minutes| *minutes < 60)?) * 60;
        }
        if colon && self.takes(b":") {
            offset += i64::from(self.number(2).filter(|seconds| *seconds < 60)?);
        }
        Some(sign * offset)
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: u32) -> u32 {
    match month {
        2 => 28 + u32::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Return the days between 1970 and a month.
fn days_before(year: i64, month: u32) -> i64 {
    let years = year - 1;
    let days = years * 365 + years / 4 - years / 100 + years / 400 - 719_162;
    days + (1..month)
        .map(|month| i64::from(days_in(year, month)))
        .sum::<i64>()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_are_instants() {
        for (text, seconds) in [
            ("1970", 0),
            ("1970-01", 0),
            ("1970-01-01", 0),
            ("1970-01-01T00:00", 0),
            ("1970-01-01 00:00:00Z", 0),
            ("2024-02-29", 1_709_164_800),
            ("2024-03-05T14:30:15+02:00", 1_709_641_815),
            ("2024-03-05T14:30:15+0200", 1_709_641_815),
            ("2024-03-05t14:30:15+02", 1_709_641_815),
            ("2024-03-05T12:30:15z", 1_709_641_815),
            ("0001-01-01", -62_135_596_800),
            ("9999-12-31T23:59:59", 253_402_300_799),
            ("1970-01-01T00:00:00-00:00:30", 30),
        ] {
            assert_eq!(instant(text), Some((seconds, 0)), "{text}");
        }
        assert_eq!(instant("1970-01-01T00:00:00.5"), Some((0, 500_000_000)));
        assert_eq!(
            instant("1970-01-01T00:00:00,123456789123Z"),
            Some((0, 123_456_789))
        );
    }

    proptest! {
        #[test]
        fn any_text_is_a_date_or_none(text in "[0-9TtZz:.,+ -]{0,30}|\\PC{0,12}") {
            if let Some((_, nanos)) = instant(&text) {
                prop_assert!(text.is_ascii() && nanos < 1_000_000_000);
            }
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "0000",
            "24",
            "202",
            "20240305",
            "2024-3-5",
            "2024-00",
            "2024-13",
            "2024-02-30",
            "2023-02-29",
            "1900-02-29",
            "2024-03-05T",
            "2024-03-05T24:00",
            "2024-03-05T10",
            "2024-03-05T10:60",
            "2024-03-05T10:00:60",
            "2024-03-05T10:00:00.",
            "2024T10:00",
            "2024-03T10:00",
            "2024-03-05T10:00+",
            "2024-03-05T10:00+24:00",
            "2024-03-05T10:00 Z",
            " 2024",
            "2024 ",
            "2024-03-05Z",
            "٢٠٢٤",
            "yesterday",
            "2024-03-05T10:00+02:0",
        ] {
            assert_eq!(instant(text), None, "{text:?}");
        }
    }
}
