//! Lengths and order in UTF-16 code units, as JavaScript counts and compares strings.

use std::cmp::Ordering;

/// Return the number of UTF-16 code units of `text`: a character outside the basic plane counts
/// two.
pub fn len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The order of JavaScript's `<` on strings.
///
/// It differs from the order of code points only where a character outside the basic plane
/// (its surrogates are U+D800–U+DFFF) meets one from U+E000–U+FFFF.
pub fn compare(left: &str, right: &str) -> Ordering {
    left.encode_utf16().cmp(right.encode_utf16())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emoji_counts_two() {
        assert_eq!(len("a😀é東"), 5);
    }

    #[test]
    fn surrogates_sort_before_the_private_use_area() {
        assert_eq!(compare("😀", "\u{FF5E}"), Ordering::Less);
        assert_eq!("😀".cmp("\u{FF5E}"), Ordering::Greater);
        assert_eq!(compare("a", "ab"), Ordering::Less);
    }
}
