//! The words and signs of a text, and the likeness of two texts (spec/memory.md, "What is the same").

use hedgerow_engine::text::words::is_unspaced;
use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::format::sections::first_heading;
use crate::text::{casefold, is_space, is_word, trimmed_start};

/// The separator of units in a digest, which no unit has: control characters are white space or removed.
const SEPARATOR: [u8; 1] = [0];
/// Taken from a count before it is rounded up, so that rounding loses no pair at a bound.
const ROUNDING: f64 = 1e-9;

/// The SHA-256 of the words and signs of a text in their order, and the set of its shingles.
///
/// Shingles are its words and signs, and each two that are neighbors. Words alone would make texts alike that say the
/// same of others (*Ana reports to Bob*); pairs alone would lose lists of short lines in another order. Takes linear
/// time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    digest: [u8; 32],
    /// The hashes of the shingles, ascending.
    shingles: Vec<u64>,
}

impl Fingerprint {
    /// Return the fingerprint of the text of a memory without its title; None if it has no word.
    ///
    /// A title is a level-1 heading on the first line. It counts if the rest has no word.
    pub fn of(body: &str) -> Option<Self> {
        let text = trimmed_start(body);
        let (line, below) = text.split_once('\n').unwrap_or((text, ""));
        let has_title = line.starts_with("# ") || line.starts_with("#\t");
        if has_title && !first_heading(line).is_empty() {
            let found = Self::of_text(below);
            if found.is_some() {
                return found;
            }
        }
        Self::of_text(body)
    }

    fn of_text(text: &str) -> Option<Self> {
        let (mut digest, mut shingles) = (Sha256::new(), Vec::new());
        let (mut has_word, mut previous) = (false, None::<u64>);
        visit_units(&normalized(text), |unit| {
            has_word |= unit.starts_with(is_word);
            digest.update(unit);
            digest.update(SEPARATOR);
            let hash = hash_of(unit);
            shingles.push(hash);
            if let Some(previous) = previous.replace(hash) {
                shingles.push(scattered(previous.rotate_left(1) ^ hash));
            }
        });
        shingles.sort_unstable();
        shingles.dedup();
        has_word.then(|| Self {
            digest: digest.finalize().into(),
            shingles,
        })
    }

    /// The SHA-256 of the words and signs in their order. Texts with an equal one are the same.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The hashes of the shingles, ascending and each once. There is at least one.
    pub fn shingles(&self) -> &[u64] {
        &self.shingles
    }

    /// Return the fingerprint with other hashes of its shingles. Different hashes have to stay different.
    #[must_use]
    pub fn with_hashes(mut self, hash: impl Fn(u64) -> u64) -> Self {
        for shingle in &mut self.shingles {
            *shingle = hash(*shingle);
        }
        self.shingles.sort_unstable();
        self
    }

    /// Return the share of shingles that two texts have in common, of those that either has: their Jaccard index.
    pub fn likeness(&self, other: &Self) -> f64 {
        self.likeness_from(other, 0.0).unwrap_or(0.0)
    }

    /// Return the likeness of two texts if it is `least` or more. Ends early if it is less.
    pub fn likeness_from(&self, other: &Self, least: f64) -> Option<f64> {
        let (one, other) = (&self.shingles, &other.shingles);
        let total = one.len() + other.len();
        let needed = at_least(total, least / (1.0 + least));
        let (mut at, mut beside, mut common) = (0, 0, 0);
        while at < one.len() && beside < other.len() {
            if common + (one.len() - at).min(other.len() - beside) < needed {
                return None;
            }
            // Without branches: which list goes on is as good as random.
            let (next, opposite) = (one[at], other[beside]);
            common += usize::from(next == opposite);
            at += usize::from(next <= opposite);
            beside += usize::from(opposite <= next);
        }
        let likeness = jaccard(common, total);
        (likeness >= least).then_some(likeness)
    }
}

/// A likeness in percent, rounded down: 100 only if the texts have the same shingles.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to 100"
)]
pub fn percent(likeness: f64) -> u32 {
    (100.0 * likeness + ROUNDING) as u32
}

/// The fewest elements that are a share of a set of `size`. Rounding never makes it more.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "texts have fewer than 2^53 words"
)]
pub(crate) fn at_least(size: usize, share: f64) -> usize {
    (share * size as f64 - ROUNDING).ceil() as usize
}

/// The largest size of a set of which `count` elements are a share. Rounding never makes it less.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "texts have fewer than 2^53 words"
)]
pub(crate) fn at_most(count: usize, share: f64) -> usize {
    (count as f64 / share + ROUNDING) as usize
}

/// The Jaccard index of two sets with `common` elements in common and `total` in both lists.
#[allow(
    clippy::cast_precision_loss,
    reason = "texts have fewer than 2^53 words"
)]
fn jaccard(common: usize, total: usize) -> f64 {
    common as f64 / (total - common) as f64
}

/// A text in Unicode's form NFKC with full case folding, without invisible characters.
///
/// Numbers that are no digits stay: 10² is not 102.
fn normalized(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut composed = String::with_capacity(text.len());
    for part in text.split_inclusive(is_other_number) {
        let number = part.chars().next_back().filter(|one| is_other_number(*one));
        let plain = &part[..part.len() - number.map_or(0, char::len_utf8)];
        composed.extend(plain.nfkc().filter(|one| !is_invisible(*one)));
        composed.extend(number);
    }
    casefold(&composed)
}

fn is_other_number(character: char) -> bool {
    !character.is_ascii() && character.general_category() == GeneralCategory::OtherNumber
}

/// Whether a character changes the look of others at most: joiners, soft hyphens, variation selectors.
fn is_invisible(character: char) -> bool {
    !character.is_ascii()
        && (matches!(character, '\u{fe00}'..='\u{fe0f}')
            || character.general_category() == GeneralCategory::Format)
}

/// Call `visit` with each word and each sign of a normalized text, in order.
///
/// A word is a run of letters, digits and `_`; in scripts without spaces each letter is one. Marks belong to the unit
/// before them.
fn visit_units(text: &str, mut visit: impl FnMut(&str)) {
    let mut start = None::<usize>;
    let mut is_open = false;
    for (at, character) in text.char_indices() {
        if start.is_some() && is_mark(character) {
            continue;
        }
        let is_spaced = is_word(character) && !is_unspaced(character);
        if is_open && is_spaced {
            continue;
        }
        if let Some(start) = start {
            visit(&text[start..at]);
        }
        start = (!is_space(character)).then_some(at);
        is_open = is_spaced;
    }
    if let Some(start) = start {
        visit(&text[start..]);
    }
}

/// Whether a character belongs to the letter before it, such as an accent or a vowel sign of Hindi.
fn is_mark(character: char) -> bool {
    !character.is_ascii() && character.general_category_group() == GeneralCategoryGroup::Mark
}

/// A hash of a unit, the same in every process: FNV-1a.
fn hash_of(unit: &str) -> u64 {
    let hash = unit.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    scattered(hash)
}

/// Spread the bits of a hash, so that its first bits are as good as any.
fn scattered(hash: u64) -> u64 {
    let mut hash = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    hash ^ (hash >> 32)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn units(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        visit_units(&normalized(text), |unit| found.push(unit.to_owned()));
        found
    }

    fn of(text: &str) -> Fingerprint {
        Fingerprint::of(text).unwrap()
    }

    #[test]
    fn a_text_has_words_and_signs() {
        for (text, expected) in [
            ("", vec![]),
            (
                "Keep it at -18 °C.",
                vec!["keep", "it", "at", "-", "18", "°", "c", "."],
            ),
            ("C++ x>=3", vec!["c", "+", "+", "x", ">", "=", "3"]),
            (
                "- **it**\u{a0}don\u{2019}t",
                vec!["-", "*", "*", "it", "*", "*", "don", "\u{2019}", "t"],
            ),
            ("10² 102", vec!["10²", "102"]),
            ("刺猬gdp增长", vec!["刺", "猬", "gdp", "增", "长"]),
            ("की ปีนี้ Cafe\u{301}", vec!["की", "ปี", "นี้", "café"]),
            ("\u{301}a \u{301}", vec!["\u{301}", "a", "\u{301}"]),
        ] {
            assert_eq!(units(text), expected, "{text}");
        }
    }

    #[test]
    fn case_white_space_form_and_title_do_not_count() {
        let text = of("We cut the office hedge, 2 m high.");
        for other in [
            "WE CUT\n\nthe\toffice hedge , 2 m high.",
            "# Title\n\nWe cut the office hedge, 2 m high.",
            "We cut the o\u{fb03}ce hedge\u{ff0c} \u{ff12} m high.",
            "We cut the of\u{ad}fice\u{200b} hedge, 2 m high.",
        ] {
            assert_eq!(of(other), text, "{other}");
        }
        assert_eq!(of("刺猬\n冬眠 。"), of("刺猬冬眠。"));
        assert_eq!(of("\u{1109}\u{1165}울"), of("서울"));
        assert_eq!(of("# Only a title\n\n…"), of("# only a title …"));
        for empty in ["", "…", "# \n\n- \u{2014}", "🌳 +"] {
            assert_eq!(Fingerprint::of(empty), None, "{empty}");
        }
    }

    #[test]
    fn every_word_and_sign_counts_and_their_order() {
        for (one, other) in [
            ("at -18 degrees", "at 18 degrees"),
            ("in C++", "in C#"),
            ("x > 3", "x < 3"),
            ("1,000 m", "1.000 m"),
            ("- [x] done", "- [ ] done"),
            ("now here", "nowhere"),
            ("ana reports to bob", "bob reports to ana"),
            ("किताब की", "किताब के"),
            ("schon da", "schön da"),
            ("10² m", "102 m"),
        ] {
            assert_ne!(of(one).digest(), of(other).digest(), "{one} | {other}");
            assert!(of(one).likeness(&of(other)) < 1.0, "{one} | {other}");
        }
    }

    #[test]
    fn likeness_falls_with_the_size_of_an_edit() {
        let text = of(
            "We cut the hedge in August, after the birds have left. Then we sweep the path. Leaves go on the heap.",
        );
        let mut last = 1.0;
        for edited in [
            "Leaves go on the heap. We cut the hedge in August, after the birds have left. Then we sweep the path.",
            "We cut the hedge in March, after the birds have left. Then we sweep the path. Leaves go on the heap.",
            "We cut the hedge in March, before the birds have left. Then we sweep the lawn. Leaves go on the heap.",
            "We cut the hedge in August.",
            "Slugs come out at night, when it is wet.",
        ] {
            let likeness = text.likeness(&of(edited));
            assert!(likeness < last, "{edited}: {likeness}");
            last = likeness;
        }
    }

    #[test]
    fn a_percentage_is_100_for_the_same_shingles_alone() {
        assert_eq!([1.0, 0.999, 0.29, 0.0].map(percent), [100, 99, 29, 0]);
    }

    #[test]
    fn a_run_of_accents_takes_nearly_linear_time() {
        let run = "a".to_owned() + &"\u{301}\u{323}".repeat(200_000);
        assert_eq!(units(&run).len(), 1);
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![any::<String>(), "[a-d ,]{1,30}", "[刺猬冬眠 a]{1,20}"]
    }

    proptest! {
        #[test]
        fn likeness_is_symmetric_and_1_for_the_same_shingles_alone(one in text(), other in text()) {
            if let (Some(one), Some(other)) = (Fingerprint::of(&one), Fingerprint::of(&other)) {
                let found = one.likeness(&other);
                prop_assert_eq!(found.to_bits(), other.likeness(&one).to_bits());
                prop_assert!((0.0..=1.0).contains(&found));
                prop_assert_eq!(found >= 1.0, one.shingles() == other.shingles());
                prop_assert!(one.digest() != other.digest() || found >= 1.0);
                for least in [0.0, 0.3, 0.65, found, 1.0] {
                    let expected = (found >= least).then_some(found);
                    prop_assert_eq!(one.likeness_from(&other, least), expected);
                }
            }
        }
    }
}
