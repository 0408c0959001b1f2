//! The words, numbers and signs of a text, as the names of periods are compared with them.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_script::{Script, UnicodeScript};

use crate::text::lower::lower;

/// The quotation marks that open a quotation, each with those that close it.
const QUOTES: [(char, &str); 9] = [
    ('"', "\""),
    ('\u{201c}', "\u{201d}"),
    ('\u{201e}', "\u{201c}\u{201d}"),
    ('\u{2018}', "\u{2019}"),
    ('«', "»"),
    ('»', "«"),
    ('「', "」"),
    ('『', "』"),
    ('`', "`"),
];

/// The most digits of a number that means something here: a year has as many.
const MOST_DIGITS: usize = 4;

/// A word, a run of digits, or a character of a script without spaces.
#[derive(Debug)]
pub(super) struct Token<'t> {
    pub text: &'t str,
    /// The offset in the text.
    pub start: usize,
    /// In lower case and without accents; a number without leading zeros.
    pub key: String,
    /// The value of up to four digits.
    pub number: Option<i16>,
    /// The text between the token before and this one.
    pub gap: &'t str,
    pub is_capital: bool,
    /// Whether it is the first of the text or of a sentence.
    pub is_first: bool,
    /// Whether the token is in quotation marks or excluded by the query.
    pub is_literal: bool,
}

/// The tokens of a text.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut closing: Option<&str> = None;
    let (mut gap_start, mut rest) = (0, text);
    while let Some((start, length)) = next(rest) {
        let offset = text.len() - rest.len() + start;
        let (word, gap) = (&rest[start..start + length], &text[gap_start..offset]);
        closing = quotation(gap, closing);
        let is_excluded = gap.ends_with('-')
            && !gap
                .trim_end_matches('-')
                .ends_with(|c: char| !c.is_whitespace())
            && (gap.len() > 1 || tokens.is_empty());
        let follows_not = tokens.last().is_some_and(|before| before.text == "NOT");
        let key = key(word);
        tokens.push(Token {
            text: word,
            start: offset,
            number: key
                .parse()
                .ok()
                .filter(|_| word.chars().count() <= MOST_DIGITS),
            key,
            gap,
            is_capital: word.starts_with(char::is_uppercase),
            is_first: tokens.is_empty() || gap.contains(['.', '?', '!', ':', '\n']),
            is_literal: closing.is_some() || is_excluded || follows_not,
        });
        gap_start = offset + length;
        rest = &text[gap_start..];
    }
    tokens
}

/// The offset and the length of the next token.
fn next(text: &str) -> Option<(usize, usize)> {
    let start = text.find(char::is_alphanumeric)?;
    let word = &text[start..];
    let first = word.chars().next()?;
    let ends = |c: char| {
        if is_digit(first) {
            !is_digit(c)
        } else {
            is_digit(c) || is_spaceless(c) || !(c.is_alphanumeric() || is_combining_mark(c))
        }
    };
    let length = if is_spaceless(first) {
        first.len_utf8()
    } else {
        word.find(ends).unwrap_or(word.len())
    };
    Some((start, length))
}

/// Whether a character is of a script that is written without spaces, and has names of periods.
fn is_spaceless(c: char) -> bool {
    !c.is_ascii()
        && matches!(
            c.script(),
            Script::Han | Script::Hiragana | Script::Katakana
        )
}

/// The marks that close the quotation that is open after a gap.
fn quotation<'q>(gap: &str, mut closing: Option<&'q str>) -> Option<&'q str> {
    for c in gap.chars() {
        closing = match closing {
            Some(marks) => Some(marks).filter(|marks| !marks.contains(c)),
            None => QUOTES
                .iter()
                .find(|(open, _)| *open == c)
                .map(|(_, marks)| *marks),
        };
    }
    closing
}

/// Whether a character is a digit, also one as wide as a Han character.
fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || ('０'..='９').contains(&c)
}

fn key(word: &str) -> String {
    let plain = if word.is_ascii() {
        word.to_ascii_lowercase()
    } else {
        lower(word.nfkd().filter(|c| !is_combining_mark(*c)).collect())
    };
    if !plain.starts_with('0') {
        return plain;
    }
    let digits = plain.trim_start_matches('0');
    if digits.is_empty() { "0" } else { digits }.to_owned()
}
