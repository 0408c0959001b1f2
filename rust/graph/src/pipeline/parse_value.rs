//! Numbers, comparisons, durations and parameters, read from pieces.

use std::fmt::Display;
use std::ops::RangeInclusive;

use super::ast::Comparison;
use super::piece::{Piece, underscored};
use super::problem::{Problem, ProblemKind};

const UNITS: [(char, i64); 5] = [
    ('s', 1),
    ('m', 60),
    ('h', 3600),
    ('d', 86_400),
    ('w', 604_800),
];

/// `[-] (digits [. digits] | . digits)`, in ASCII.
pub(super) fn number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let sound = match unsigned.split_once('.') {
        None => is_digits(unsigned),
        Some((whole, fraction)) => (whole.is_empty() || is_digits(whole)) && is_digits(fraction),
    };
    let number: f64 = sound.then(|| text.parse().ok())??;
    number.is_finite().then_some(number)
}

/// A number in ASCII digits. One that is too large to count is the largest there is.
fn digits(text: &str) -> Option<i64> {
    let sound = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    sound.then(|| text.parse().unwrap_or(i64::MAX))
}

/// The seconds of a duration: bare digits, or parts with units.
pub(super) fn duration(text: &str) -> Option<i64> {
    if let Some(seconds) = digits(text) {
        return Some(seconds);
    }
    let mut seconds: i64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let slot = rest.find(|c: char| !c.is_ascii_digit())?;
        let (count, tail) = rest.split_at(slot);
        let unit = tail.chars().next()?;
        let (_, length) = UNITS.iter().find(|(letter, _)| *letter == unit)?;
        seconds = seconds.saturating_add(digits(count)?.saturating_mul(*length));
        rest = &tail[unit.len_utf8()..];
    }
    (!text.is_empty()).then_some(seconds)
}

/// A duration in its canonical form: in the largest unit that divides it.
pub(super) fn printed_duration(seconds: i64) -> String {
    let whole = |(_, length): &&(char, i64)| seconds % length == 0;
    match UNITS.iter().rev().find(whole) {
        Some((letter, length)) if seconds > 0 => format!("{}{letter}", seconds / length),
        _ => seconds.to_string(),
    }
}

impl Piece<'_> {
    /// The operator, equality if there is none, and the value after it.
    fn comparison(self) -> Result<(Comparison, Self), Problem> {
        let operator = Comparison::ALL
            .into_iter()
            .find(|(_, sign)| self.str().starts_with(sign));
        let (comparison, value) = match operator {
            Some((comparison, sign)) => (comparison, self.split_at(sign.len()).1.trimmed()),
            None => (Comparison::Equal, self),
        };
        if value.is_empty() {
            let sentence = "there is nothing to compare with";
            return Err(self.problem(ProblemKind::MissingValue, sentence));
        }
        Ok((comparison, value))
    }

    pub fn compared_number(self) -> Result<(Comparison, f64), Problem> {
        let (comparison, value) = self.comparison()?;
        let number = number(value.str()).ok_or_else(|| {
            let sentence = format!("{:?} is not a number to compare with", value.str());
            value.problem(ProblemKind::BadComparison, sentence)
        })?;
        Ok((comparison, number))
    }

    pub fn compared_duration(self) -> Result<(Comparison, i64), Problem> {
        let (comparison, value) = self.comparison()?;
        Ok((comparison, value.duration()?))
    }

    pub fn duration(self) -> Result<i64, Problem> {
        if self.is_empty() {
            return Err(self.problem(ProblemKind::MissingValue, "there is no duration here"));
        }
        duration(self.str()).ok_or_else(|| {
            let sentence = format!(
                "{:?} is not a duration; write seconds, or parts such as 7d, 36h or 1d12h",
                self.str()
            );
            self.problem(ProblemKind::BadDuration, sentence)
        })
    }

    /// A whole number in this range. One that is too large to count is the largest there is.
    pub fn integer(self, range: RangeInclusive<usize>) -> Result<usize, Problem> {
        digits(self.str())
            .map(|value| usize::try_from(value).unwrap_or(usize::MAX))
            .filter(|value| range.contains(value))
            .ok_or_else(|| self.out_of_range("a whole number", &range, usize::MAX))
    }

    /// A number in this range.
    pub fn real(self, range: RangeInclusive<f64>) -> Result<f64, Problem> {
        number(self.str())
            .filter(|value| range.contains(value))
            .ok_or_else(|| self.out_of_range("a number", &range, f64::MAX))
    }

    fn out_of_range<T: Display + PartialEq + Copy>(
        self,
        what: &str,
        range: &RangeInclusive<T>,
        endless: T,
    ) -> Problem {
        let until = if *range.end() == endless {
            String::new()
        } else {
            format!(" to {}", range.end())
        };
        let sentence = format!(
            "{:?} is not {what} from {}{until}",
            self.str(),
            range.start()
        );
        self.problem(ProblemKind::BadValue, sentence)
    }

    /// Return the choice that the piece names.
    pub fn choice<T: Clone>(self, choices: &[(&str, T)]) -> Result<T, Problem> {
        let found = choices.iter().find(|(word, _)| *word == self.str());
        found.map(|(_, choice)| choice.clone()).ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            let sentence = format!("{:?} is not one of {}", self.str(), words.join(", "));
            self.problem(ProblemKind::BadValue, sentence)
        })
    }

    /// The problem that this value is one too many.
    pub fn unexpected(self) -> Problem {
        let sentence = format!("the value {:?} is one too many; leave it out", self.str());
        self.problem(ProblemKind::UnexpectedValue, sentence)
    }
}

/// Read items of the form `name=value` from left to right, and pass each to `take`. A name must be
/// `known`, and may be there once.
pub(super) fn params<'t>(
    items: &[Piece<'t>],
    known: &[&str],
    mut take: impl FnMut(&str, Piece<'t>) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut seen: Vec<&str> = Vec::new();
    for item in items {
        let equals = item.find(|c| c == '=').filter(|equals| *equals > 0);
        let Some(equals) = equals else {
            let sentence = "a parameter is written name=value";
            return Err(item.problem(ProblemKind::BadParam, sentence));
        };
        let (name, value) = item.split_at(equals);
        let (name, value) = (name.trimmed(), value.split_at(1).1.trimmed());
        if !known.contains(&name.str()) {
            let word = underscored(name.str());
            let known = known.iter().copied();
            return Err(name.unknown(ProblemKind::UnknownParam, "parameter", &word, known));
        }
        if seen.contains(&name.str()) {
            let sentence = format!("{} is given twice", name.str());
            return Err(item.problem(ProblemKind::DuplicateParam, sentence));
        }
        seen.push(name.str());
        if value.is_empty() {
            let sentence = format!("{} has no value", name.str());
            return Err(value.problem(ProblemKind::MissingValue, sentence));
        }
        take(name.str(), value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_too_long_to_count_is_out_of_a_range_that_ends() {
        let integer = |text, range| Piece::whole(text).integer(range);
        let long = "99999999999999999999";
        let problem = integer(long, 1..=100).unwrap_err();
        let sentence = "\"99999999999999999999\" is not a whole number from 1 to 100";
        assert_eq!(
            (problem.kind, &*problem.sentence),
            (ProblemKind::BadValue, sentence)
        );
        let all = integer(long, 0..=usize::MAX).unwrap();
        assert!(all >= usize::MAX / 2);
        assert_eq!(integer(&all.to_string(), 0..=usize::MAX), Ok(all));
    }

    #[test]
    fn numbers_and_durations_are_ascii() {
        for (text, expected) in [
            ("0", Some(0.0)),
            ("-1.5", Some(-1.5)),
            (".5", Some(0.5)),
            ("1.", None),
            ("+1", None),
            ("1e3", None),
            ("inf", None),
            ("٣", None),
            ("", None),
            ("-", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
        for (text, expected) in [
            ("7d", Some(604_800)),
            ("1d12h", Some(129_600)),
            ("604800", Some(604_800)),
            ("90m", Some(5400)),
            ("7", Some(7)),
            ("7D", None),
            ("d", None),
            ("7d3", None),
            ("", None),
        ] {
            assert_eq!(duration(text), expected, "{text}");
        }
        let printed = [0, 90, 5400, 604_800, 86_401].map(printed_duration);
        assert_eq!(printed, ["0", "90s", "90m", "1w", "86401s"]);
    }
}
