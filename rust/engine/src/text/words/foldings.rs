//! The characters that are searched as others, from a table that never changes.
//!
//! `scripts/write_foldings.py` writes the table from the data of Unicode and `OpenCC`.

use std::sync::LazyLock;

use super::pages::Pages;
use crate::rule;

rule! {
    /// Letters, digits and Han characters that are written one for the other are the same.
    pub(crate) static FOLDINGS = "foldings" { }
}

/// A line for each: its kind, the character in hexadecimal, and the text that is searched instead of it.
const TABLE: &str = include_str!("foldings.txt");

/// Where a folding happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoldingKind {
    /// Before a text is cut into words, since the classes of characters change: digits, ligatures, widths.
    Composing,
    /// In a token, where it costs least: Han characters.
    Han,
}

/// Each folding of a kind, in the order of the characters.
pub(super) fn of_kind(kind: FoldingKind) -> impl Iterator<Item = (char, &'static str)> {
    let letter = match kind {
        FoldingKind::Composing => "F",
        FoldingKind::Han => "H",
    };
    TABLE.lines().filter_map(move |line| {
        let rest = line.strip_prefix(letter)?.strip_prefix(' ')?;
        let (code, text) = rest.split_once(' ')?;
        Some((char::from_u32(u32::from_str_radix(code, 16).ok()?)?, text))
    })
}

static COMPOSING: LazyLock<Vec<(char, &'static str)>> =
    LazyLock::new(|| of_kind(FoldingKind::Composing).collect());

/// The form of each Han character, NUL for one that is its own.
static HAN: LazyLock<Pages<char>> = LazyLock::new(|| {
    let forms = of_kind(FoldingKind::Han);
    Pages::new(
        forms.filter_map(|(c, text)| Some((c, c, text.chars().next()?))),
        '\0',
    )
});

/// The text that replaces a character before words are cut; empty for a character without one.
pub(super) fn composed_text(c: char) -> &'static str {
    let at = COMPOSING.binary_search_by_key(&c, |(known, _)| *known);
    at.ok()
        .and_then(|at| COMPOSING.get(at))
        .map_or("", |(_, text)| text)
}

/// The Han character that is searched instead of a character; itself for most.
pub(super) fn han_form(c: char) -> char {
    match HAN.of(c) {
        '\0' => c,
        form => form,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_no_folding_has_a_folding() {
        for kind in [FoldingKind::Composing, FoldingKind::Han] {
            let all: Vec<(char, &str)> = of_kind(kind).collect();
            assert!(all.len() > 3_000);
            assert!(all.is_sorted_by(|one, other| one.0 < other.0));
            for (c, text) in all {
                let is_folded = |c: char| match kind {
                    FoldingKind::Composing => composed_text(c).is_empty(),
                    FoldingKind::Han => composed_text(c).is_empty() && han_form(c) == c,
                };
                assert!(!c.is_ascii() && !text.is_empty(), "{c}");
                let is_in_place = text.len() == c.len_utf8() && text.chars().count() == 1;
                assert!(kind == FoldingKind::Composing || is_in_place, "{c}");
                assert!(text.chars().all(is_folded), "{c}");
            }
        }
    }
}
