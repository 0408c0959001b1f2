//! Character classes by Unicode general category, as `\p{…}` has them in JavaScript.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// `\p{L}` or `\p{N}`. Combining marks are neither, unlike in `char::is_alphanumeric`.
pub fn is_letter_or_digit(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    matches!(
        c.general_category_group(),
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number
    )
}

/// `\p{N}`.
pub fn is_digit(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    c.general_category_group() == GeneralCategoryGroup::Number
}

/// `\p{P}` or `\p{S}`.
pub fn is_punctuation_or_symbol(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    matches!(
        c.general_category_group(),
        GeneralCategoryGroup::Punctuation | GeneralCategoryGroup::Symbol
    )
}

/// The maximal runs of letters and digits in `text`.
pub fn letter_digit_runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_letter_or_digit(c))
        .filter(|run| !run.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_shortcuts_agree_with_the_categories() {
        use unicode_properties::GeneralCategoryGroup as Group;
        for c in '\0'..='\x7F' {
            let group = c.general_category_group();
            assert_eq!(
                is_letter_or_digit(c),
                matches!(group, Group::Letter | Group::Number)
            );
            assert_eq!(is_digit(c), group == Group::Number);
            assert_eq!(
                is_punctuation_or_symbol(c),
                matches!(group, Group::Punctuation | Group::Symbol)
            );
        }
    }

    #[test]
    fn combining_marks_split_words() {
        let runs: Vec<&str> = letter_digit_runs("a\u{301}b ½-東京_é").collect();
        assert_eq!(runs, ["a", "b", "½", "東京", "é"]);
    }
}
