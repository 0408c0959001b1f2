//! Texts that look like secrets: keys, tokens, passwords and card numbers (spec/memory.md, "Secrets").
//!
//! Two automata find where a format or the name of a field begins, and each place is looked at once, up to a named limit. So a
//! search takes linear time.

mod fields;
mod formats;

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;

use crate::text::is_word;
pub(crate) use fields::SECRET_FIELDS;
use fields::{PASSWORD, Span};
pub(crate) use formats::SECRET_FORMATS;
use formats::{FORMATS, Format};

/// A text that looks like a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// The kind, such as "AWS access key".
    pub kind: &'static str,
    /// The line, from 1.
    pub line: usize,
    /// The first characters, which name the issuer; empty for a password.
    pub start: String,
}

/// The most characters of the name of a key in its first and its last line.
const LONGEST_NAME: usize = 60;

/// The automaton of the literals of all formats, and the format of each.
static LITERALS: LazyLock<Option<(AhoCorasick, Vec<&Format>)>> = LazyLock::new(|| {
    let rows = || {
        FORMATS
            .iter()
            .flat_map(|format| format.literals.iter().map(move |literal| (format, literal)))
    };
    let automaton = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(rows().map(|(_, literal)| literal))
        .ok()?;
    Some((automaton, rows().map(|(format, _)| format).collect()))
});

static CARDS: LazyLock<Option<Cards>> = LazyLock::new(|| Cards::new().ok());

/// Return the likely secrets of a text in their order, one for each place.
///
/// UUIDs, digests, telephone numbers and placeholders such as `<token>` are none. Takes linear time.
pub fn find_secrets(text: &str) -> Vec<Secret> {
    let mut spans = spans(text);
    spans.sort_by_key(|(start, end, _)| (*start, usize::MAX - end));
    let mut found = Vec::new();
    let (mut line, mut at, mut last_end) = (1, 0, 0);
    for (start, end, kind) in spans {
        if !found.is_empty() && start < last_end {
            continue;
        }
        last_end = end;
        line += text[at..start].matches('\n').count();
        at = start;
        let is_password = kind.starts_with(PASSWORD);
        let beginning = text[start..end]
            .chars()
            .take(if is_password { 0 } else { 4 });
        found.push(Secret {
            kind,
            line,
            start: beginning.collect(),
        });
    }
    found
}

/// Return a text with `[secret]` in the place of each secret.
pub fn without_secrets(text: &str) -> String {
    let mut spans = spans(text);
    spans.sort_unstable();
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end, _) in spans {
        if end > at {
            if start >= at {
                kept.push_str(&text[at..start]);
                kept.push_str("[secret]");
            }
            at = end;
        }
    }
    kept.push_str(&text[at..]);
    kept
}

/// The secrets of a text, kind by kind. They may overlap.
fn spans(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    // The kind of a token is told rather than that of its field.
    if SECRET_FORMATS.is_on() {
        add_tokens(text, &mut spans);
        add_private_keys(text, &mut spans);
        if let Some(cards) = &*CARDS {
            cards.add(text, &mut spans);
        }
    }
    if SECRET_FIELDS.is_on() {
        fields::add_values(text, &mut spans);
        fields::add_in_addresses(text, &mut spans);
    }
    spans
}

fn add_tokens(text: &str, spans: &mut Vec<Span>) {
    if let Some((automaton, formats)) = &*LITERALS {
        for literal in automaton.find_iter(text) {
            let format = formats[literal.pattern()];
            if let Some((start, end)) = format.token_at(text, literal.start(), literal.end()) {
                spans.push((start, end, format.kind));
            }
        }
    }
    let discord = formats::discord_tokens(text);
    spans.extend(discord.map(|(start, end)| (start, end, "Discord token")));
}

/// Add each private key with all of its lines; a key without an end is its first line.
fn add_private_keys(text: &str, spans: &mut Vec<Span>) {
    let (mut at, mut has_end) = (0, true);
    while let Some((begin, name_end)) = armor(text, at, "-----BEGIN ") {
        at = name_end;
        let name = text[begin..name_end].trim_end_matches('-');
        if name.ends_with("PRIVATE KEY") || name.ends_with("PRIVATE KEY BLOCK") {
            let end = has_end
                .then(|| armor(text, name_end, "-----END "))
                .flatten();
            has_end = end.is_some();
            at = end.map_or(name_end, |(_, end)| end);
            spans.push((begin, at, "private key"));
        }
    }
}

/// The next line `-----BEGIN NAME-----`: its first and its last byte, excluded.
fn armor(text: &str, from: usize, literal: &str) -> Option<(usize, usize)> {
    text[from..].match_indices(literal).find_map(|(at, _)| {
        let rest = &text.as_bytes()[from + at + literal.len()..];
        let name = rest.iter().take(LONGEST_NAME);
        let is_name =
            |byte: &&u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b' ';
        let name = name.take_while(is_name).count();
        rest[name..]
            .starts_with(b"-----")
            .then_some((from + at, from + at + literal.len() + name + 5))
    })
}

/// Numbers of cards: the beginning of an issuer, its length, and the check digit.
struct Cards {
    number: Regex,
    issuer: Regex,
}

impl Cards {
    fn new() -> Result<Self, regex::Error> {
        Ok(Self {
            number: Regex::new(
                r"(?:^|[^\w.+-])([0-9]{13,19}|[0-9]{4} [0-9]{4} [0-9]{4} [0-9]{4}|[0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{4}|3[47][0-9]{2} [0-9]{6} [0-9]{5}|3[47][0-9]{2}-[0-9]{6}-[0-9]{5})",
            )?,
            issuer: Regex::new(
                r"\A(?:4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})|(?:5[1-5]|2[2-7])[0-9]{14}|3[47][0-9]{13}|6(?:011|5[0-9]{2})[0-9]{12}|35[2-8][0-9]{13})\z",
            )?,
        })
    }

    fn add(&self, text: &str, spans: &mut Vec<Span>) {
        let mut at = 0;
        while let Some(found) = self.number.captures_at(text, at) {
            let (Some(whole), Some(number)) = (found.get(0), found.get(1)) else {
                return;
            };
            let mut after = text[number.end()..].chars();
            let goes_on = match after.next() {
                Some('.') => after.next().is_some_and(|next| next.is_ascii_digit()),
                Some(next) => is_word(next) || next == '-',
                None => false,
            };
            if goes_on {
                // Another number may begin inside.
                let first = text[whole.start()..]
                    .chars()
                    .next()
                    .map_or(1, char::len_utf8);
                at = whole.start() + first;
                continue;
            }
            at = number.end();
            let digits: String = number
                .as_str()
                .chars()
                .filter(char::is_ascii_digit)
                .collect();
            if self.issuer.is_match(&digits) && passes_luhn(digits.as_bytes()) {
                spans.push((number.start(), number.end(), "card number"));
            }
        }
    }
}

fn passes_luhn(digits: &[u8]) -> bool {
    let values = digits.iter().rev().enumerate().map(|(at, digit)| {
        let value = u32::from(digit - b'0') * if at % 2 == 0 { 1 } else { 2 };
        if value > 9 { value - 9 } else { value }
    });
    digits.iter().any(|digit| *digit != digits[0]) && values.sum::<u32>() % 10 == 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_tables_compile() {
        assert!(LITERALS.is_some() && CARDS.is_some() && fields::compile());
    }

    #[test]
    fn two_secrets_with_one_space_between_are_two() {
        let text = "AKIAIOSFODNN7ABCDEFG AKIAIOSFODNN7ABCDEFH\n4111111111111111 5500005555555559";
        let found: Vec<(&str, usize)> = find_secrets(text)
            .iter()
            .map(|secret| (secret.kind, secret.line))
            .collect();
        let expected = [
            ("AWS access key", 1),
            ("AWS access key", 1),
            ("card number", 2),
            ("card number", 2),
        ];
        assert_eq!(found, expected);
        assert_eq!(
            without_secrets(text),
            "[secret] [secret]\n[secret] [secret]"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_searched(text in "(?s)[a-z0-9 :@/=.\n€]{0,40}(password=|AKIA|eyJ|4111 |密码|:AA|-----BEGIN )?.{0,60}") {
            let replaced = without_secrets(&text);
            prop_assert_eq!(find_secrets(&text).is_empty(), replaced == text);
        }
    }
}
