//! Dates, ages and words as the options of a search take them (spec/dates.md, "In options").

use super::periods::periods;
use super::reader::{Time, age, read};

const DAY_MICROS: i64 = 86_400_000_000;
const MICROS: i64 = 1_000_000;

/// The end of a day, or of a longer period, that an option means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// The first moment.
    Start,
    /// The last microsecond.
    End,
}

/// The moment that a text means, counted from `now`: a date, or a period in words, of which one end counts, or for a
/// start also an age. None for anything else. Words mean days in the zone of `now`.
pub fn moment(text: &str, now: Time, edge: Edge) -> Option<Time> {
    if let Some(stated) = read(text) {
        return Some(match edge {
            Edge::Start => stated.time(),
            Edge::End => stated.end(),
        });
    }
    if let (Edge::Start, Some(days)) = (edge, age(text)) {
        return now.after_days(-days);
    }
    let named = periods(text, Some(now.day()));
    let [period] = named.periods.as_slice() else {
        return None;
    };
    let (first, last) = period.latest(now.day())?;
    let local = match edge {
        Edge::Start => i64::from(first) * DAY_MICROS,
        Edge::End => (i64::from(last) + 1) * DAY_MICROS - 1,
    };
    named.rest.is_empty().then(|| Time {
        micros: local - i64::from(now.offset) * MICROS,
        ..now
    })
}
