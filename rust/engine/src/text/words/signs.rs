//! Words with signs. Those at the end of `C++`, `C#` and `A+` tell words from others. Those within `U.S.A.` and `12,000` do not
//! count.

use std::ops::Range;

use super::classes::{CLASSES, Class};
use super::folding::fold_into;
use super::token::{COLOCATED, Token};

/// Longer words have no token with symbols, so that text made to fill an index does not double it.
const LONGEST: usize = 32;
/// Longer words with dots between their letters are no abbreviations, but names such as `node.js`.
const LONGEST_ABBREVIATION: usize = 5;
/// Longer numbers have no signs between their thousands.
const MOST_DIGITS: usize = 15;

/// Whether a text in ASCII may have such a word.
pub fn may_have(text: &[u8]) -> bool {
    has_symbol(text) || has_inner_sign(text)
}

fn has_symbol(text: &[u8]) -> bool {
    text.contains(&b'+') || text.contains(&b'#')
}

/// Whether a dot stands between two letters, or a sign before three digits. Without an early end the loop works on many bytes in
/// parallel.
fn has_inner_sign(text: &[u8]) -> bool {
    let from = |start: usize| text.get(start..).unwrap_or_default();
    let letters = text.iter().zip(from(1)).zip(from(2));
    let has_letters = letters.fold(false, |any, ((before, sign), after)| {
        any | ((*sign == b'.') & before.is_ascii_alphabetic() & after.is_ascii_alphabetic())
    });
    let digits = text.iter().zip(from(1)).zip(from(2)).zip(from(3));
    let has_digits = digits.fold(false, |any, (((sign, first), second), third)| {
        let is_sign = matches!(sign, b'.' | b',' | b'\'');
        any | (is_sign & first.is_ascii_digit() & second.is_ascii_digit() & third.is_ascii_digit())
    });
    has_letters || has_digits
}

/// The words of a query with their symbols, in order.
pub fn words_with_symbols(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if !has_symbol(text.as_bytes()) {
        return found;
    }
    let mut start = 0;
    for run in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let word = run.trim_end_matches(|c: char| !c.is_alphanumeric());
        let range = start..start + word.len();
        let end = range.end + length(text, range.clone());
        if end > range.end {
            found.push(text[range.start..end].to_ascii_lowercase());
        }
        start += run.len();
    }
    found
}

/// Give the visitor the tokens of a stored word with its signs, if it has any; whether it wants more.
/// `source` converts a range of `text` into one of the source.
pub(super) fn emit(
    text: &str,
    word: Range<usize>,
    token: &mut String,
    source: impl Fn(Range<usize>) -> Range<usize>,
    visit: &mut dyn FnMut(Token<'_>) -> bool,
) -> bool {
    // Most words have a space after them.
    match text.as_bytes().get(word.end) {
        Some(b'+' | b'#' | b'.' | b',' | b'\'' | 0x80..) => {}
        _ => return true,
    }
    let Some(sign) = text[word.end..].chars().next() else {
        return true;
    };
    token.clear();
    let end = if matches!(sign, '+' | '#') {
        let end = word.end + length(text, word.clone());
        token.push(COLOCATED);
        token.push_str(&text[word.start..end]);
        token.make_ascii_lowercase();
        end
    } else if is_inner(sign) {
        let end = joined_end(text, word.clone()).unwrap_or(word.end);
        push_joined(&text[word.start..end], token);
        end
    } else {
        word.end
    };
    end == word.end
        || visit(Token {
            text: token.as_bytes(),
            range: source(word.start..end),
            colocated: true,
        })
}

/// Return a word of a query without the signs within it, if they do not count: `usa` for `U.S.A.`
pub fn joined(word: &str) -> Option<String> {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let first = word.find(is_inner)?;
    let mut joined = String::new();
    (joined_end(word, 0..first)? == word.len()).then(|| {
        push_joined(word, &mut joined);
        joined.pop();
        joined
    })
}

/// Whether a word of a query may be written with signs within it.
pub(super) fn may_be_joined(word: &str) -> bool {
    let letters = word
        .chars()
        .take(LONGEST_ABBREVIATION + 1)
        .filter(|c| is_letter(*c));
    let is_number =
        (4..=MOST_DIGITS).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    is_number
        || ((2..=LONGEST_ABBREVIATION).contains(&letters.count()) && word.chars().all(is_letter))
}

/// Append the letters or digits of a word, and the mark of a word that has signs in the text.
fn push_joined(word: &str, token: &mut String) {
    let letters: String = word.chars().filter(|c| !is_inner(*c)).collect();
    fold_into(&letters, token);
    token.push(COLOCATED);
}

/// Whether a character may stand between the letters of an abbreviation or the thousands of a number.
fn is_inner(c: char) -> bool {
    matches!(
        c,
        '.' | ',' | '\'' | '’' | '\u{A0}' | '\u{2009}' | '\u{202F}'
    )
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() && matches!(CLASSES.of(c), Class::Latin | Class::Other | Class::Arabic)
}

/// The end of the abbreviation or number that begins with a word before a sign; None if none does.
fn joined_end(text: &str, word: Range<usize>) -> Option<usize> {
    let mut before = text[..word.start].chars().rev();
    let is_after_sign = before
        .next()
        .is_some_and(|c| is_inner(c) && !c.is_whitespace());
    let is_start = !is_after_sign || !before.next().is_some_and(char::is_alphanumeric);
    let is_number = text[word.clone()].bytes().all(|byte| byte.is_ascii_digit());
    match (is_start, is_number) {
        (false, _) => None,
        (true, true) => number_end(text, word),
        (true, false) => abbreviation_end(text, word),
    }
}

/// The end of a number of which each sign has three digits after it: `12,000`.
fn number_end(text: &str, first: Range<usize>) -> Option<usize> {
    let sign = text[first.end..].chars().next()?;
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    if first.len() > 3 || text[first.clone()].starts_with('0') {
        return None;
    }
    let (mut end, mut digits) = (first.end, first.len());
    while text[end..].starts_with(sign) && is_digit(end + sign.len_utf8()) {
        let group = end + sign.len_utf8();
        digits += 3;
        end = group + 3;
        if digits > MOST_DIGITS || !(group..end).all(is_digit) || is_digit(end) {
            return None;
        }
    }
    (end > first.end).then_some(end)
}

/// The end of a word of few letters with dots between them: `U.S.A.`
fn abbreviation_end(text: &str, first: Range<usize>) -> Option<usize> {
    let mut letters = 0;
    let mut end = first.start;
    let mut has_dot = false;
    for c in text[first.start..].chars() {
        match c {
            c if is_letter(c) => {
                letters += 1;
                if letters > LONGEST_ABBREVIATION {
                    return None;
                }
            }
            '.' if text[end + 1..].starts_with(is_letter) => has_dot = true,
            c if c.is_alphanumeric() => return None,
            _ => break,
        }
        end += c.len_utf8();
    }
    has_dot.then_some(end)
}

/// The length of the symbols after a word of ASCII letters and digits: `+`, `++` or `#`; 0 for another word, and
/// if the symbols join it to the next word, as in `a+b` and `page#section`. A digit may follow `++`: `C++17`.
fn length(text: &str, word: Range<usize>) -> usize {
    let bytes = text.as_bytes();
    let symbols = match bytes.get(word.end..).unwrap_or_default() {
        [b'+', b'+', ..] => 2,
        [b'+' | b'#', ..] => 1,
        _ => return 0,
    };
    let is_end = match bytes.get(word.end + symbols) {
        Some(b'+' | b'#') => false,
        Some(next) if symbols == 2 => !next.is_ascii_alphabetic(),
        Some(next) => !next.is_ascii_alphanumeric(),
        None => true,
    };
    let word = &bytes[word];
    let is_plain =
        (1..=LONGEST).contains(&word.len()) && word.iter().all(u8::is_ascii_alphanumeric);
    if is_end && is_plain { symbols } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_queries_have_their_symbols() {
        for (text, expected) in [
            ("C++", "c++"),
            ("(C/C++, C# or F#?)", "c++ c# f#"),
            ("C++17 Objective-C++", "c++ c++"),
            ("A+ blood", "a+"),
            ("C++の本", "c++"),
            ("a+b c+++ page#section issue#5 # + ++ x#1", ""),
            ("é+ plain", ""),
            ("", ""),
        ] {
            assert_eq!(words_with_symbols(text).join(" "), expected, "{text}");
        }
        assert!(words_with_symbols(&"a".repeat(33)).is_empty());
        assert!(words_with_symbols(&format!("{}+", "a".repeat(33))).is_empty());
    }
}
