//! The class of each character, from a table that never changes.
//!
//! A file is written with this table and searched with it, possibly by another build: a newer Unicode
//! must not change the tokens of a text. Characters that Unicode 18 does not assign separate words.

use std::sync::LazyLock;

use super::foldings::{self, FoldingKind};
use super::pages::{self, Pages};

/// The class of a character, which decides how words are formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Ends words.
    Separator,
    /// Emoji and currency signs.
    Symbol,
    /// Han and kana, written without spaces.
    Cjk,
    /// A Han character that is searched as another form of it.
    HanForm,
    /// Hangul.
    Hangul,
    /// Thai, Lao, Khmer, Burmese and relatives, written without spaces.
    Thai,
    /// A number outside ASCII; part of a Latin word.
    Number,
    /// Latin letters, and letters and digits of ASCII.
    Latin,
    /// Any other letter, and private use.
    Other,
    /// Arabic letters.
    Arabic,
    /// A mark that belongs to the character before it.
    Mark,
    /// A mark or control character that is removed from words.
    Dropped,
}

/// The ranges of each class: its letter, the first and the last character in hexadecimal.
const TABLE: &str = include_str!("classes.txt");

/// The class of each character.
pub(super) static CLASSES: LazyLock<Pages<Class>> = LazyLock::new(|| {
    let forms = foldings::of_kind(FoldingKind::Han).map(|(c, _)| (c, c, Class::HanForm));
    Pages::new(pages::ranges(TABLE, class).chain(forms), Class::Separator)
});

fn class(letter: &str) -> Option<Class> {
    match letter {
        "E" => Some(Class::Symbol),
        "C" => Some(Class::Cjk),
        "G" => Some(Class::Hangul),
        "T" => Some(Class::Thai),
        "N" => Some(Class::Number),
        "L" => Some(Class::Latin),
        "W" => Some(Class::Other),
        "R" => Some(Class::Arabic),
        "M" => Some(Class::Mark),
        "D" => Some(Class::Dropped),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use unicode_properties::{
        GeneralCategory, GeneralCategoryGroup, UnicodeEmoji, UnicodeGeneralCategory,
    };
    use unicode_script::{Script, UnicodeScript};

    use super::*;

    /// Whether a character is removed: accents, Arabic and Hebrew vowel points, the nukta of Devanagari, the marks of
    /// repetition of scripts of class T, joiners, soft hyphens, variation selectors and emoji skin tones.
    fn is_dropped(c: char) -> bool {
        matches!(
            c,
            '\u{AD}'
                | '\u{300}'..='\u{36F}'
                | '\u{591}'..='\u{5BD}'
                | '\u{5BF}'
                | '\u{5C1}'..='\u{5C2}'
                | '\u{5C4}'..='\u{5C5}'
                | '\u{5C7}'
                | '\u{610}'..='\u{61A}'
                | '\u{640}'
                | '\u{64B}'..='\u{65F}'
                | '\u{670}'
                | '\u{6D6}'..='\u{6DC}'
                | '\u{6DF}'..='\u{6E4}'
                | '\u{6E7}'..='\u{6E8}'
                | '\u{6EA}'..='\u{6ED}'
                | '\u{93C}'
                | '\u{E46}'
                | '\u{EC6}'
                | '\u{17D7}'
                | '\u{1AA7}'
                | '\u{A9CF}'
                | '\u{A9E6}'
                | '\u{AA70}'
                | '\u{AADD}'
                | '\u{200C}'..='\u{200D}'
                | '\u{FE00}'..='\u{FE0F}'
                | '\u{E0100}'..='\u{E01EF}'
                | '\u{1F3FB}'..='\u{1F3FF}'
        )
    }

    /// Whether a character is a currency sign or an emoji. Arrows, geometric shapes and signs such as `©` are
    /// not emoji here: texts use them as bullets.
    fn is_symbol(c: char) -> bool {
        match c.general_category() {
            GeneralCategory::OtherSymbol => {
                c.is_emoji_char() && matches!(c, '\u{231A}'..='\u{23FF}' | '\u{2600}'..)
            }
            GeneralCategory::CurrencySymbol => !c.is_ascii(),
            _ => false,
        }
    }

    /// Compute the class from the Unicode properties of the crates in use.
    fn class_by_properties(c: char) -> Class {
        let (group, category) = (c.general_category_group(), c.general_category());
        let is_letter = group == GeneralCategoryGroup::Letter;
        if is_dropped(c) {
            Class::Dropped
        } else if is_symbol(c) {
            Class::Symbol
        } else if matches!(c, '々' | '〆' | '〇' | 'ー') {
            Class::Cjk
        } else if group == GeneralCategoryGroup::Mark {
            Class::Mark
        } else if is_letter || category == GeneralCategory::LetterNumber {
            match c.script() {
                Script::Han | Script::Hiragana | Script::Katakana | Script::Bopomofo => Class::Cjk,
                Script::Hangul => Class::Hangul,
                Script::Thai
                | Script::Lao
                | Script::Khmer
                | Script::Myanmar
                | Script::Tai_Tham
                | Script::Tai_Viet
                | Script::New_Tai_Lue
                | Script::Javanese
                | Script::Balinese => Class::Thai,
                Script::Arabic => Class::Arabic,
                Script::Latin => Class::Latin,
                _ if is_letter => Class::Other,
                _ => Class::Number,
            }
        } else if group == GeneralCategoryGroup::Number {
            if c.is_ascii() {
                Class::Latin
            } else {
                Class::Number
            }
        } else if category == GeneralCategory::PrivateUse {
            Class::Other
        } else {
            Class::Separator
        }
    }

    #[test]
    fn the_table_has_the_classes_of_unicode_18() {
        let class_of = |c: char| match CLASSES.of(c) {
            Class::HanForm => Class::Cjk,
            class => class,
        };
        let differs = |c: &char| class_of(*c) != class_by_properties(*c);
        let different: Vec<String> = ('\0'..=char::MAX)
            .filter(differs)
            .map(|c| format!("U+{:04X}", c as u32))
            .collect();
        assert!(
            different.is_empty(),
            "a newer Unicode has other classes, which version 3 of the tokenizer must not follow: \
             {different:?}"
        );
    }
}
