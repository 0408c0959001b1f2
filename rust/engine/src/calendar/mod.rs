//! The one calendar: days, dates and times as people write them, and the periods that a text names
//! (spec/dates.md).
//!
//! Days are counted from 1970 in the proleptic Gregorian calendar, as in ISO 8601, and weeks begin on Monday. Nothing here reads
//! a clock or knows a time zone: the caller gives the day, or the time with its offset, that relative words count
//! from.
//!
//! ```
//! use hedgerow_engine::calendar::{day_of, periods, read};
//!
//! let today = day_of(read("2026-04-18").unwrap().date());
//! let named = periods("what grew letzte Woche", Some(today));
//! assert!(named.contain(today - 7) && !named.contain(today));
//! assert_eq!(named.rest, "what grew");
//! ```

mod days;
mod names;
mod options;
mod periods;
mod reader;
#[cfg(test)]
mod tests;
mod tokens;
mod unit;

pub use days::{day_of, iso_day};
pub use names::{NameLength, month_at, weekday_at};
pub use options::{Edge, moment};
pub use periods::{NamedPeriod, NamedPeriods, periods};
pub use reader::{
    Instant, Precision, Stated, Time, age, day_at, days_of_numbers, instant, iso_date_time, read,
};
pub use unit::Unit;
