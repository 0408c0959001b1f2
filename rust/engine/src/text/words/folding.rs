//! Lower case without accents.

use std::sync::LazyLock;

use unicode_normalization::char::decompose_canonical;

use super::classes::{CLASSES, Class};

/// Letters of a Latin stem; shorter words have none.
pub(super) const LATIN_STEM: usize = 6;
/// Code points of the stem of a word in another alphabet; shorter words have none.
pub(super) const OTHER_STEM: usize = 5;
/// Above this no letter has an accent that is folded.
const ACCENTED: u32 = 0x2000;

/// Letters of Devanagari that [`VIRAMA`] makes a nasal, which is also written as [`ANUSVARA`]: *हिन्दी* and *हिंदी*.
const NASALS: [char; 5] = ['ङ', 'ञ', 'ण', 'न', 'म'];
const VIRAMA: char = '\u{94D}';
const ANUSVARA: char = '\u{902}';
const CANDRABINDU: char = '\u{901}';

/// The fold of each character below [`ACCENTED`], and the letter under all its accents.
struct Folds {
    /// None for dropped characters.
    folded: Vec<Option<char>>,
    bare: Vec<char>,
}

static FOLDS: LazyLock<Folds> = LazyLock::new(|| {
    let below = || (0..ACCENTED).map(|number| char::from_u32(number).unwrap_or_default());
    Folds {
        folded: below()
            .map(|c| is_kept(c).then(|| without_accent(lower(c), 1)))
            .collect(),
        bare: below()
            .map(|c| without_accent(lower(c), usize::MAX))
            .collect(),
    }
});

/// Append a word in lower case, each letter without its accent if it has just one. The accent of `й`
/// stays, since it makes another letter. Dropped characters are left out, and the nasals of Devanagari are one.
pub(super) fn fold_into(word: &str, out: &mut String) {
    let folds = &*FOLDS;
    for c in word.chars() {
        if c.is_ascii() {
            out.push(c.to_ascii_lowercase());
        } else if c == VIRAMA && out.ends_with(NASALS) {
            out.pop();
            out.push(ANUSVARA);
        } else if let Some(folded) = folds.folded.get(c as usize) {
            out.extend(*folded);
        } else if is_kept(c) {
            out.push(lower(c));
        }
    }
}

/// Whether words are searched with a character.
fn is_kept(c: char) -> bool {
    CLASSES.of(c) != Class::Dropped
}

/// Append a folded word without any accents.
pub(super) fn bare_into(folded: &str, out: &mut String) {
    let folds = &*FOLDS;
    let bare = |c: char| *folds.bare.get(c as usize).unwrap_or(&c);
    out.extend(folded.chars().map(bare));
}

/// Return the letter in lower case of which a character is a form: its capital letter's, so that both sigmas are one.
fn lower(c: char) -> char {
    let mut upper = c.to_uppercase();
    let capital = upper.next().filter(|_| upper.next().is_none());
    match c {
        CANDRABINDU => ANUSVARA,
        // Other characters of the lower case of `İ` are dropped accents.
        c => capital.unwrap_or(c).to_lowercase().next().unwrap_or(c),
    }
}

/// The letter of a character with one accent to `most`.
fn without_accent(c: char, most: usize) -> char {
    if c == 'й' {
        return c;
    }
    let (mut base, mut accents, mut others) = (c, 0, 0);
    decompose_canonical(c, |part| match part {
        '\u{300}'..='\u{36F}' | '\u{93C}' => accents += 1,
        part => {
            base = part;
            others += 1;
        }
    });
    if others == 1 && accents <= most {
        base
    } else {
        c
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(word: &str) -> String {
        let mut out = String::new();
        fold_into(word, &mut out);
        out
    }

    #[test]
    fn case_and_one_accent_go() {
        for (word, expected) in [
            ("Ёжик", "ежик"),
            ("Йод", "йод"),
            ("ΟΔΌΣ", "οδοσ"),
            ("οδός", "οδοσ"),
            ("Überwintern", "uberwintern"),
            ("Tiếng", "tiếng"),
            ("İZMİR", "izmir"),
            ("µm", "μm"),
            ("כתב", "כתב"),
            ("𞤀", "𞤢"),
            ("हिन्दी", "हिंदी"),
            ("पाँच", "पांच"),
            ("\u{929}", "न"),
        ] {
            assert_eq!(folded(word), expected);
        }
    }

    #[test]
    fn all_accents_go() {
        for (word, expected) in [("nguyễn", "nguyen"), ("dường", "duong"), ("é", "e")] {
            let mut out = String::new();
            bare_into(word, &mut out);
            assert_eq!(out, expected);
        }
    }

    /// A sum over the folds of all characters with a class: other tables of case or of
    /// decompositions would change it.
    #[test]
    fn no_fold_has_changed_since_version_3() {
        let mut sum = 0xcbf2_9ce4_8422_2325_u64;
        let is_folded = |c: &char| !matches!(CLASSES.of(*c), Class::Separator | Class::Symbol);
        for c in ('\0'..=char::MAX).filter(is_folded) {
            let mut text = folded(&c.to_string());
            bare_into(&text.clone(), &mut text);
            for byte in text.bytes() {
                sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        assert_eq!(
            sum, 2_169_690_218_052_004_764,
            "folds of version 3 changed: files would be searched by other tokens"
        );
    }
}
