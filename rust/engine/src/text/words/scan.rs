//! The words and runs of a text, before they are tokens.

use std::ops::Range;

use super::classes::{CLASSES, Class};

/// The most frequent function words of English, in lower case and sorted, without those that are frequent in
/// other languages too (`a`, `in`, `an`, `i`, `he`, `me`, `so`, `no`, `am`, `do`, `has`).
const FREQUENT: [&str; 38] = [
    "about", "and", "are", "as", "at", "be", "been", "but", "by", "can", "for", "from", "had",
    "have", "his", "is", "it", "its", "not", "of", "on", "or", "that", "the", "their", "they",
    "this", "to", "was", "were", "what", "when", "which", "who", "will", "with", "would", "you",
];

/// A word, or a run of characters of a script without spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub kind: Kind,
    pub range: Range<usize>,
    /// Whether there are marks or dropped characters in it.
    pub has_marks: bool,
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
            Class::Cjk => Some(Self::Cjk),
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
    frequent_words: usize,
    pub has_accented_latin: bool,
}

impl ScannedText {
    /// Read a composed text.
    pub fn of(text: &str) -> Self {
        let classes = &*CLASSES;
        let mut scan = Self::default();
        let mut current: Option<Item> = None;
        for (at, c) in text.char_indices() {
            let end = at + c.len_utf8();
            let class = classes.of(c);
            if let Some(kind) = Kind::of(class) {
                scan.has_accented_latin |= class == Class::Latin && !c.is_ascii();
                match &mut current {
                    Some(item) if item.kind == kind => item.range.end = end,
                    Some(item) if !item.kind.is_unspaced() && !kind.is_unspaced() => {
                        item.kind = item.kind.max(kind);
                        item.range.end = end;
                    }
                    _ => {
                        scan.finish(text, current.take());
                        current = Some(Item {
                            kind,
                            range: at..end,
                            has_marks: false,
                        });
                    }
                }
            } else if class == Class::Separator {
                scan.finish(text, current.take());
            } else if let Some(item) = &mut current {
                item.range.end = end;
                item.has_marks = true;
            }
        }
        scan.finish(text, current);
        scan
    }

    /// Whether the text has Latin words with accents and nearly none of English.
    pub fn is_inflected_latin(&self) -> bool {
        self.has_accented_latin
            && self.latin_words >= 4
            && self.frequent_words * 100 < self.latin_words * 8
    }

    fn finish(&mut self, text: &str, item: Option<Item>) {
        let Some(item) = item else { return };
        if item.kind == Kind::Latin {
            self.latin_words += 1;
            self.frequent_words += usize::from(is_frequent_english(&text[item.range.clone()]));
        }
        self.items.push(item);
    }
}

/// Whether `word` is one of the 38 frequent words, in any case.
fn is_frequent_english(word: &str) -> bool {
    let mut bytes = [0; 5];
    let Some(lower) = bytes.get_mut(..word.len()) else {
        return false;
    };
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    let found = FREQUENT.binary_search_by(|frequent| frequent.as_bytes().cmp(lower));
    found.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_words_are_found_in_any_case() {
        assert!(FREQUENT.iter().all(|word| is_frequent_english(word)));
        for (word, expected) in [
            ("The", true),
            ("WOULD", true),
            ("", false),
            ("hedge", false),
            ("the\u{301}", false),
            ("theirs", false),
        ] {
            assert_eq!(is_frequent_english(word), expected, "{word}");
        }
    }
}
