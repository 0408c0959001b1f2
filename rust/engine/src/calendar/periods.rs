//! The days and periods that a question names (spec/dates.md, "In questions").

use jiff::civil::Date;

use super::days::{date_of, day_of, first_of};
use super::names::{Meaning, MonthName, NAMES, Names, key_of};
use super::reader::days_of_numbers;
use super::tokens::{Token, tokens};
use super::unit::Unit;
use crate::text::whitespace::trim;

/// A day or a longer period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedPeriod {
    /// From a first to a last day, since 1970.
    Days {
        /// The first day.
        first: i32,
        /// The last day.
        last: i32,
        /// The unit that it is one of.
        unit: Unit,
    },
    /// A month of every year, or a day of it.
    EveryYear {
        /// From 1.
        month: i8,
        /// None for the whole month.
        day: Option<i8>,
    },
}

/// The periods that a question names, and the text of its other words.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NamedPeriods {
    /// In the order of the question.
    pub periods: Vec<NamedPeriod>,
    /// The question without the words of the periods.
    pub rest: String,
    /// The question without the phrases that count from its day: no text from last week says *last week*. None if it
    /// has no such phrase.
    pub undated: Option<String>,
}

impl NamedPeriods {
    /// Whether a day is in one of the periods.
    pub fn contain(&self, day: i32) -> bool {
        self.periods.iter().any(|period| period.contains(day))
    }
}

impl NamedPeriod {
    fn of(unit: Unit, first: i32) -> Option<Self> {
        let last = first_of(unit, first, 1)? - 1;
        Some(Self::Days { first, last, unit })
    }

    fn of_date(date: Date) -> Self {
        let day = day_of(date);
        Self::Days {
            first: day,
            last: day,
            unit: Unit::Day,
        }
    }

    /// The unit of the calendar that the period is.
    pub fn unit(&self) -> Unit {
        match self {
            Self::Days { unit, .. } => *unit,
            Self::EveryYear { day: Some(_), .. } => Unit::Day,
            Self::EveryYear { day: None, .. } => Unit::Month,
        }
    }

    /// Whether a day is in the period.
    pub fn contains(&self, day: i32) -> bool {
        match self {
            Self::Days { first, last, .. } => (*first..=*last).contains(&day),
            Self::EveryYear { month, day: named } => {
                let date = date_of(day);
                date.month() == *month && named.is_none_or(|named| named == date.day())
            }
        }
    }

    /// The first and the last day; of a month or day of every year those of the last one that has begun. None for a
    /// day that no year has.
    pub(super) fn latest(&self, today: i32) -> Option<(i32, i32)> {
        let (month, day) = match *self {
            Self::Days { first, last, .. } => return Some((first, last)),
            Self::EveryYear { month, day } => (month, day),
        };
        let year = date_of(today).year();
        // 29 February is at most eight years away.
        let first = (year - 8..=year).rev().find_map(|year| {
            let first = Date::new(year, month, day.unwrap_or(1)).ok()?;
            Some(day_of(first)).filter(|first| *first <= today)
        })?;
        let unit = if day.is_some() {
            Unit::Day
        } else {
            Unit::Month
        };
        Some((first, first_of(unit, first, 1)? - 1))
    }
}

/// The periods that a text names. Relative ones, such as *last week*, count from `today`, in days since 1970; without
/// it they are words like others.
///
/// Words in quotation marks, and excluded ones, name none. Takes linear time.
pub fn periods(text: &str, today: Option<i32>) -> NamedPeriods {
    let tokens = tokens(text);
    let is_lower = |token: &Token<'_>| token.text.starts_with(char::is_lowercase);
    let reader = PeriodReader {
        names: &NAMES,
        tokens: &tokens,
        today,
        has_lower: tokens.iter().any(is_lower),
    };
    let mut periods = Vec::new();
    let (mut rest, mut undated) = (Remainder::of(text), Remainder::of(text));
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if token.number.is_none() && !NAMES.first.contains(&token.key) {
            at += 1;
            continue;
        }
        let phrase = reader.phrase(at);
        let is_relative = phrase.is_some();
        let Some((named, used)) = phrase.or_else(|| reader.date(at)) else {
            at += 1;
            continue;
        };
        periods.extend(named);
        at += used;
        let end = tokens[at - 1].start + tokens[at - 1].text.len();
        rest.cut(token.start, end);
        if is_relative {
            undated.cut(token.start, end);
        }
    }
    NamedPeriods {
        periods,
        undated: (undated.end > 0).then(|| undated.text()),
        rest: rest.text(),
    }
}

/// A text without some pieces.
struct Remainder<'t> {
    text: &'t str,
    kept: String,
    /// The end of the last piece.
    end: usize,
}

impl<'t> Remainder<'t> {
    fn of(text: &'t str) -> Self {
        Self {
            text,
            kept: String::new(),
            end: 0,
        }
    }

    fn cut(&mut self, start: usize, end: usize) {
        self.kept.push_str(&self.text[self.end..start]);
        self.kept.push(' ');
        self.end = end;
    }

    fn text(mut self) -> String {
        self.kept.push_str(&self.text[self.end..]);
        trim(&self.kept).to_owned()
    }
}

/// Periods, and the number of tokens that name them.
type Reading = Option<(Vec<NamedPeriod>, usize)>;

/// Reads the periods that begin at a token.
struct PeriodReader<'t> {
    names: &'t Names,
    tokens: &'t [Token<'t>],
    today: Option<i32>,
    /// Whether any word begins with a small letter, so that a capital says something.
    has_lower: bool,
}

impl PeriodReader<'_> {
    /// A date in digits, or with the name of a month.
    fn date(&self, at: usize) -> Reading {
        let token = self.tokens.get(at).filter(|token| !token.is_literal)?;
        let in_digits = match token.number {
            Some(number) if token.key.len() == YEAR_DIGITS => self.year_first(at, number),
            Some(number) => self.day_first(at, number),
            None => None,
        };
        in_digits
            .or_else(|| self.with_signs(at))
            .or_else(|| self.day_of_month(at))
            .or_else(|| self.month(at))
    }

    /// The longest phrase of the table: `last week`, `vor drei Tagen`.
    fn phrase(&self, at: usize) -> Reading {
        let today = self.today?;
        let first = self.tokens.get(at).filter(|token| !token.is_literal)?;
        // A capital within a sentence makes a name: *the song Yesterday*.
        let is_name = first.is_capital && !first.is_first && self.has_lower;
        let joined = self.tokens[at + 1..].iter().take_while(|token| {
            let joins = |c: char| c.is_whitespace() || matches!(c, '-' | '\'' | '\u{2019}');
            !token.is_literal && token.gap.chars().all(joins)
        });
        let longest = joined.take(self.names.longest - 1).count() + 1;
        (1..=longest).rev().find_map(|length| {
            let (meaning, is_capital, count) = self.meaning(at, length)?;
            if is_name && !is_capital {
                return None;
            }
            Some((vec![resolved(meaning, count, today)?], length))
        })
    }

    /// The meaning of some tokens, and the number in them.
    fn meaning(&self, at: usize, length: usize) -> Option<(Meaning, bool, i32)> {
        let tokens = &self.tokens[at..at + length];
        if let Some((meaning, is_capital)) = self.names.phrases.get(&key_of(tokens, None)) {
            return Some((*meaning, *is_capital, 0));
        }
        (0..length).find_map(|slot| {
            let count = self.count(at + slot)?;
            let (meaning, is_capital) = self.names.phrases.get(&key_of(tokens, Some(slot)))?;
            Some((*meaning, *is_capital, count))
        })
    }

    /// The number that a token is, in digits or as a word. None for the decimals of another number.
    fn count(&self, at: usize) -> Option<i32> {
        let token = &self.tokens[at];
        let is_decimal = matches!(token.gap, "." | ",") && at > 0;
        let number = token
            .number
            .or_else(|| self.names.numbers.get(&token.key).copied());
        number.filter(|_| !is_decimal).map(i32::from)
    }

    /// `2023-05-08`, `2023/5/8`, `2023.05.08`, `2023-05`.
    fn year_first(&self, at: usize, year: i16) -> Reading {
        let sign = |at: usize| {
            Some(self.tokens.get(at)?.gap).filter(|gap| matches!(*gap, "-" | "/" | "."))
        };
        let separator = sign(at + 1)?;
        let month = self.two_digits(at + 1)?;
        let day = sign(at + 2)
            .filter(|sign| *sign == separator)
            .and_then(|_| self.two_digits(at + 2));
        if let Some(day) = day {
            let date = Date::new(year, month, day).ok().filter(|_| year > 0)?;
            return Some((vec![NamedPeriod::of_date(date)], 3));
        }
        let first = Date::new(year, month, 1)
            .ok()
            .filter(|_| year > 0 && separator != ".")?;
        Some((vec![NamedPeriod::of(Unit::Month, day_of(first))?], 2))
    }

    /// `23.01.2024`, `1/23/2024`: both days if the order of day and month is unknown.
    fn day_first(&self, at: usize, first: i16) -> Reading {
        let separator = self.tokens.get(at + 1)?.gap;
        let year = self.tokens.get(at + 2)?;
        let is_within = at > 0 && self.tokens[at].gap == separator;
        if !matches!(separator, "-" | "/" | ".") || year.gap != separator || is_within {
            return None;
        }
        let second = self.two_digits(at + 1)?;
        let year = year.number.filter(|_| year.key.len() == YEAR_DIGITS)?;
        let days = days_of_numbers(first, second.into(), year);
        let days: Vec<NamedPeriod> = days.into_iter().map(NamedPeriod::of_date).collect();
        (!days.is_empty()).then_some((days, 3))
    }

    fn two_digits(&self, at: usize) -> Option<i8> {
        let token = self.tokens.get(at).filter(|token| token.key.len() <= 2)?;
        i8::try_from(token.number?).ok()
    }

    /// `2023年5月8日`, `2023年5月`, `5月8日`, `2023年`.
    fn with_signs(&self, at: usize) -> Reading {
        let signed = |at: usize, signs: &std::collections::HashSet<String>| {
            let number = self.tokens.get(at)?.number?;
            let sign = self.tokens.get(at + 1).filter(|sign| sign.gap.is_empty())?;
            signs.contains(&sign.key).then_some(number)
        };
        let year = signed(at, &self.names.year_signs).filter(|year| *year > 0);
        let start = if year.is_some() { at + 2 } else { at };
        let Some((names, length)) = self.month_names(start) else {
            let first = Date::new(year?, 1, 1).ok()?;
            return Some((vec![NamedPeriod::of(Unit::Year, day_of(first))?], 2));
        };
        let month = names.first()?.month;
        let end = start + length;
        if let Some(day) = signed(end, &self.names.day_signs) {
            let period = named_date(year, month, Some(i8::try_from(day).ok()?))?;
            return Some((vec![period], end + 2 - at));
        }
        let period = named_date(Some(year?), month, None)?;
        Some((vec![period], end - at))
    }

    /// `8 May`, `8th of May 2023`, `8. Mai`, `8 de mayo de 2023`.
    fn day_of_month(&self, at: usize) -> Reading {
        let (day, mut used) = self.ordinal(at)?;
        let joint = self.joint(at + used);
        let is_ordinal = used > 1 || joint > 0;
        used += joint;
        let is_near = |gap: &str| matches!(gap.trim(), "" | ".");
        let start = self
            .tokens
            .get(at + used)
            .filter(|token| is_near(token.gap))?;
        let (names, length) = self.month_names(at + used)?;
        used += length;
        let (year, more) = self.year_after(at + used);
        let is_sure = |name: &&MonthName| {
            year.is_some()
                || (!name.is_short && (is_ordinal || name.is_capital == start.is_capital))
                || (name.is_short && name.is_capital && start.is_capital)
        };
        let name = names.iter().find(is_sure)?;
        Some((vec![named_date(year, name.month, Some(day))?], used + more))
    }

    /// `May 8`, `May 8th, 2023`, `May 2023`, `May`.
    fn month(&self, at: usize) -> Reading {
        let (names, length) = self.month_names(at)?;
        let token = &self.tokens[at];
        let month = names.first()?.month;
        let as_written = |name: &&MonthName| name.is_capital == token.is_capital;
        if let (Some(year), more) = self.year_after(at + length) {
            return Some((vec![named_date(Some(year), month, None)?], length + more));
        }
        let next = self.tokens.get(at + length);
        let day = next.filter(|next| next.gap.trim().is_empty() && !next.gap.is_empty());
        if let Some((day, used)) = day.and_then(|_| self.ordinal(at + length)) {
            let (year, more) = self.year_after(at + length + used);
            let is_sure = |name: &&MonthName| {
                year.is_some() || (as_written(name) && (!name.is_short || name.is_capital))
            };
            let date = names
                .iter()
                .find(is_sure)
                .and_then(|name| named_date(year, name.month, Some(day)));
            if let Some(period) = date {
                return Some((vec![period], length + used + more));
            }
        }
        // A capital at the beginning of a sentence says nothing, and *may* and *march* are verbs too.
        let follows_in = at > 0 && self.names.before.contains(&self.tokens[at - 1].key);
        let is_sure = |name: &&MonthName| {
            if name.is_short {
                follows_in && name.is_capital && token.is_capital
            } else {
                follows_in
                    || self.tokens.len() == length
                    || (as_written(name) && !(token.is_capital && token.is_first))
            }
        };
        let name = names.iter().find(is_sure)?;
        Some((vec![named_date(None, name.month, None)?], length))
    }

    /// The names of months that begin at a token, and the number of their tokens.
    fn month_names(&self, at: usize) -> Option<(&[MonthName], usize)> {
        let tokens = self.tokens.get(at..).filter(|tokens| !tokens.is_empty())?;
        let found = (1..=tokens.len().min(2)).rev().find_map(|length| {
            let is_joined = length == 1 || tokens[1].gap.is_empty();
            let names = self.names.months.get(&key_of(&tokens[..length], None));
            names
                .filter(|_| is_joined)
                .map(|names| (names.as_slice(), length))
        });
        found.filter(|_| !tokens[0].is_literal)
    }

    /// The day of a month that begins at a token, such as `8`, `8th` or `1er`, and the number of its tokens.
    fn ordinal(&self, at: usize) -> Option<(i8, usize)> {
        let day = self.two_digits(at).filter(|day| (1..=31).contains(day))?;
        let ending = self.tokens.get(at + 1).filter(|next| next.gap.is_empty());
        let is_ending = |next: &&Token<'_>| {
            next.number.is_none() && next.text.chars().count() <= LONGEST_ENDING
        };
        Some((day, 1 + usize::from(ending.as_ref().is_some_and(is_ending))))
    }

    /// The number of words at a token that join a day and a month, or a month and a year: 0 or 1.
    fn joint(&self, at: usize) -> usize {
        let token = self.tokens.get(at);
        usize::from(token.is_some_and(|token| self.names.joints.contains(&token.key)))
    }

    /// The year that follows a month or a day, and the number of its tokens.
    fn year_after(&self, at: usize) -> (Option<i16>, usize) {
        let joint = self.joint(at);
        let year = self.tokens.get(at + joint).filter(|token| {
            token.key.len() == YEAR_DIGITS && matches!(token.gap.trim(), "" | "," | ".")
        });
        match year.and_then(|token| token.number).filter(|year| *year > 0) {
            Some(year) => (Some(year), joint + 1),
            None => (None, 0),
        }
    }
}

/// The digits of a year.
const YEAR_DIGITS: usize = 4;
/// The most letters of the ending of an ordinal number: `8th`, `1ère`.
const LONGEST_ENDING: usize = 3;

/// A month, or a day of it, of one year or of every year. None for a day that does not exist.
fn named_date(year: Option<i16>, month: i8, day: Option<i8>) -> Option<NamedPeriod> {
    // Every day of a month is one of a leap year.
    let date = Date::new(year.unwrap_or(2000), month, day.unwrap_or(1)).ok()?;
    match (year, day) {
        (None, _) => Some(NamedPeriod::EveryYear { month, day }),
        (Some(_), Some(_)) => Some(NamedPeriod::of_date(date)),
        (Some(_), None) => NamedPeriod::of(Unit::Month, day_of(date)),
    }
}

/// The period that a phrase means on a day. None outside the calendar.
fn resolved(meaning: Meaning, count: i32, today: i32) -> Option<NamedPeriod> {
    let of = |unit, after| NamedPeriod::of(unit, first_of(unit, today, after)?);
    let days = |day| NamedPeriod::of(Unit::Day, day);
    match meaning {
        Meaning::Relative(unit, after) => of(unit, after),
        Meaning::Past(unit) => of(unit, -count),
        Meaning::Nearest(weekday) => {
            let monday = first_of(Unit::Week, today, 0)?;
            let day = monday + weekday - 1;
            days(if day < today { day } else { day - 7 })
        }
        Meaning::Weekday(weekday, week) => days(first_of(Unit::Week, today, week)? + weekday - 1),
    }
}
