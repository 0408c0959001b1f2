//! Normalisation of query text (spec/normalise.md).

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::whitespace::collapse_into;

/// `raw` composed to NFC, without zero-width characters, every run of white space one space.
///
/// The result need not be NFC: removing a zero-width character can bring a base and its mark
/// together, and the specification does not normalise again.
pub fn normalise(raw: &str) -> Cow<'_, str> {
    if is_normal(raw) {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    if raw.is_ascii() || is_nfc_quick(raw.chars()) == IsNormalized::Yes {
        collapse_into(&mut out, raw.chars().filter(|&c| !is_zero_width(c)));
    } else {
        collapse_into(&mut out, raw.nfc().filter(|&c| !is_zero_width(c)));
    }
    Cow::Owned(out)
}

/// `text` itself, and composed (NFC) and decomposed (NFD) if these differ from it. A name that is stored in
/// either form equals one of them.
pub fn forms(text: &str) -> Vec<String> {
    let mut forms = vec![text.to_owned()];
    if !text.is_ascii() {
        for form in [text.nfc().collect(), text.nfd().collect()] {
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
    }
    forms
}

/// Whether `raw` is ASCII whose only white space is single spaces between words: most texts are.
fn is_normal(raw: &str) -> bool {
    // Without an early end the loop works on many bytes in parallel.
    let is_plain = |byte: u8| byte.is_ascii() & !matches!(byte, b'\t'..=b'\r');
    raw.bytes().fold(true, |all, byte| all & is_plain(byte))
        && !raw.contains("  ")
        && !raw.starts_with(' ')
        && !raw.ends_with(' ')
}

/// U+200B–U+200D and the byte order mark.
fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{200B}'..='\u{200D}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composes_strips_and_collapses() {
        for (raw, expected) in [
            ("", ""),
            (" \t\n", ""),
            ("cafe\u{301}", "café"),
            ("a\u{200B}b\u{FEFF}c", "abc"),
            ("a\u{A0}\u{2003} b", "a b"),
            ("a\u{85}b", "a\u{85}b"),
        ] {
            assert_eq!(normalise(raw), expected, "{raw:?}");
        }
    }

    #[test]
    fn a_text_that_is_normal_already_is_not_copied() {
        for (raw, borrowed) in [
            ("a b", true),
            ("a\u{1F}b", true),
            ("a  b", false),
            ("a b ", false),
            ("a\tb", false),
        ] {
            assert_eq!(
                matches!(normalise(raw), Cow::Borrowed(_)),
                borrowed,
                "{raw:?}"
            );
        }
    }

    #[test]
    fn a_name_has_up_to_three_forms() {
        assert_eq!(forms("cafe"), ["cafe"]);
        assert_eq!(forms("東京"), ["東京"]);
        assert_eq!(forms("caf\u{e9}"), ["caf\u{e9}", "cafe\u{301}"]);
        assert_eq!(forms("cafe\u{301}"), ["cafe\u{301}", "caf\u{e9}"]);
        assert_eq!(forms("e\u{301}\u{e9}").len(), 3);
    }

    #[test]
    fn text_is_not_composed_again_after_stripping() {
        assert_eq!(normalise("e\u{200B}\u{301}"), "e\u{301}");
    }
}
