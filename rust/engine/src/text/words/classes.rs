//! The class of each character, from a table that never changes.
//!
//! A file is written with this table and searched with it, possibly by another build: a newer Unicode
//! must not change the tokens of a text. Characters that Unicode 18 does not assign separate words.

use std::sync::LazyLock;

/// How a character takes part in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Ends words.
    Separator,
    /// Emoji and currency signs.
    Symbol,
    /// Han and kana, written without spaces.
    Cjk,
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
    /// A mark or a control that words are searched without.
    Dropped,
}

const PAGE: usize = 256;

/// The classes in pages of 256 characters, of which equal ones are kept once.
pub(super) struct Classes {
    pages: Vec<u16>,
    classes: Vec<Class>,
}

/// The ranges of each class: its letter, the first and the last character in hexadecimal.
const TABLE: &str = include_str!("classes.txt");

/// The table of all characters.
pub(super) static CLASSES: LazyLock<Classes> = LazyLock::new(|| Classes::read(TABLE));

impl Classes {
    /// The class of a character.
    pub fn of(&self, c: char) -> Class {
        let number = c as usize;
        let page = usize::from(self.pages[number / PAGE]);
        self.classes[page * PAGE + number % PAGE]
    }

    fn read(table: &str) -> Self {
        let mut all = vec![Class::Separator; char::MAX as usize + 1];
        for line in table.lines() {
            let mut fields = line.split(' ');
            let class = match fields.next() {
                Some("E") => Class::Symbol,
                Some("C") => Class::Cjk,
                Some("G") => Class::Hangul,
                Some("T") => Class::Thai,
                Some("N") => Class::Number,
                Some("L") => Class::Latin,
                Some("W") => Class::Other,
                Some("R") => Class::Arabic,
                Some("M") => Class::Mark,
                Some("D") => Class::Dropped,
                _ => Class::Separator,
            };
            let mut number = || usize::from_str_radix(fields.next()?, 16).ok();
            if let Some(first) = number() {
                let last = number().unwrap_or(first);
                all[first..=last].fill(class);
            }
        }
        let mut read = Self {
            pages: Vec::new(),
            classes: Vec::new(),
        };
        for page in all.chunks(PAGE) {
            let known = read.classes.chunks(PAGE).position(|known| known == page);
            let number = known.unwrap_or(read.classes.len() / PAGE);
            if known.is_none() {
                read.classes.extend_from_slice(page);
            }
            read.pages.push(u16::try_from(number).unwrap_or_default());
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use unicode_properties::{
        GeneralCategory, GeneralCategoryGroup, UnicodeEmoji, UnicodeGeneralCategory,
    };
    use unicode_script::{Script, UnicodeScript};

    use super::*;

    /// Marks that are dropped: accents, vowel points of Arabic and Hebrew, joiners, the soft hyphen and
    /// selectors of variants; the colors of skin of emoji.
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
                | '\u{200C}'..='\u{200D}'
                | '\u{FE00}'..='\u{FE0F}'
                | '\u{E0100}'..='\u{E01EF}'
                | '\u{1F3FB}'..='\u{1F3FF}'
        )
    }

    /// Emoji but arrows, geometric shapes and signs such as `©`, which texts use as bullets and marks; currency
    /// signs.
    fn is_symbol(c: char) -> bool {
        match c.general_category() {
            GeneralCategory::OtherSymbol => {
                c.is_emoji_char() && matches!(c, '\u{231A}'..='\u{23FF}' | '\u{2600}'..)
            }
            GeneralCategory::CurrencySymbol => !c.is_ascii(),
            _ => false,
        }
    }

    /// The class by the properties of Unicode as the crates have them.
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
        let differs = |c: &char| CLASSES.of(*c) != class_by_properties(*c);
        let different: Vec<String> = ('\0'..=char::MAX)
            .filter(differs)
            .map(|c| format!("U+{:04X}", c as u32))
            .collect();
        assert!(
            different.is_empty(),
            "a newer Unicode has other classes, which version 2 of the tokenizer must not follow: \
             {different:?}"
        );
    }
}
