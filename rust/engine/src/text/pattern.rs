//! Regular expressions written for JavaScript, run with JavaScript's meaning.
//!
//! The patterns of spec/retrieval.md are JavaScript source with the `i` flag and no other, and
//! read text that is lower-cased before. What differs elsewhere is `\b`, a boundary of ASCII
//! words, and `\s`, the ECMAScript set. fancy-regex refuses to change its mode inside a
//! pattern, so the whole pattern runs in its ASCII mode, where `\b` is JavaScript's, and
//! `translate` spells out the rest.
//!
//! The flag needs no counterpart: JavaScript folds ASCII letters with ASCII letters only (`k`
//! with `K`, not with the Kelvin sign), and neither pattern nor text has capitals. Without it
//! fancy-regex finds literals to look for, which is ten times as fast.

use std::fmt::Display;

use fancy_regex::{Regex, RegexBuilder};

use super::whitespace::is_whitespace;
use crate::error::{Error, ErrorCode, Result};

/// A JavaScript regular expression with the `i` flag, for text in lower case.
pub struct Pattern(Regex);

impl Pattern {
    /// The pattern that JavaScript writes `/source/i`.
    ///
    /// A construct that `translate` does not know is an error, never a guess.
    pub fn new(source: &str) -> Result<Self> {
        RegexBuilder::new(&translate(source)?)
            .unicode_mode(false)
            .build()
            .map(Self)
            .map_err(|error| fault(source, error))
    }

    /// Whether it matches anywhere in `text`, which is in lower case.
    pub fn is_match(&self, text: &str) -> Result<bool> {
        self.0
            .is_match(text)
            .map_err(|error| fault(self.0.as_str(), error))
    }
}

/// Translate `source` for fancy-regex in ASCII mode.
///
/// Known are small ASCII letters, digits and a few characters for themselves, escaped punctuation,
/// `\b`, `\s`, groups without capture, `|`, `?`, `*` and `+`.
fn translate(source: &str) -> Result<String> {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let (taken, written) = match c {
            '(' if rest.starts_with("(?:") => (3, "(?:".to_owned()),
            '\\' => {
                let escaped = rest[1..].chars().next();
                match escaped {
                    Some('b') => (2, "\\b".to_owned()),
                    Some('s') => (2, white_space()),
                    Some(c) if c.is_ascii_punctuation() => (2, rest[..2].to_owned()),
                    _ => return Err(unknown(source, rest)),
                }
            }
            c if c.is_ascii_lowercase() || c.is_ascii_digit() || " -:|?*+)".contains(c) => {
                (1, c.to_string())
            }
            _ => return Err(unknown(source, rest)),
        };
        out.push_str(&written);
        rest = &rest[taken..];
    }
    Ok(out)
}

/// `\s` as alternatives: ASCII mode has no classes with other characters in them.
fn white_space() -> String {
    let set: Vec<String> = ('\0'..=char::MAX)
        .filter(|&c| is_whitespace(c))
        .map(String::from)
        .collect();
    format!("(?:{})", set.join("|"))
}

fn unknown(source: &str, rest: &str) -> Error {
    fault(source, format!("nothing is known of {rest:?}"))
}

fn fault(source: &str, error: impl Display) -> Error {
    Error::new(
        ErrorCode::EngineFault,
        format!("pattern /{source}/i: {error}; please report this"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_ascii() {
        let pattern = Pattern::new(r"\b(?:kilos?|tips)\b").unwrap();
        for (text, expected) in [
            ("kilo", true),
            ("two kilos.", true),
            ("étips", true),
            ("tipsé", true),
            ("tips\u{301}", true),
            ("_tips", false),
            ("tips2", false),
            ("tip\u{17F}", false),
            ("k\u{131}lo", false),
        ] {
            assert_eq!(pattern.is_match(text).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn white_space_is_ecmascripts() {
        let pattern = Pattern::new(r"-\s+-").unwrap();
        for c in '\0'..=char::MAX {
            let text = format!("-{c}-");
            assert_eq!(pattern.is_match(&text).unwrap(), is_whitespace(c), "{c:?}");
        }
        assert!(pattern.is_match("-\u{FEFF}\u{2003}\t-").unwrap());
        assert!(!pattern.is_match("--").unwrap());
    }

    #[test]
    fn escaped_punctuation_stands_for_itself() {
        let pattern = Pattern::new(r"\[(?:date|observed on):").unwrap();
        assert!(pattern.is_match("[observed on: may").unwrap());
        assert!(!pattern.is_match("date:").unwrap());
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for source in [
            r"a.b", r"[ab]", r"\d", r"(a)", r"(?=a)", r"^a", r"a$", r"é", r"A", r"a{2}", r"a\",
            r"(?:a",
        ] {
            let error = Pattern::new(source).err().unwrap();
            assert_eq!(error.code(), ErrorCode::EngineFault, "{source}");
            assert!(error.message().contains(source), "{source}");
        }
    }
}
