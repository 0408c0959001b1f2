//! The table of names: months, weekdays and phrases for periods in ten languages, from CLDR
//! (`scripts/write_calendar_names.py`).

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::tokens::{Token, tokens};
use super::unit::Unit;

const TABLE: &str = include_str!("names.txt");

/// The key of a number in a phrase.
pub(super) const NUMBER: &str = "#";

/// The meaning of a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The unit that is this many after the present one.
    Relative(Unit, i32),
    /// The unit that is a number of units ago.
    Past(Unit),
    /// The last such weekday before today, from 1 for Monday.
    Nearest(i32),
    /// The weekday of the week that is this many after the present one.
    Weekday(i32, i32),
}

/// A name of a month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MonthName {
    /// From 1.
    pub month: i8,
    pub is_short: bool,
    /// Whether its language writes it with a capital.
    pub is_capital: bool,
}

/// Names and phrases by their tokens, as [`key_of`] joins them.
#[derive(Default)]
pub(super) struct Names {
    /// The meaning of each phrase, and whether its language writes it with a capital.
    pub phrases: HashMap<String, (Meaning, bool)>,
    /// The words that phrases, months and numbers begin with. Most words of a question begin none.
    pub first: HashSet<String>,
    /// The most tokens of a phrase.
    pub longest: usize,
    pub months: HashMap<String, Vec<MonthName>>,
    pub numbers: HashMap<String, i16>,
    /// Words between a day and its month, or a month and its year.
    pub joints: HashSet<String>,
    /// Words before a month, in languages that write months with a capital.
    pub before: HashSet<String>,
    pub year_signs: HashSet<String>,
    pub day_signs: HashSet<String>,
    /// Month names as they are written, with whether they are short.
    written_months: Vec<(&'static str, bool, u8)>,
    written_weekdays: Vec<(&'static str, bool, u8)>,
}

pub(super) static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let mut names = Names::default();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let mut parts = line.split('\t');
        let meaning = parts.next().unwrap_or_default();
        for (_language, phrase) in parts.filter_map(|part| part.split_once(':')) {
            names.add(meaning, phrase);
        }
    }
    names
});

impl Names {
    fn add(&mut self, meaning: &str, phrase: &'static str) {
        let is_capital = phrase.starts_with(char::is_uppercase);
        let words: Vec<&str> = meaning.split(' ').collect();
        let number = |text: &str| text.parse::<i8>().unwrap_or_default();
        let key = key_of_phrase(phrase);
        match words.as_slice() {
            ["before"] => _ = self.before.insert(key),
            ["joint"] => _ = self.joints.insert(key),
            ["sign", "year"] => _ = self.year_signs.insert(key),
            ["sign", "day"] => _ = self.day_signs.insert(key),
            ["number", value] => {
                self.begin(&key);
                self.numbers.insert(key, number(value).into());
            }
            [length @ ("named" | "short"), "month", month] => {
                let is_short = *length == "short";
                self.begin(&key);
                let month = number(month);
                self.written_months
                    .push((phrase, is_short, month.unsigned_abs()));
                let known = self.months.entry(key).or_default();
                known.push(MonthName {
                    month,
                    is_short,
                    is_capital,
                });
            }
            [length @ ("named" | "short"), "weekday", day] => {
                let day = number(day).unsigned_abs();
                self.written_weekdays
                    .push((phrase, *length == "short", day));
            }
            ["nearest", "weekday", day] => {
                self.phrase(key, is_capital, Meaning::Nearest(number(day).into()));
            }
            ["relative", week, "weekday", day] => {
                self.phrase(
                    key,
                    is_capital,
                    Meaning::Weekday(number(day).into(), number(week).into()),
                );
            }
            ["relative", unit, after] => {
                if let Some(unit) = Unit::from_name(unit) {
                    self.phrase(
                        key,
                        is_capital,
                        Meaning::Relative(unit, number(after).into()),
                    );
                }
            }
            ["past", unit] => {
                if let Some(unit) = Unit::from_name(unit) {
                    self.phrase(key, is_capital, Meaning::Past(unit));
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, key: &str) {
        let first = key.split(' ').next();
        self.first.extend(first.map(str::to_owned));
    }

    fn phrase(&mut self, key: String, is_capital: bool, meaning: Meaning) {
        self.begin(&key);
        self.longest = self.longest.max(key.split(' ').count());
        self.phrases.insert(key, (meaning, is_capital));
    }
}

/// The tokens of a phrase of the table, in which a sign is a number.
fn key_of_phrase(phrase: &str) -> String {
    let text = phrase.replace(NUMBER, "0");
    let tokens = tokens(&text);
    let keys = tokens
        .iter()
        .map(|token| if token.key == "0" { NUMBER } else { &token.key });
    keys.collect::<Vec<_>>().join(" ")
}

/// The key of some tokens; the one at `slot`, if any, is a number.
pub(super) fn key_of(tokens: &[Token<'_>], slot: Option<usize>) -> String {
    let mut key = String::new();
    for (at, token) in tokens.iter().enumerate() {
        if at > 0 {
            key.push(' ');
        }
        key.push_str(if Some(at) == slot { NUMBER } else { &token.key });
    }
    key
}

/// The length of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameLength {
    /// `September`.
    Wide,
    /// `Sep`.
    Short,
}

/// The month, from 1, whose name a text begins with in any language and case, and the rest of the text.
pub fn month_at(text: &str, length: NameLength) -> Option<(u8, &str)> {
    name_at(&NAMES.written_months, text, length)
}

/// The weekday, from 1 for Monday, whose name a text begins with in any language and case, and the rest of the text.
pub fn weekday_at(text: &str, length: NameLength) -> Option<(u8, &str)> {
    name_at(&NAMES.written_weekdays, text, length)
}

/// The longest of some names that a text begins with.
fn name_at<'t>(
    names: &[(&str, bool, u8)],
    text: &'t str,
    length: NameLength,
) -> Option<(u8, &'t str)> {
    let of_length = names
        .iter()
        .filter(|(_, is_short, _)| *is_short == (length == NameLength::Short));
    let found = of_length.filter_map(|(name, _, number)| Some((*number, without(name, text)?)));
    found.min_by_key(|(_, rest)| rest.len())
}

/// A text without the name that it begins with.
fn without<'t>(name: &str, text: &'t str) -> Option<&'t str> {
    let mut letters = text.chars();
    for letter in name.chars() {
        let other = letters.next()?;
        if !letter.to_lowercase().eq(other.to_lowercase()) {
            return None;
        }
    }
    Some(letters.as_str())
}
