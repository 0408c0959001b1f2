//! Texts as they are compared: case, spaces, Unicode's form NFC, the characters of words.

use std::borrow::Cow;
use std::collections::HashSet;

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// The most characters of a name that is normalized. Normalizing takes the square of a run of accents.
const LONGEST_NORMALIZED: usize = 512;

/// Whether a character separates words: Unicode's white space and the four separators of ASCII.
pub fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

/// The text without spaces at its ends.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// The text without spaces at its beginning.
pub fn trimmed_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// The text without spaces at its end.
pub fn trimmed_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// Whether a text is empty or spaces alone.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_space)
}

/// The count of characters (code points).
pub fn length(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    }
}

/// The first `count` characters, or the whole text.
pub fn head(text: &str, count: usize) -> &str {
    if text.len() <= count {
        return text;
    }
    match text.char_indices().nth(count) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// The words of a text between spaces.
pub fn split_spaces(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// The text on one line, with one space between words.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in split_spaces(text) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Whether a character is a letter, a number or `_`.
pub fn is_word(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric() || character == '_';
    }
    matches!(
        character.general_category_group(),
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number
    )
}

/// A name in Unicode's form NFC, unless it is longer than any path of a memory.
pub fn normalized(name: &str) -> Cow<'_, str> {
    if name.is_ascii() || name.chars().count() > LONGEST_NORMALIZED {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.nfc().collect())
}

/// The text with full case folding.
pub fn casefold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().default_case_fold().collect()
}

/// A text to compare without regard to case and inner spacing.
pub fn folded(text: &str) -> String {
    casefold(&one_line(text))
}

/// Texts without repetition, in order.
pub(crate) fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut known = HashSet::new();
    texts.filter(|text| known.insert(text.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_in_one_form() {
        assert_eq!(normalized("cafe\u{301}"), "caf\u{e9}");
        let long = "e\u{301}".repeat(300);
        assert_eq!(normalized(&long), long);
        assert_eq!(casefold("Stra\u{df}e"), "strasse");
    }

    #[test]
    fn spaces_separate_words() {
        assert_eq!(one_line(" a\u{1f}b\u{a0}\n c\u{85}"), "a b c");
        assert_eq!(trimmed("\u{1c} a b\t"), "a b");
    }

    #[test]
    fn words_have_letters_and_numbers() {
        assert!("a_9ß٣½一".chars().all(is_word));
        assert!(!"-./\u{301}\u{93f}€".chars().any(is_word));
    }
}
