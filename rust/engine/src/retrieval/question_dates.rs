//! The days and months that a question in English names (spec/retrieval.md, "Dates").

use crate::text::lower::lower;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// Words before a month that tell `may` and `march` from the verbs, and `mar` or `dec` from names.
const BEFORE_MONTHS: [&str; 12] = [
    "in", "of", "during", "since", "until", "till", "by", "before", "after", "early", "mid", "late",
];

/// A day or a month, of a year or of any year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NamedDate {
    pub year: Option<i32>,
    /// From 1.
    pub month: u32,
    /// None if the month is named.
    pub day: Option<u32>,
}

/// A word of a question: a run of letters or digits.
struct Word<'q> {
    text: &'q str,
    lower: String,
    /// The text between the word and the word before.
    gap: &'q str,
}

/// The days and months that a question names, in its order.
pub(super) fn named_dates(question: &str) -> Vec<NamedDate> {
    let words = words(question);
    let mut dates = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let found = iso(&words[at..]).or_else(|| in_words(&words, at));
        match found {
            Some((date, used)) => {
                dates.push(date);
                at += used;
            }
            None => at += 1,
        }
    }
    dates
}

fn words(question: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let (mut gap_start, mut rest) = (0, question);
    while let Some(start) = rest.find(char::is_alphanumeric) {
        let word = &rest[start..];
        let length = word.find(|c: char| !c.is_alphanumeric());
        let text = &word[..length.unwrap_or(word.len())];
        let offset = question.len() - rest.len() + start;
        words.push(Word {
            text,
            lower: lower(text.to_owned()),
            gap: &question[gap_start..offset],
        });
        gap_start = offset + text.len();
        rest = &question[gap_start..];
    }
    words
}

/// `2023-05-08`, `2023/5/8` or `2023-05`, and the number of its words.
fn iso(words: &[Word<'_>]) -> Option<(NamedDate, usize)> {
    let year = words.first().and_then(|word| year(word))?;
    let follows = |at: usize| {
        let word = words.get(at).filter(|word| matches!(word.gap, "-" | "/"))?;
        number(word.text, 2)
    };
    let month = follows(1).filter(|month| (1..=12).contains(month))?;
    let day = follows(2);
    let date = NamedDate {
        year: Some(year),
        month,
        day,
    };
    date.exists()
        .then_some((date, if day.is_some() { 3 } else { 2 }))
}

/// `May 8`, `8 May`, `8th of May`, `May` and these with a year, and the number of words from `at` on.
fn in_words(words: &[Word<'_>], at: usize) -> Option<(NamedDate, usize)> {
    if let Some(day) = ordinal(&words[at]) {
        let of = words.get(at + 1).is_some_and(|word| word.lower == "of");
        let next = at + 1 + usize::from(of);
        let (month, _) = month(words.get(next)?)?;
        let year = words.get(next + 1).and_then(year);
        let used = next + 1 - at + usize::from(year.is_some());
        return dated(year, month, Some(day), used);
    }
    let (month, is_certain) = month(&words[at])?;
    let next = words.get(at + 1);
    let day = next
        .filter(|next| next.gap.trim().is_empty())
        .and_then(ordinal);
    let certain_before = at
        .checked_sub(1)
        .is_some_and(|before| BEFORE_MONTHS.contains(&words[before].lower.as_str()));
    let begins_sentence = at == 0 || words[at].gap.contains(['.', '?', '!']);
    let is_capital = words[at].text.starts_with(char::is_uppercase) && !begins_sentence;
    if let Some(day) = day {
        let year = words.get(at + 2).and_then(year);
        let is_date = is_certain || certain_before || is_capital || year.is_some();
        let used = 2 + usize::from(year.is_some());
        return is_date.then(|| dated(year, month, Some(day), used))?;
    }
    let year = next.and_then(year);
    // `Mar` and `Dec` alone may be names, and a word in lower case may be a verb.
    let is_long = words[at].text.len() > 3 || words[at].lower == "may";
    if is_certain || certain_before || year.is_some() || (is_capital && is_long) {
        return dated(year, month, None, 1 + usize::from(year.is_some()));
    }
    None
}

fn dated(
    year: Option<i32>,
    month: u32,
    day: Option<u32>,
    used: usize,
) -> Option<(NamedDate, usize)> {
    let date = NamedDate { year, month, day };
    date.exists().then_some((date, used))
}

/// The number of a month, and whether its name means nothing else.
fn month(word: &Word<'_>) -> Option<(u32, bool)> {
    let name = word.lower.as_str();
    let is_short = name.len() == 3 || name == "sept";
    let found = MONTHS
        .iter()
        .zip(1..)
        .find(|(month, _)| **month == name || (is_short && month.starts_with(name)));
    found.map(|(_, number)| (number, !is_short && name != "march"))
}

/// The day of a month: `8` or `8th`.
fn ordinal(word: &Word<'_>) -> Option<u32> {
    let digits = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|end| word.lower.strip_suffix(end));
    number(digits.unwrap_or(&word.lower), 2).filter(|day| (1..=31).contains(day))
}

fn year(word: &Word<'_>) -> Option<i32> {
    let year = number(word.text, 4).filter(|_| word.text.len() == 4)?;
    i32::try_from(year).ok().filter(|year| *year >= 1)
}

/// Read a number of at most `most` digits.
fn number(text: &str, most: usize) -> Option<u32> {
    let is_number = (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

impl NamedDate {
    /// Whether there is such a day in a year.
    fn exists(self) -> bool {
        let is_leap = |year: i32| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match self.month {
            2 if self.year.is_none_or(is_leap) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        self.day.is_none_or(|day| (1..=days).contains(&day))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(question: &str) -> Vec<String> {
        let text = |date: &NamedDate| {
            let year = date.year.map_or("*".to_owned(), |year| year.to_string());
            let day = date.day.map_or("*".to_owned(), |day| day.to_string());
            format!("{year} {} {day}", date.month)
        };
        named_dates(question).iter().map(text).collect()
    }

    #[test]
    fn days_and_months_are_found() {
        for (question, expected) in [
            ("What happened on 8 May 2023?", vec!["2023 5 8"]),
            (
                "on May 8, 2023, and on the 9th of june",
                vec!["2023 5 8", "* 6 9"],
            ),
            ("on May 8th", vec!["* 5 8"]),
            ("on 2023-05-08 or 2023/6/1?", vec!["2023 5 8", "2023 6 1"]),
            ("in 2023-05", vec!["2023 5 *"]),
            ("in May 2023", vec!["2023 5 *"]),
            ("Sept 3rd, 2021", vec!["2021 9 3"]),
            ("what was planned in march?", vec!["* 3 *"]),
            ("between March and June", vec!["* 3 *", "* 6 *"]),
            ("29 February", vec!["* 2 29"]),
            ("January", vec!["* 1 *"]),
            // The day does not exist, so that the month remains.
            ("29 February 2023", vec!["2023 2 *"]),
            ("31 April", vec!["* 4 *"]),
        ] {
            assert_eq!(shown(question), expected, "{question}");
        }
    }

    #[test]
    fn what_is_no_date_is_not_taken_for_one() {
        for question in [
            "May I ask who may come?",
            "how far did they march",
            "what did Mar say to Jan",
            "version 2023.05.08",
            "2023-13-01",
            "room 12345 of 8",
            "",
        ] {
            assert_eq!(shown(question), Vec::<String>::new(), "{question}");
        }
    }
}
