//! A text for tokenizing: composed, and with foldings.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::{Range, RangeInclusive};
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, compose};

use super::foldings::{self, FOLDINGS, FoldingKind};
use super::pages::{self, Pages};

/// How a character takes part in composing, from a table that never changes. Characters that Unicode 18 does
/// not assign are plain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Composing {
    /// Begins a group.
    Plain,
    /// Begins a group, and has a canonical decomposition.
    Precomposed,
    /// A mark that composes with no character. Several in a row may be out of order.
    Mark,
    /// May compose with the characters before it.
    Composes,
    /// Is never in composed text, since its canonical decomposition does not compose again.
    Decomposes,
    /// Is replaced by other characters: a ligature, a digit, a letter of another width.
    Folded,
}

/// The ranges of the characters that are not plain, as in `classes.txt`.
const TABLE: &str = include_str!("composing.txt");

static COMPOSING: LazyLock<Pages<Composing>> = LazyLock::new(|| {
    let composing = pages::ranges(TABLE, |letter| match letter {
        "P" => Some(Composing::Precomposed),
        "D" => Some(Composing::Decomposes),
        "K" => Some(Composing::Mark),
        "C" => Some(Composing::Composes),
        _ => None,
    });
    let folded = foldings::of_kind(FoldingKind::Composing).map(|(c, _)| (c, c, Composing::Folded));
    Pages::new(composing.chain(folded), Composing::Plain)
});

impl Composing {
    fn begins_group(self) -> bool {
        matches!(self, Self::Plain | Self::Precomposed)
    }
}

/// A text in NFC with some characters replaced ([`foldings`]), and the places of the others in the source.
pub(super) struct ComposedText<'t> {
    pub text: Cow<'t, str>,
    /// The pieces of the text in order; empty if the text is the source.
    pieces: Vec<Piece>,
    /// The number of the piece where the last range began: ranges come in order.
    last: Cell<usize>,
    /// The number of letters such as `ß` in the source, which tell its language.
    pub folded_letters: usize,
}

/// Letters of languages with Latin letters. Ligatures and letters of other widths are also in English texts.
const LANGUAGE_LETTERS: RangeInclusive<char> = '\u{C0}'..='\u{24F}';

/// Farther pieces are found by binary search.
const NEAR: usize = 8;

/// A part of a composed text.
#[derive(Debug, Clone)]
struct Piece {
    /// The offset in the text.
    at: usize,
    /// The range in the source.
    source: Range<usize>,
    /// Whether the text has the bytes of the source. Otherwise each character comes from the whole range.
    is_copy: bool,
}

impl<'t> ComposedText<'t> {
    /// Compose a text. One that is composed already is borrowed.
    pub fn of(source: &'t str) -> Self {
        let Some(first) = first_to_compose(source) else {
            return Self {
                text: Cow::Borrowed(source),
                pieces: Vec::new(),
                last: Cell::new(0),
                folded_letters: 0,
            };
        };
        let mut composer = Composer::of(source, first);
        composer.run();
        Self {
            text: Cow::Owned(composer.text),
            pieces: composer.pieces,
            last: Cell::new(0),
            folded_letters: composer.folded_letters,
        }
    }

    /// The range in the source of a range of the text that is not empty.
    pub fn source_range(&self, range: Range<usize>) -> Range<usize> {
        if self.pieces.is_empty() {
            return range;
        }
        let first = self.piece(range.start, self.last.get());
        let last = self.piece(range.end.saturating_sub(1), first);
        self.last.set(first);
        let (Some(first), Some(last)) = (self.pieces.get(first), self.pieces.get(last)) else {
            return 0..0;
        };
        let shifted = |piece: &Piece, offset: usize| piece.source.start + (offset - piece.at);
        let start = if first.is_copy {
            shifted(first, range.start)
        } else {
            first.source.start
        };
        let end = if last.is_copy {
            shifted(last, range.end)
        } else {
            last.source.end
        };
        start..end
    }

    /// Return the number of the piece of an offset, which is probably at `from` or soon after.
    fn piece(&self, offset: usize, from: usize) -> usize {
        let begun = |piece: &&Piece| piece.at <= offset;
        let near = self.pieces.iter().skip(from).take(NEAR);
        let count = near.take_while(begun).count();
        if (1..NEAR).contains(&count) {
            from + count - 1
        } else {
            let next = self.pieces.partition_point(|piece| piece.at <= offset);
            next.saturating_sub(1)
        }
    }
}

/// The offset of the first group to compose; None if the text is composed.
fn first_to_compose(source: &str) -> Option<usize> {
    let table = &*COMPOSING;
    let (mut group, mut has_mark) = (0, false);
    for (at, c) in source.char_indices() {
        if c.is_ascii() {
            (group, has_mark) = (at, false);
            continue;
        }
        match table.of(c) {
            composing if composing.begins_group() => (group, has_mark) = (at, false),
            Composing::Mark if !has_mark => has_mark = true,
            _ => return Some(group),
        }
    }
    None
}

/// Composes group by group: a plain character and the others after it.
struct Composer<'t> {
    source: &'t str,
    text: String,
    pieces: Vec<Piece>,
    /// The first byte of the source that is not in `text`, nor in `group`.
    copied: usize,
    group: Vec<char>,
    /// Whether the group is a plain character and marks that do not decompose.
    is_simple: bool,
    place: Range<usize>,
    /// The marks of a group that did not compose.
    rest: Vec<char>,
    folded_letters: usize,
}

impl<'t> Composer<'t> {
    /// A composer of a text that has no group to compose before `first`.
    fn of(source: &'t str, first: usize) -> Self {
        let mut composer = Self {
            source,
            text: String::with_capacity(source.len()),
            pieces: Vec::new(),
            copied: 0,
            group: Vec::new(),
            is_simple: false,
            place: 0..0,
            rest: Vec::new(),
            folded_letters: 0,
        };
        composer.copy_to(first);
        composer
    }

    fn run(&mut self) {
        let source = self.source;
        while let Some(length) = first_to_compose(&source[self.copied..]) {
            self.copy_to(self.copied + length);
            self.compose_group();
        }
        self.copy_to(source.len());
    }

    /// Copy the source up to an offset.
    fn copy_to(&mut self, end: usize) {
        if end > self.copied {
            self.pieces.push(Piece {
                at: self.text.len(),
                source: self.copied..end,
                is_copy: true,
            });
            self.text.push_str(&self.source[self.copied..end]);
            self.copied = end;
        }
    }

    /// Compose the groups up to the next plain character after the first.
    fn compose_group(&mut self) {
        let (table, source, start) = (&*COMPOSING, self.source, self.copied);
        let is_folding = FOLDINGS.is_on();
        for (at, c) in source[start..].char_indices() {
            let (at, end) = (start + at, start + at + c.len_utf8());
            let composing = table.of(c);
            if composing.begins_group() && at > start {
                break;
            }
            if composing == Composing::Folded && is_folding {
                self.folded_letters += usize::from(LANGUAGE_LETTERS.contains(&c));
                for part in foldings::composed_text(c).chars() {
                    self.push(part, table.of(part), at..end);
                }
            } else {
                self.push(c, composing, at..end);
            }
            self.copied = end;
        }
        self.flush();
    }

    fn push(&mut self, c: char, composing: Composing, place: Range<usize>) {
        if composing.begins_group() {
            self.flush();
        }
        if self.group.is_empty() {
            self.place = place;
            self.is_simple = composing == Composing::Plain;
        } else {
            self.place.end = place.end;
            self.is_simple &= matches!(composing, Composing::Mark | Composing::Composes);
        }
        self.group.push(c);
    }

    fn flush(&mut self) {
        if !self.group.is_empty() {
            self.pieces.push(Piece {
                at: self.text.len(),
                source: self.place.clone(),
                is_copy: false,
            });
            if !self.is_simple || !self.compose_simple() {
                self.text.extend(self.group.iter().copied().nfc());
            }
            self.group.clear();
        }
    }

    /// Append the group in NFC, as the standard composes it, or return false if it begins again within. The
    /// characters of the group do not decompose.
    fn compose_simple(&mut self) -> bool {
        let Some((first, marks)) = self.group.split_first_mut() else {
            return false;
        };
        let class = |mark: &char| canonical_combining_class(*mark);
        let is_single = marks.len() <= 1;
        if !is_single {
            let sorted = marks.iter().filter(|mark| class(mark) > 0).count();
            if sorted == marks.len() {
                marks.sort_by_key(class);
            } else if sorted > 0 {
                return false;
            }
        }
        self.rest.clear();
        let mut starter = *first;
        for mark in marks.iter() {
            // A mark is blocked by a kept one of its class.
            let is_blocked = self
                .rest
                .last()
                .is_some_and(|kept| class(kept) >= class(mark));
            match compose(starter, *mark) {
                Some(composed) if !is_blocked => starter = composed,
                _ if !is_single && class(mark) == 0 => return false,
                _ => self.rest.push(*mark),
            }
        }
        self.text.push(starter);
        self.text.extend(&self.rest);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::iter::once;

    use proptest::prelude::*;
    use unicode_normalization::char::decompose_canonical;
    use unicode_normalization::{IsNormalized, is_nfc_quick};

    use super::*;

    /// How a character composes by the properties of Unicode as the crate has them.
    fn composing_by_properties(c: char) -> Composing {
        let mut is_canonical = true;
        decompose_canonical(c, |part| is_canonical &= part == c);
        let is_composed = is_nfc_quick(once(c)) == IsNormalized::Yes;
        let is_mark = canonical_combining_class(c) != 0;
        match (is_composed, is_canonical) {
            _ if !foldings::composed_text(c).is_empty() => Composing::Folded,
            (false, false) => Composing::Decomposes,
            (false, true) => Composing::Composes,
            (true, _) if is_mark => Composing::Mark,
            (true, false) => Composing::Precomposed,
            (true, true) => Composing::Plain,
        }
    }

    #[test]
    fn the_table_composes_as_unicode_18() {
        let differs = |c: &char| COMPOSING.of(*c) != composing_by_properties(*c);
        let different: Vec<String> = ('\0'..=char::MAX)
            .filter(differs)
            .map(|c| format!("U+{:04X}", c as u32))
            .collect();
        assert!(
            different.is_empty(),
            "a newer Unicode composes otherwise, which version 3 of the tokenizer must not follow: \
             {different:?}"
        );
    }

    /// Compose every group of a text; each character of the result with its range in the source.
    fn composed_by_groups(source: &str) -> Vec<(char, Range<usize>)> {
        let mut groups: Vec<(String, Range<usize>)> = Vec::new();
        for (at, c) in source.char_indices() {
            let place = at..at + c.len_utf8();
            let mut add = |part: char| match groups.last_mut() {
                Some((group, range)) if !COMPOSING.of(part).begins_group() => {
                    group.push(part);
                    range.end = place.end;
                }
                _ => groups.push((part.to_string(), place.clone())),
            };
            match foldings::composed_text(c) {
                "" => add(c),
                text => text.chars().for_each(add),
            }
        }
        let chars = |(group, range): (String, Range<usize>)| {
            let chars: Vec<char> = group.nfc().collect();
            chars.into_iter().map(move |c| (c, range.clone()))
        };
        groups.into_iter().flat_map(chars).collect()
    }

    #[test]
    fn every_pair_of_a_character_and_a_mark_is_composed_as_by_unicode() {
        let of = |wanted: Composing| ('\0'..=char::MAX).filter(move |c| COMPOSING.of(*c) == wanted);
        let marks: Vec<char> = of(Composing::Composes).collect();
        for first in of(Composing::Plain).filter(|c| (*c as u32) < 0x1_4000) {
            for mark in marks.iter().step_by(if first.is_ascii() { 1 } else { 7 }) {
                let text = String::from_iter([first, *mark]);
                assert_eq!(ComposedText::of(&text).text, text.nfc().collect::<String>());
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn groups_of_marks_are_composed_as_by_unicode(
            groups in prop::collection::vec(
                ("[aeouăêcKक\u{915}\u{9C7}\u{1100}\u{1112}\u{AC00}か]",
                 "[\u{300}-\u{303}\u{306}\u{308}\u{31B}\u{323}\u{327}\u{338}\u{345}\u{64B}-\u{653}\u{5B0}-\u{5BC}\u{93C}\u{94D}\u{9BE}\u{1161}\u{11A8}\u{3099}]{0,5}"),
                0..6,
            ),
        ) {
            let text: String = groups.into_iter().map(|(first, marks)| first + &marks).collect();
            prop_assert_eq!(ComposedText::of(&text).text, text.nfc().collect::<String>());
        }

        #[test]
        fn only_groups_that_change_are_composed(text in super::super::tests::text()) {
            let expected = composed_by_groups(&text);
            let composed = ComposedText::of(&text);
            prop_assert_eq!(&*composed.text, expected.iter().map(|(c, _)| c).collect::<String>());
            // A token begins with a character that is not a mark, and ends before one.
            let mut bounds: Vec<(usize, usize)> = Vec::new();
            let mut at = 0;
            for (number, (c, _)) in expected.iter().enumerate() {
                if COMPOSING.of(*c).begins_group() {
                    bounds.push((at, number));
                }
                at += c.len_utf8();
            }
            bounds.push((at, expected.len()));
            for (nth, (start, first)) in bounds.iter().enumerate() {
                for (end, last) in &bounds[nth + 1..] {
                    let whole = expected[*first].1.start..expected[last - 1].1.end;
                    prop_assert_eq!(composed.source_range(*start..*end), whole);
                }
            }
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
            let composed = ComposedText::of(source);
            assert_eq!(composed.text, expected);
            let whole = composed.source_range(0..expected.len());
            assert_eq!(whole, 0..source.len());
        }
        let composed = ComposedText::of("ｽﾞﾐ");
        assert_eq!(composed.source_range(0..3), 0..6);
        assert_eq!(composed.source_range(3..6), 6..9);
    }
}
