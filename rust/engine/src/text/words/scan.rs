//! The words and runs of a text, before they are tokens.

use std::ops::Range;

use super::classes::{CLASSES, Class};
use super::composed::ComposedText;

/// The fewest words of a text in a language with rich endings.
const LEAST_WORDS: usize = 4;
/// In such a text at least one of so many Latin words has an accent. In English texts fewer words have: names, and words from other
/// languages. Above 50, texts in English with a name count as well; below 20, German texts do not.
const WORDS_PER_ACCENT: usize = 50;

/// A word, or a run of characters of a script without spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub kind: Kind,
    pub range: Range<usize>,
    /// Whether there are marks or dropped characters in it.
    pub has_marks: bool,
    /// Whether there are Han characters in it that are searched as others.
    pub has_forms: bool,
}

/// The kind of an item for tokenizing. A word of several alphabets has the last of these kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Emoji and currency signs, which are words without stems.
    Symbol,
    Cjk,
    Hangul,
    Thai,
    Latin,
    Other,
    Arabic,
}

impl Kind {
    /// Whether it is cut into units rather than searched as a word.
    pub fn is_unspaced(self) -> bool {
        self <= Self::Thai
    }

    pub fn of(class: Class) -> Option<Self> {
        match class {
            Class::Symbol => Some(Self::Symbol),
            Class::Cjk | Class::HanForm => Some(Self::Cjk),
            Class::Hangul => Some(Self::Hangul),
            Class::Thai => Some(Self::Thai),
            Class::Number | Class::Latin => Some(Self::Latin),
            Class::Other => Some(Self::Other),
            Class::Arabic => Some(Self::Arabic),
            Class::Separator | Class::Mark | Class::Dropped => None,
        }
    }
}

/// The items of a text, and what says whether it is in a language with rich endings.
#[derive(Debug, Default)]
pub(super) struct ScannedText {
    pub items: Vec<Item>,
    latin_words: usize,
    accented_words: usize,
}

impl ScannedText {
    /// Read a composed text.
    pub fn of(composed: &ComposedText<'_>) -> Self {
        let classes = &*CLASSES;
        let text = &*composed.text;
        let mut scan = Self {
            accented_words: composed.folded_letters,
            ..Self::default()
        };
        let mut current: Option<Item> = None;
        let mut is_accented = false;
        for (at, c) in text.char_indices() {
            let end = at + c.len_utf8();
            let class = classes.of(c);
            if let Some(kind) = Kind::of(class) {
                let has_accent = class == Class::Latin && !c.is_ascii();
                let is_form = class == Class::HanForm;
                match &mut current {
                    Some(item) if item.kind == kind => {
                        item.range.end = end;
                        item.has_forms |= is_form;
                        is_accented |= has_accent;
                    }
                    Some(item) if !item.kind.is_unspaced() && !kind.is_unspaced() => {
                        item.kind = item.kind.max(kind);
                        item.range.end = end;
                        is_accented |= has_accent;
                    }
                    _ => {
                        scan.finish(current.take(), is_accented);
                        is_accented = has_accent;
                        current = Some(Item {
                            kind,
                            range: at..end,
                            has_marks: false,
                            has_forms: is_form,
                        });
                    }
                }
            } else if class == Class::Separator {
                scan.finish(current.take(), is_accented);
            } else if let Some(item) = &mut current {
                item.range.end = end;
                item.has_marks = true;
            }
        }
        scan.finish(current, is_accented);
        scan
    }

    /// Whether a Latin word has an accent, or a letter that is folded to others.
    pub fn has_accented_latin(&self) -> bool {
        self.accented_words > 0
    }

    /// Whether enough of the Latin words have accents.
    pub fn is_inflected_latin(&self) -> bool {
        self.latin_words >= LEAST_WORDS
            && self.has_accented_latin()
            && self.accented_words * WORDS_PER_ACCENT >= self.latin_words
    }

    fn finish(&mut self, item: Option<Item>, is_accented: bool) {
        let Some(item) = item else { return };
        if item.kind == Kind::Latin {
            self.latin_words += 1;
            self.accented_words += usize::from(is_accented);
        }
        self.items.push(item);
    }
}
