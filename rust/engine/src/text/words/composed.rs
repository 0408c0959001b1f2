//! A text for tokenizing: composed, and without compatibility forms.

use std::borrow::Cow;
use std::iter::once;
use std::ops::Range;

use unicode_normalization::char::{canonical_combining_class, decompose_compatible};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// A text in NFC with letters and digits of full and half width, ligatures and presentation forms
/// replaced by the usual characters, and the places of these in the source.
pub(super) struct Composed<'t> {
    pub text: Cow<'t, str>,
    /// For each character the offset in the text, and the range in the source; empty if both are the
    /// same.
    origins: Vec<(usize, Range<usize>)>,
}

impl<'t> Composed<'t> {
    /// Compose a text. One that is composed already is borrowed.
    pub fn of(source: &'t str) -> Self {
        let is_composed = || {
            !source.chars().any(is_compatibility_form)
                && is_nfc_quick(source.chars()) == IsNormalized::Yes
        };
        if source.chars().all(is_always_composed) || is_composed() {
            return Self {
                text: Cow::Borrowed(source),
                origins: Vec::new(),
            };
        }
        let mut composed = Composer::default();
        for (at, c) in source.char_indices() {
            let end = at + c.len_utf8();
            if is_compatibility_form(c) {
                decompose_compatible(c, |part| composed.push(part, at..end));
            } else {
                composed.push(c, at..end);
            }
        }
        composed.flush();
        Self {
            text: Cow::Owned(composed.text),
            origins: composed.origins,
        }
    }

    /// The range in the source of a range of the text that is not empty.
    pub fn source_range(&self, range: Range<usize>) -> Range<usize> {
        if self.origins.is_empty() {
            return range;
        }
        let before = |offset: usize| self.origins.partition_point(|(at, _)| *at < offset);
        let first = self.origins.get(before(range.start));
        let last = self.origins.get(before(range.end).saturating_sub(1));
        match (first, last) {
            (Some((_, first)), Some((_, last))) => first.start..last.end.max(first.end),
            _ => 0..0,
        }
    }
}

/// Composes group by group: a character before which text may be cut, and those that may compose with it.
#[derive(Default)]
struct Composer {
    text: String,
    origins: Vec<(usize, Range<usize>)>,
    group: String,
    place: Range<usize>,
}

impl Composer {
    fn push(&mut self, c: char, place: Range<usize>) {
        if c.is_ascii() || begins_group(c) {
            self.flush();
            self.place = place;
        } else {
            self.place.end = place.end;
        }
        self.group.push(c);
    }

    fn flush(&mut self) {
        for c in self.group.nfc() {
            self.origins.push((self.text.len(), self.place.clone()));
            self.text.push(c);
        }
        self.group.clear();
    }
}

/// Whether a character is of a range without marks and compatibility forms, as most of a text is.
fn is_always_composed(c: char) -> bool {
    matches!(
        c,
        '\0'..='\u{24F}'
            | '\u{400}'..='\u{482}'
            | '\u{620}'..='\u{64A}'
            | '\u{2010}'..='\u{2027}'
            | '\u{3000}'..='\u{3029}'
            | '\u{3041}'..='\u{3096}'
            | '\u{30A1}'..='\u{30FE}'
            | '\u{4E00}'..='\u{9FFF}'
            | '\u{AC00}'..='\u{D7A3}'
            | '\u{FF01}'..='\u{FF0F}'
            | '\u{FF1A}'..='\u{FF20}'
    )
}

/// Whether a character never composes with one before it.
fn begins_group(c: char) -> bool {
    canonical_combining_class(c) == 0 && is_nfc_quick(once(c)) == IsNormalized::Yes
}

/// Latin and Armenian ligatures, forms of Hebrew and Arabic for presentation, letters and digits of full
/// width, kana and Hangul of half width, and letters of mathematics.
fn is_compatibility_form(c: char) -> bool {
    matches!(
        c,
        '\u{FB00}'..='\u{FDFF}'
            | '\u{FE70}'..='\u{FEFC}'
            | '\u{FF10}'..='\u{FF19}'
            | '\u{FF21}'..='\u{FF3A}'
            | '\u{FF41}'..='\u{FF5A}'
            | '\u{FF66}'..='\u{FFDC}'
            | '\u{1D400}'..='\u{1D7FF}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_always_composed_composes_with_nothing() {
        for c in ('\0'..=char::MAX).filter(|c| is_always_composed(*c)) {
            assert!(begins_group(c) && !is_compatibility_form(c), "{c:?}");
        }
    }

    #[test]
    fn forms_are_composed_and_found_in_the_source() {
        for (source, expected) in [
            ("plain 東京", "plain 東京"),
            ("ﾊﾘﾈｽﾞﾐ ＡＢＣ", "ハリネズミ ABC"),
            ("か\u{3099}", "が"),
            ("ﬁeld", "field"),
            ("\u{1112}\u{1161}\u{11AB}", "한"),
        ] {
            let composed = Composed::of(source);
            assert_eq!(composed.text, expected);
            let whole = composed.source_range(0..expected.len());
            assert_eq!(whole, 0..source.len());
        }
        let composed = Composed::of("ｽﾞﾐ");
        assert_eq!(composed.source_range(0..3), 0..6);
        assert_eq!(composed.source_range(3..6), 6..9);
    }
}
