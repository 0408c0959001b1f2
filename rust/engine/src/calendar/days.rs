//! Days since 1970 and the dates that they are.

use jiff::civil::{Date, DateTime, date};
use jiff::{SignedDuration, ToSpan};

use super::unit::Unit;

pub(super) const EPOCH: Date = date(1970, 1, 1);
const SECONDS: i64 = 86_400;

/// The days since 1970 of a date.
pub fn day_of(date: Date) -> i32 {
    let days = date.duration_since(EPOCH).as_secs() / SECONDS;
    i32::try_from(days).unwrap_or_default()
}

/// The date of a number of days since 1970. Outside the calendar, its first or last day.
pub(super) fn date_of(day: i32) -> Date {
    EPOCH.saturating_add(SignedDuration::from_secs(i64::from(day) * SECONDS))
}

/// The whole seconds since 1970 of a local time, rounded down.
pub(super) fn seconds_of(at: DateTime) -> i64 {
    let clock = [at.hour(), at.minute(), at.second()];
    let clock = clock.map(i64::from);
    i64::from(day_of(at.date())) * SECONDS + (clock[0] * 60 + clock[1]) * 60 + clock[2]
}

/// A number of days since 1970 as a day in ISO 8601.
pub fn iso_day(day: i32) -> String {
    date_of(day).to_string()
}

/// The first day of a week, a month or a year, a number of units after that of a day. None outside the years 1
/// to 9999.
pub(super) fn first_of(unit: Unit, day: i32, after: i32) -> Option<i32> {
    let date = date_of(day);
    let first = match unit {
        Unit::Day => date.checked_add(after.days()),
        Unit::Week => {
            let back = i32::from(date.weekday().to_monday_zero_offset());
            date.checked_add((i64::from(after) * 7 - i64::from(back)).days())
        }
        Unit::Month => date.first_of_month().checked_add(after.months()),
        Unit::Year => date.first_of_year().checked_add(after.years()),
    };
    first.ok().filter(|first| first.year() >= 1).map(day_of)
}
