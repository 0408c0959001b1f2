//! The words, numbers and signs of a text, as the names of periods are compared with them.

use std::borrow::Cow;

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

/// A word, a run of digits, or a character of a script without spaces.
#[derive(Debug)]
pub(super) struct Token<'t> {
    pub text: &'t str,
    /// In lower case and without accents; a number without leading zeros.
    pub key: String,
    /// The value of up to four digits.
    pub number: Option<i16>,
    /// The text between the token before and this one.
    pub gap: &'t str,
    pub is_capital: bool,
    /// Whether it is the first of the text or of a sentence.
    pub is_first: bool,
    /// Whether it stands in quotation marks, or the query excludes it.
    pub is_literal: bool,
}

/// The text whose tokens are read: compatible forms of digits and letters are plain ones.
pub(super) fn normal(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfkc().collect())
    }
}

/// The tokens of a normal text.
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
        tokens.push(Token {
            text: word,
            key: key(word),
            number: word.parse().ok().filter(|_| length <= 4),
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
        if first.is_ascii_digit() {
            !c.is_ascii_digit()
        } else {
            c.is_ascii_digit() || is_spaceless(c) || !(c.is_alphanumeric() || is_combining_mark(c))
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

fn key(word: &str) -> String {
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        let digits = word.trim_start_matches('0');
        return if digits.is_empty() { "0" } else { digits }.to_owned();
    }
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let plain: String = word.nfd().filter(|c| !is_combining_mark(*c)).collect();
    lower(plain)
}
