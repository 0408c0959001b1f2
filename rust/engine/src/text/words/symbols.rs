//! Words that differ only in the symbols at their end: `C++` and `C#`, `A+` and `A`.

use std::ops::Range;

use super::token::{COLOCATED, Token};

/// Longer words have no token with symbols, so that text made to fill an index does not double it.
const LONGEST: usize = 32;

/// Whether a text may have such a word.
pub fn may_have(text: &[u8]) -> bool {
    text.contains(&b'+') || text.contains(&b'#')
}

/// The words of a query with their symbols, in order.
pub fn words_with_symbols(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if !may_have(text.as_bytes()) {
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

/// Give the visitor the token of a stored word with its symbols, if it has any; whether it wants more.
/// `source` converts a range of `text` into one of the source.
pub(super) fn emit(
    text: &str,
    word: Range<usize>,
    token: &mut String,
    source: impl Fn(Range<usize>) -> Range<usize>,
    visit: &mut dyn FnMut(Token<'_>) -> bool,
) -> bool {
    let end = word.end + length(text, word.clone());
    if end == word.end {
        return true;
    }
    let range = word.start..end;
    token.clear();
    token.push(COLOCATED);
    token.push_str(&text[range.clone()]);
    token.make_ascii_lowercase();
    visit(Token {
        text: token.as_bytes(),
        range: source(range),
        colocated: true,
    })
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
