//! Escapes of surrogate pairs, `\ud83e\udd94`, which JSON has and the YAML parser rejects.
//!
//! Before parsing each `\udXXX` of a surrogate becomes the escape of a private character, of the same
//! length, so that positions hold. Afterwards the private characters become surrogates again.

use std::borrow::Cow;
use std::fmt::Write;

/// The first of 2,048 private characters, one for each surrogate.
const PRIVATE: u16 = 0xe000;
const FIRST: u16 = 0xd800;
const LAST: u16 = 0xdfff;

/// The characters of an escape: `\u` and four digits.
const ESCAPE: usize = 6;

/// Replace the escapes of surrogates; the text itself if it has none.
pub fn hide(text: &str) -> Cow<'_, str> {
    let mut hidden = String::new();
    let mut copied = 0;
    for (at, unit) in escapes(text) {
        if (FIRST..=LAST).contains(&unit) {
            hidden.push_str(&text[copied..at]);
            // Writing to a text cannot fail.
            let _ = write!(hidden, "\\u{:04x}", unit - FIRST + PRIVATE);
            copied = at + ESCAPE;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    hidden.push_str(&text[copied..]);
    Cow::Owned(hidden)
}

/// Return the text of a scalar with hidden surrogates restored; None for half of a pair.
///
/// `source` is the scalar as written. In double quotes escapes mean characters; anywhere else they
/// are text.
pub fn show(text: &str, source: &str, is_escaped: bool) -> Option<String> {
    if is_escaped {
        return join_pairs(text, source);
    }
    let is_private = |unit: u16| (PRIVATE..=PRIVATE + (LAST - FIRST)).contains(&unit);
    let mut originals = escapes(source)
        .filter(|(_, unit)| (FIRST..=LAST).contains(unit) || is_private(*unit))
        .map(|(at, _)| &source[at..at + ESCAPE]);
    let mut shown = String::with_capacity(text.len());
    let mut copied = 0;
    for (at, unit) in escapes(text) {
        if is_private(unit)
            && let Some(original) = originals.next()
        {
            shown.push_str(&text[copied..at]);
            shown.push_str(original);
            copied = at + ESCAPE;
        }
    }
    shown.push_str(&text[copied..]);
    Some(shown)
}

/// Join the pairs of a text in double quotes. A text with private characters already is unchanged.
fn join_pairs(text: &str, source: &str) -> Option<String> {
    let is_private = |unit: u16| (PRIVATE..=PRIVATE + (LAST - FIRST)).contains(&unit);
    let is_hidden = escapes(source).any(|(_, unit)| (FIRST..=LAST).contains(&unit));
    let mut own = escapes(source).filter(|(_, unit)| is_private(*unit));
    let has_own = own.next().is_some() || source.encode_utf16().any(is_private);
    if !is_hidden {
        return Some(text.to_owned());
    }
    if has_own {
        return None;
    }
    let units: Vec<u16> = text
        .encode_utf16()
        .map(|unit| {
            if is_private(unit) {
                unit - PRIVATE + FIRST
            } else {
                unit
            }
        })
        .collect();
    String::from_utf16(&units).ok()
}

/// The offsets and the values of what looks like `\uXXXX`.
fn escapes(text: &str) -> impl Iterator<Item = (usize, u16)> {
    text.match_indices("\\u").filter_map(|(at, _)| {
        let digits = text.get(at + 2..at + ESCAPE)?;
        let backslashes = text[..at]
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'\\')
            .count();
        if backslashes % 2 == 1 {
            // The backslash is itself escaped.
            return None;
        }
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        Some((at, u16::from_str_radix(digits, 16).ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_joined_in_double_quotes_alone() {
        let source = r"a \ud83e\udd94 \ue03e";
        let hidden = hide(source);
        assert_eq!(hidden, r"a \ue03e\ue594 \ue03e");
        assert_eq!(hidden.len(), source.len());
        assert_eq!(show(&hidden, source, false).as_deref(), Some(source));
        let escaped = "\u{e03e}\u{e594}";
        assert_eq!(show(escaped, r"\ud83e\udd94", true).as_deref(), Some("🦔"));
        assert_eq!(show("\u{e03e}", r"\ud83e", true), None);
        assert_eq!(
            show("\u{e03e}", r"\ue03e", true).as_deref(),
            Some("\u{e03e}")
        );
    }
}
