//! Lower-casing with the full Unicode rules, final sigma included (`toLocaleLowerCase('en')`).

/// `text` in lower case; one character may become several (`İ` becomes `i` and U+0307).
pub fn lower(mut text: String) -> String {
    if text.is_ascii() {
        text.make_ascii_lowercase();
        text
    } else {
        text.to_lowercase()
    }
}

#[cfg(test)]
mod tests {
    use super::lower;

    #[test]
    fn special_cases_follow_unicode() {
        for (text, expected) in [
            ("ΑΣ", "ας"),
            ("ΑΣ-Β", "ας-β"),
            ("İ", "i\u{307}"),
            ("𞤀", "𞤢"),
            ("\u{212A}", "k"),
        ] {
            assert_eq!(lower(text.to_owned()), expected, "{text}");
        }
    }
}
