//! BERT's tokenizer: words and punctuation, and the longest known pieces of each word.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// How a text is changed before it is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "the options of the tokenizer's file"
)]
pub(super) struct Normalizer {
    pub clean: bool,
    pub chinese: bool,
    pub strip_accents: bool,
    pub lowercase: bool,
}

/// The pieces of words, with their positions in the table.
#[derive(Debug, Default)]
pub(super) struct WordPieces {
    /// Pieces that begin a word.
    pub first: HashMap<String, usize>,
    /// Pieces that continue a word, without their prefix.
    pub rest: HashMap<String, usize>,
    /// The largest position, and one.
    pub size: usize,
}

/// A tokenizer.
#[derive(Debug)]
pub(super) struct WordPiece {
    pub normalizer: Normalizer,
    pub vocabulary: WordPieces,
    /// The piece for an unknown word, which no text contains.
    pub unknown: Option<usize>,
    /// The characters of a longer word are not looked up, which bounds the work for it.
    pub longest_word: usize,
}

impl WordPiece {
    /// The count of pieces that the tokenizer can name.
    pub fn pieces(&self) -> usize {
        self.vocabulary.size
    }

    /// Call `found` with each of the first `most` known pieces of a text.
    pub fn pieces_of(&self, text: &str, most: usize, found: &mut dyn FnMut(usize)) {
        let mut left = most;
        let mut word = String::new();
        let mut end_word = |word: &mut String| {
            if left > 0 && !word.is_empty() {
                left -= self.split(word, left, found);
            }
            word.clear();
            left > 0
        };
        for c in self.normalized(text) {
            if c.is_whitespace() || is_punctuation(c) || (self.normalizer.chinese && is_chinese(c))
            {
                if !end_word(&mut word) {
                    return;
                }
                if !c.is_whitespace() {
                    word.push(c);
                    if !end_word(&mut word) {
                        return;
                    }
                }
            } else {
                word.push(c);
            }
        }
        end_word(&mut word);
    }

    /// Report the pieces of one word; return their number, at most `most`. A word with an unknown part has
    /// none.
    fn split(&self, word: &str, most: usize, found: &mut dyn FnMut(usize)) -> usize {
        if word.chars().count() > self.longest_word {
            return 0;
        }
        let mut pieces = Vec::new();
        let mut rest = word;
        while !rest.is_empty() {
            let known = if pieces.is_empty() {
                &self.vocabulary.first
            } else {
                &self.vocabulary.rest
            };
            let mut ends = rest
                .char_indices()
                .rev()
                .map(|(start, c)| start + c.len_utf8());
            let longest = ends.find_map(|end| Some((end, *known.get(&rest[..end])?)));
            let Some((end, piece)) = longest else {
                return 0;
            };
            pieces.push(piece);
            rest = &rest[end..];
        }
        pieces.retain(|piece| Some(*piece) != self.unknown);
        pieces.truncate(most);
        for piece in &pieces {
            found(*piece);
        }
        pieces.len()
    }

    /// The characters of a text as they are split.
    fn normalized<'t>(&self, text: &'t str) -> Box<dyn Iterator<Item = char> + 't> {
        let Normalizer {
            clean,
            strip_accents,
            lowercase,
            ..
        } = self.normalizer;
        // ASCII, which most texts are, has no accents to take apart.
        if text.is_ascii() {
            let kept = text.chars().filter(move |c| !clean || !is_dropped(*c));
            return Box::new(kept.map(move |c| if lowercase { c.to_ascii_lowercase() } else { c }));
        }
        let kept = text.chars().filter(move |c| !clean || !is_dropped(*c));
        let stripped: Box<dyn Iterator<Item = char> + 't> = if strip_accents {
            Box::new(kept.nfd().filter(|c| {
                !is_combining_mark(*c) || c.general_category() != GeneralCategory::NonspacingMark
            }))
        } else {
            Box::new(kept)
        };
        if lowercase {
            Box::new(stripped.flat_map(char::to_lowercase))
        } else {
            stripped
        }
    }
}

/// Characters that cleaning removes: controls but white space, and the replacement character.
fn is_dropped(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => false,
        '\0' | '\u{FFFD}' => true,
        _ if c.is_ascii() => c.is_ascii_control(),
        _ => c.general_category_group() == GeneralCategoryGroup::Other,
    }
}

fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// The blocks of Chinese characters, each of which is a word.
fn is_chinese(c: char) -> bool {
    matches!(
        u32::from(c),
        0x4E00..=0x9FFF
            | 0x3400..=0x4DBF
            | 0x20000..=0x2A6DF
            | 0x2A700..=0x2B73F
            | 0x2B740..=0x2B81F
            | 0x2B920..=0x2CEAF
            | 0xF900..=0xFAFF
            | 0x2F800..=0x2FA1F
    )
}
