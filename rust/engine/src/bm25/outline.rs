//! Distinguishes most terms from a word without comparing their letters.

use std::num::NonZeroU32;
use std::str;

use crate::text::words::is_mark;

/// Longer terms have no outline. At most 63, which six bits hold.
const LONGEST: u32 = 40;

/// A bit for each letter or mark that occurs, of 26 for all letters, and the number of letters above them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outline(NonZeroU32);

impl Outline {
    const LETTERS: u32 = (1 << 26) - 1;

    /// Return the outline of a term; None if it is too long, has other characters than letters or is not
    /// text.
    pub fn of(term: &[u8]) -> Option<Self> {
        let (mut letters, mut count) = (0_u32, 0_u32);
        let mut add = |c: char| {
            letters |= 1 << (u32::from(c) % 26);
            count += 1;
        };
        if term.is_ascii() {
            if term.len() > LONGEST as usize || !term.iter().all(u8::is_ascii_alphabetic) {
                return None;
            }
            for byte in term {
                add(char::from(*byte));
            }
        } else {
            let text = str::from_utf8(term).ok()?;
            if text.len() > 4 * LONGEST as usize || !text.chars().all(is_letter) {
                return None;
            }
            text.chars().for_each(add);
        }
        if count > LONGEST {
            return None;
        }
        NonZeroU32::new(letters | count << 26).map(Self)
    }

    /// Whether words with these outlines may be so few edits apart: each changes the number of letters by one
    /// at most and the set of letters by two.
    pub fn may_be_near(self, other: Self, most: u32) -> bool {
        let (one, other) = (self.0.get(), other.0.get());
        let changed = ((one ^ other) & Self::LETTERS).count_ones();
        changed <= 2 * most && (one >> 26).abs_diff(other >> 26) <= most
    }
}

/// Whether a character is a letter, or a mark of one, such as the virama of Devanagari.
fn is_letter(c: char) -> bool {
    c.is_alphabetic() || is_mark(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::edits::edits;
    use proptest::prelude::*;

    #[test]
    fn only_words_have_an_outline() {
        let outline = |term: &str| Outline::of(term.as_bytes());
        for term in [
            "",
            "il10",
            "2024",
            "a_b",
            "\u{1}hedge",
            "冬眠\u{1}",
            &"a".repeat(41),
        ] {
            assert_eq!(outline(term), None, "{term}");
        }
        assert!(outline("hedge").is_some() && outline("ёжик").is_some());
        assert_eq!(Outline::of(&[0xff]), None);
    }

    proptest! {
        #[test]
        fn no_near_word_is_missed(one in "[a-dж-к]{1,8}", other in "[a-dж-к]{1,8}", most in 1_u32..3) {
            let letters = |word: &str| word.chars().collect::<Vec<_>>();
            if edits(&letters(&one), &letters(&other), most as usize).is_some() {
                let outlines = [one, other].map(|word| Outline::of(word.as_bytes()).unwrap());
                prop_assert!(outlines[0].may_be_near(outlines[1], most));
            }
        }
    }
}
