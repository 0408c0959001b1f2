//! The units of a run in a script without spaces: characters, syllables and clusters.

use super::classes::{CLASSES, Class};
use super::scan::Kind;

/// No token has more bytes of a unit, so that a pair of units is never cut off.
pub(super) const LONGEST_UNIT: usize = 255;

/// The units of a run, in order.
pub(super) struct Units<'t> {
    rest: &'t str,
    kind: Kind,
    /// Whether each character is a unit.
    is_plain: bool,
}

impl<'t> Units<'t> {
    /// The units of a run, which may have marks.
    pub fn of(run: &'t str, kind: Kind, has_marks: bool) -> Self {
        Self {
            rest: run,
            kind,
            is_plain: matches!(kind, Kind::Cjk | Kind::Symbol) && !has_marks,
        }
    }

    /// Whether `c` belongs to the unit before it.
    fn continues(&self, c: char) -> bool {
        match self.kind {
            _ if matches!(CLASSES.of(c), Class::Mark | Class::Dropped) => true,
            // Vowels and final consonants that do not compose with the character before.
            Kind::Hangul => matches!(c, '\u{1160}'..='\u{11FF}' | '\u{D7B0}'..='\u{D7FB}'),
            Kind::Thai => is_following_vowel(c),
            _ => false,
        }
    }
}

impl<'t> Iterator for Units<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let mut chars = self.rest.char_indices().peekable();
        let (_, first) = chars.next()?;
        if self.is_plain {
            let (unit, rest) = self.rest.split_at(first.len_utf8());
            self.rest = rest;
            return Some(unit);
        }
        if self.kind == Kind::Thai && is_leading_vowel(first) {
            let is_base = |(_, c): &(usize, char)| {
                CLASSES.of(*c) == Class::Thai && !is_leading_vowel(*c) && !is_following_vowel(*c)
            };
            chars.next_if(is_base);
        }
        while chars.next_if(|(_, c)| self.continues(*c)).is_some() {}
        let end = chars.peek().map_or(self.rest.len(), |(at, _)| *at);
        let (unit, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(unit)
    }
}

/// Append a unit without its dropped characters.
pub(super) fn push_unit(out: &mut String, unit: &str) {
    let classes = &*CLASSES;
    let start = out.len();
    for c in unit.chars() {
        if out.len() + c.len_utf8() > start + LONGEST_UNIT {
            break;
        }
        if c.is_ascii() || classes.of(c) != Class::Dropped {
            out.push(c);
        }
    }
}

/// Vowels of Thai and Lao that are written before the consonant they follow.
fn is_leading_vowel(c: char) -> bool {
    matches!(c, '\u{E40}'..='\u{E44}' | '\u{EC0}'..='\u{EC4}')
}

/// Letters of Thai and Lao that are part of the syllable before them.
fn is_following_vowel(c: char) -> bool {
    matches!(
        c,
        '\u{E30}' | '\u{E32}' | '\u{E33}' | '\u{E45}' | '\u{EB0}' | '\u{EB2}' | '\u{EB3}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_cut_into_units() {
        for (kind, run, expected) in [
            (Kind::Cjk, "東京都", vec!["東", "京", "都"]),
            (Kind::Cjk, "葛\u{E0100}城", vec!["葛\u{E0100}", "城"]),
            (Kind::Hangul, "한글", vec!["한", "글"]),
            (
                Kind::Hangul,
                "\u{1113}\u{1161}\u{11AB}한",
                vec!["\u{1113}\u{1161}\u{11AB}", "한"],
            ),
            (Kind::Thai, "เม่นจำ", vec!["เม่", "น", "จำ"]),
            (Kind::Thai, "เเก", vec!["เ", "เก"]),
            (Kind::Thai, "เาะ", vec!["เาะ"]),
            (Kind::Thai, "ខ្ញុំ", vec!["ខ្", "ញុំ"]),
        ] {
            let units: Vec<&str> = Units::of(run, kind, true).collect();
            assert_eq!(units, expected);
        }
    }

    #[test]
    fn a_unit_is_cut_off_and_loses_what_is_dropped() {
        let mut out = String::new();
        push_unit(&mut out, &("ก".to_owned() + &"\u{E49}".repeat(1000)));
        assert_eq!(out.len(), 255);
        out.clear();
        push_unit(&mut out, "葛\u{E0100}");
        assert_eq!(out, "葛");
    }
}
